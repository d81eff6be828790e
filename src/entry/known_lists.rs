//! What MCP servers offer (interface §11), as all sessions of an isolate know it: a turn with a fresh list asks
//! nobody.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, join_all, select};
use serde::Deserialize;
use serde_json::json;

use crate::catalog::{Catalog, McpServer};
use crate::mcp::{RETRY_MS, Reach, ServerTools, ToolLists, ToolsAnswer};
use crate::ports::{ObjectQuestion, Platform};

/// How long a turn waits for a list, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// The most lists that are kept, and their most bytes together: the objects of an isolate share one memory.
const MOST_LISTS: usize = 64;
const MOST_BYTES: usize = 4_000_000;

/// The lists that this isolate knows, by the object that keeps each and the server's definition.
#[derive(Debug, Default)]
pub(super) struct KnownLists(RefCell<BTreeMap<String, Known>>);

#[derive(Clone, Debug)]
struct Known {
    fresh_until: u64,
    tools: Rc<ServerTools>,
}

impl KnownLists {
    /// The tools of the servers with these keys. One that cannot be had in time is there without any.
    pub(super) async fn of<P: Platform>(
        &self,
        platform: &P,
        catalog: &Catalog,
        keys: &[String],
    ) -> ToolLists {
        let servers = keys.iter().filter_map(|key| Some((key, catalog.mcp_server(key)?)));
        let lists = servers
            .map(async |(key, server)| (key.clone(), self.of_server(platform, key, server).await));
        join_all(lists).await.into_iter().collect()
    }

    async fn of_server<P: Platform>(
        &self,
        platform: &P,
        key: &str,
        server: &McpServer,
    ) -> Rc<ServerTools> {
        // A list may depend on who asks, so tenants share none.
        let Some(tenant) = platform.tenant() else { return Rc::default() };
        let object = format!("mcp:{tenant}:{key}");
        let name = format!("{object} {}", server.fingerprint);
        let known = self.0.borrow().get(&name).cloned();
        if let Some(known) = known.as_ref().filter(|known| platform.now_ms() < known.fresh_until) {
            return Rc::clone(&known.tools);
        }
        let answer = told(platform, &object, key).await;
        let now = platform.now_ms();
        let fresh = match answer {
            Some(ToolsAnswer { server: definition, fresh_ms, is_stale, list: Some(list) }) => {
                let mut tools = ServerTools::of(server, list);
                for (tool, hash) in &tools.changed {
                    platform.log(json!({
                        "event": "tool_changed", "level": "warn", "server": key, "tool": tool, "sha256": hash,
                    }));
                }
                if is_stale {
                    tools.reach = Reach::Stale;
                }
                // The object may still have the catalog of before.
                let is_same = definition == server.fingerprint;
                let fresh_ms = if is_same { fresh_ms } else { RETRY_MS };
                Known { fresh_until: now + fresh_ms, tools: Rc::new(tools) }
            }
            // A list of before serves until the server is back.
            _ => Known {
                fresh_until: now + RETRY_MS,
                tools: known.map_or_else(Rc::default, |known| known.tools.as_stale()),
            },
        };
        let tools = Rc::clone(&fresh.tools);
        self.keep(name, fresh);
        tools
    }

    /// Keeps a list, in place of those that are the longest out of date where there are too many.
    fn keep(&self, name: String, known: Known) {
        let mut lists = self.0.borrow_mut();
        lists.insert(name, known);
        let bytes = |lists: &BTreeMap<String, Known>| -> usize {
            lists.values().map(|known| known.tools.bytes()).sum()
        };
        while lists.len() > 1 && (lists.len() > MOST_LISTS || bytes(&lists) > MOST_BYTES) {
            let oldest = lists.iter().min_by_key(|(_, known)| known.fresh_until);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { return };
            lists.remove(&oldest);
        }
    }
}

/// What the object that keeps a list says; `None` when it does not in time.
async fn told<P: Platform>(platform: &P, object: &str, key: &str) -> Option<ToolsAnswer> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Successful {
        result: ToolsAnswer,
    }
    let answer = pin!(platform.ask_object(object, ObjectQuestion::Tools, key.to_owned()));
    let time_out = pin!(platform.sleep(WAIT_MS));
    let Either::Left((answer, _)) = select(answer, time_out).await else { return None };
    serde_json::from_str::<Successful>(&answer.ok()?).ok().map(|successful| successful.result)
}
