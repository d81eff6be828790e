//! What MCP servers offer (interface §11), as all sessions of an isolate know it: a turn with a fresh list asks
//! nobody.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use futures_util::future::{Either, select};
use serde_json::json;

use crate::catalog::{Catalog, McpServer};
use crate::json::first_member;
use crate::mcp::{RETRY_MS, ServerTools, ToolLists, ToolsAnswer};
use crate::ports::{ObjectQuestion, Platform};

/// How long a turn waits for a list, in milliseconds.
const WAIT_MS: u64 = 5_000;

/// The most lists that are kept, and their most bytes together: the objects of an isolate share one memory.
const MOST_LISTS: usize = 64;
const MOST_BYTES: usize = 4_000_000;

/// The lists that this isolate knows.
#[derive(Debug, Default)]
pub(super) struct KnownLists(RefCell<Vec<Known>>);

#[derive(Clone, Debug)]
struct Known {
    /// The name of the object that keeps it, and the fingerprint of the server's definition.
    name: String,
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
        let lists = RefCell::new(ToolLists::new());
        let servers = keys.iter().filter_map(|key| Some((key, catalog.mcp_server(key)?)));
        let mut asking: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for (key, server) in servers {
            let lists = &lists;
            asking.push(Box::pin(async move {
                let tools = self.of_server(platform, key, server).await;
                lists.borrow_mut().push((key.clone(), tools));
            }));
        }
        poll_fn(|context| {
            asking.retain_mut(|list| list.as_mut().poll(context).is_pending());
            if asking.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        lists.take()
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
        let known = self.0.borrow().iter().find(|known| known.name == name).cloned();
        if let Some(known) = known.as_ref().filter(|known| platform.now_ms() < known.fresh_until) {
            return Rc::clone(&known.tools);
        }
        let answer = told(platform, &object, key).await;
        let now = platform.now_ms();
        let told = answer.as_ref().and_then(|answer| {
            let tools = ServerTools::of(server, answer.list.as_ref()?)?;
            // The object may still have the catalog of before.
            let is_same = answer.server == server.fingerprint;
            let fresh_ms = if is_same { answer.fresh_ms } else { RETRY_MS };
            let tools = if answer.is_stale { tools.as_stale() } else { Rc::new(tools) };
            Some((fresh_ms, tools))
        });
        // A list of before serves until the server is back.
        let before = || (RETRY_MS, known.map_or_else(Rc::default, |known| known.tools.as_stale()));
        let (fresh_ms, tools) = told.unwrap_or_else(before);
        for (tool, hash) in &tools.changed {
            platform.log(json!({
                "event": "tool_changed", "level": "warn", "server": key, "tool": tool, "sha256": hash,
            }));
        }
        self.keep(Known { name, fresh_until: now + fresh_ms, tools: Rc::clone(&tools) });
        tools
    }

    /// Keeps a list, in place of the oldest ones where there are too many.
    fn keep(&self, fresh: Known) {
        let mut lists = self.0.borrow_mut();
        lists.retain(|known| known.name != fresh.name);
        let mut bytes = fresh.tools.bytes();
        bytes += lists.iter().map(|known| known.tools.bytes()).sum::<usize>();
        while !lists.is_empty() && (lists.len() >= MOST_LISTS || bytes > MOST_BYTES) {
            // They stand in the order in which they were kept.
            bytes -= lists.remove(0).tools.bytes();
        }
        lists.push(fresh);
    }
}

/// What the object that keeps a list says; `None` when it does not in time.
async fn told<P: Platform>(platform: &P, object: &str, key: &str) -> Option<ToolsAnswer> {
    let answer = pin!(platform.ask_object(object, ObjectQuestion::Tools, key.to_owned()));
    let time_out = pin!(platform.sleep(WAIT_MS));
    let Either::Left((answer, _)) = select(answer, time_out).await else { return None };
    ToolsAnswer::read(first_member(answer.ok()?.as_bytes(), "Result")?)
}
