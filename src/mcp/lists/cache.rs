//! What MCP servers offer (interface §11), as all sessions of an isolate know it: a turn with a fresh list asks
//! nobody.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, join_all, select};
use serde_json::json;

use super::RETRY_MS;
use super::allowed_tools::{ServerTools, ToolLists};
use super::reply::{StoredList, ToolListReply};
use crate::catalog::{Catalog, McpServer};
use crate::ports::{ObjectQuestion, Platform};

/// How long a turn waits for a list, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// The most lists that are kept, and their most bytes together: the objects of an isolate share one memory.
const MOST_LISTS: usize = 64;
const MOST_BYTES: usize = 4_000_000;

/// The lists that this isolate knows, in the order in which they came.
#[derive(Debug, Default)]
pub struct ListCache(RefCell<Vec<CachedList>>);

#[derive(Clone, Debug)]
struct CachedList {
    /// The object that the list is of: `{tenant}/{server}`.
    object: String,
    /// The fingerprint of the server's definition.
    server: String,
    fresh_until: u64,
    tools: Rc<ServerTools>,
}

impl ListCache {
    /// The tools of the servers with these keys. A server whose list does not come in time has none.
    pub async fn tools_of<P: Platform>(
        &self,
        platform: &P,
        catalog: &Catalog,
        keys: &[String],
    ) -> ToolLists {
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
    ) -> Rc<ServerTools> {
        // A list may depend on who asks, so tenants share none.
        let Some(tenant) = platform.tenant() else { return Rc::default() };
        let object = format!("{tenant}/{key}");
        let is_same =
            |known: &&CachedList| known.object == object && known.server == server.fingerprint;
        let known = self.0.borrow().iter().find(is_same).cloned();
        if let Some(known) = known.as_ref().filter(|known| platform.now_ms() < known.fresh_until) {
            return Rc::clone(&known.tools);
        }
        let reply = ask(platform, &object, key).await;
        let now = platform.now_ms();
        let current = reply.and_then(|reply| {
            let list: StoredList = serde_json::from_str(reply.list?.get()).ok()?;
            let tools = Rc::new(ServerTools::of(server, list));
            // The object may still have the catalog of before.
            let fresh_ms =
                if reply.server == server.fingerprint { reply.fresh_ms } else { RETRY_MS };
            Some((fresh_ms, if reply.is_stale { tools.as_stale() } else { tools }))
        });
        // Keep the previous list while the server is unreachable.
        let previous =
            || (RETRY_MS, known.map_or_else(Rc::default, |known| known.tools.as_stale()));
        let (fresh_ms, tools) = current.unwrap_or_else(previous);
        for (tool, hash) in &tools.changed {
            platform.log(json!({
                "event": "tool_changed", "level": "warn", "server": key, "tool": tool, "sha256": hash,
            }));
        }
        let server = server.fingerprint.clone();
        let (fresh_until, kept) = (now + fresh_ms, Rc::clone(&tools));
        self.keep(CachedList { object, server, fresh_until, tools: kept });
        tools
    }

    /// Keeps a list, in place of the oldest ones where there are too many.
    fn keep(&self, list: CachedList) {
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

/// The reply of the object that keeps a list; `None` when none comes in time.
async fn ask<P: Platform>(platform: &P, object: &str, key: &str) -> Option<ToolListReply> {
    let reply = pin!(platform.ask_object(object, ObjectQuestion::Tools, key.to_owned()));
    let time_out = pin!(platform.sleep(WAIT_MS));
    let Either::Left((reply, _)) = select(reply, time_out).await else { return None };
    serde_json::from_str(&reply.ok()?).ok()
}
