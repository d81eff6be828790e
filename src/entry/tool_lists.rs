//! What the MCP servers of a turn offer (interface §11), kept for all sessions of an isolate: a turn with a fresh
//! list asks nobody.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, join_all, select};
use serde::Deserialize;

use super::admission::starting_mode;
use super::admission_context::{AdmissionContext, ContextSource};
use super::session_host::SessionHost;
use crate::catalog::{Catalog, DEFAULT_CONTEXT, McpServer};
use crate::contract::{ExecuteRequest, Fault, UserTurn};
use crate::mcp::{RETRY_MS, Reach, ServerTools, ToolLists, ToolsAnswer};
use crate::ports::{Database, ObjectQuestion, Platform};

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
    async fn of<P: Platform>(&self, platform: &P, catalog: &Catalog, keys: &[String]) -> ToolLists {
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

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The tools of the MCP servers that a submission's turn names, where it begins one. They are asked for before
    /// the turn is admitted, since admission waits for nothing.
    pub(super) async fn tool_lists(
        &self,
        source: &ContextSource,
        context: &AdmissionContext,
        request: &ExecuteRequest,
    ) -> ToolLists {
        let mut lists = ToolLists::new();
        let (ExecuteRequest::UserTurn(turn), Ok(catalog)) = (request, &context.catalog) else {
            return lists;
        };
        // Another turn may change the mode meanwhile.
        loop {
            // Admission reports a fault of the storage.
            let keys = self.servers_of(catalog, turn).unwrap_or_default();
            if keys.iter().all(|key| lists.contains_key(key)) {
                return lists;
            }
            lists = source.tool_lists.of(self.platform.as_ref(), catalog, &keys).await;
        }
    }

    /// The keys of the MCP servers whose tools a new turn names; none for a turn that is not new, or must wait.
    fn servers_of(&self, catalog: &Catalog, turn: &UserTurn) -> Result<Vec<String>, Fault> {
        let session = self.store.session()?;
        let named = turn.conversation_context_id.as_deref().unwrap_or(DEFAULT_CONTEXT);
        let named = session.as_ref().map_or(named, |session| &session.conversation_context);
        let Some(conversation) = catalog.conversation_context(named) else { return Ok(Vec::new()) };
        let mode = match &session {
            Some(session) => catalog.mode(&session.mode).unwrap_or_else(|| catalog.default_mode()),
            None => starting_mode(catalog, conversation),
        };
        let names = mode.tools.iter().chain(&conversation.mcp_tools);
        let mut keys: Vec<String> =
            names.filter_map(|name| Some(name.split_once('/')?.0.to_owned())).collect();
        if let Some(session) = session.filter(|_| !keys.is_empty()) {
            let waits = session.live_turn.is_some();
            if waits || self.store.turn(&turn.turn_id)?.is_some() {
                keys.clear();
            }
        }
        keys.sort();
        keys.dedup();
        Ok(keys)
    }
}
