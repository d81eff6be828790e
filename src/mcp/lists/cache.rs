//! An isolate's cache of MCP servers' tools (interface §11), for all its sessions: a turn with a fresh list sends no
//! request.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use futures_util::future::join_all;
use serde_json::json;

use super::RETRY_MS;
use super::allowed_tools::{AllowedTools, ChangedTool, ToolsByServer};
use super::reply::{StoredToolList, ToolListQuestion};
use crate::catalog::{Catalog, McpServer};
use crate::object::{ask, asked_again};
use crate::ports::{Platform, object_name, with_timeout};

/// How long a turn waits for a list, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// The most lists in the cache, and their most bytes together: the objects of an isolate share one memory.
const MOST_LISTS: usize = 64;
const MOST_BYTES: usize = 4_000_000;

/// The cached lists, in the order in which they came.
#[derive(Debug, Default)]
pub struct ToolListCache(RefCell<Vec<CachedList>>);

#[derive(Clone, Debug)]
struct CachedList {
    /// The name of the object that stores the list: `{tenant}/{server}`, or a user's own where the server is told the
    /// user.
    object: String,
    /// The fingerprint of the server's definition.
    server: String,
    /// From when to when it is fresh: a clock that was set back keeps none for longer.
    fresh: Range<u64>,
    tools: Rc<AllowedTools>,
}

impl ToolListCache {
    /// The tools of the servers with these keys. A server whose list does not come in time has none.
    pub async fn tools_of<P: Platform>(
        &self,
        platform: &P,
        catalog: &Catalog,
        keys: &[String],
    ) -> ToolsByServer {
        let servers = keys.iter().filter_map(|key| Some((key, catalog.mcp_server(key)?)));
        let asking = servers.map(async |(key, server)| {
            (key.clone(), self.tools_of_server(platform, key, server).await)
        });
        join_all(asking).await
    }

    async fn tools_of_server<P: Platform>(
        &self,
        platform: &P,
        key: &str,
        server: &McpServer,
    ) -> Rc<AllowedTools> {
        // A list may depend on who asks, so tenants share none, and users none of a server that is told the user.
        let Some(tenant) = platform.tenant() else { return Rc::default() };
        let user = platform.user().filter(|_| server.names_user());
        let object = object_name(tenant, user, key);
        let is_same =
            |known: &&CachedList| known.object == object && known.server == server.fingerprint;
        let known = self.0.borrow().iter().find(is_same).cloned();
        let now = platform.now_ms();
        if let Some(known) = known.as_ref().filter(|known| known.fresh.contains(&now)) {
            return Rc::clone(&known.tools);
        }
        let question = ToolListQuestion { server: key.to_owned() };
        // Without a list the turn goes on without the server's tools.
        let asking = asked_again(async || ask(platform, &object, &question).await);
        let reply = with_timeout(platform, WAIT_MS, asking).await;
        let now = platform.now_ms();
        let current = reply.and_then(Result::ok).and_then(|reply| {
            let list: StoredToolList = serde_json::from_str(reply.list?.get()).ok()?;
            let tools = Rc::new(AllowedTools::of(server, list));
            // The object may still have read an earlier catalog.
            let fresh_ms =
                if reply.server == server.fingerprint { reply.fresh_ms } else { RETRY_MS };
            Some((fresh_ms, if reply.is_stale { tools.as_stale() } else { tools }))
        });
        // Keep the previous list while the server is unreachable.
        let previous =
            || (RETRY_MS, known.map_or_else(Rc::default, |known| known.tools.as_stale()));
        let (fresh_ms, tools) = current.unwrap_or_else(previous);
        for ChangedTool { name, sha256 } in &tools.changed {
            platform.log(json!({
                "event": "tool_changed", "level": "warn", "server": key, "tool": name, "sha256": sha256,
            }));
        }
        let server = server.fingerprint.clone();
        let (fresh, cached) = (now..now + fresh_ms, Rc::clone(&tools));
        self.insert(CachedList { object, server, fresh, tools: cached });
        tools
    }

    /// Adds a list, and drops the oldest ones where the cache is full.
    fn insert(&self, list: CachedList) {
        let mut lists = self.0.borrow_mut();
        lists.retain(|known| (&known.object, &known.server) != (&list.object, &list.server));
        let mut bytes = list.tools.bytes();
        bytes += lists.iter().map(|known| known.tools.bytes()).sum::<usize>();
        while !lists.is_empty() && (lists.len() >= MOST_LISTS || bytes > MOST_BYTES) {
            bytes -= lists.remove(0).tools.bytes();
        }
        lists.push(list);
    }
}
