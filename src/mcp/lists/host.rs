//! The object that keeps the tools of one MCP server for all sessions of a tenant, or of a user where the server is
//! told the user (interface §11).
//!
//! It is the only place that asks a server for its tools, so a session costs the server no request.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use serde_json::value::to_raw_value;

use super::RETRY_MS;
use super::reply::{StoredToolList, ToolListQuestion, ToolListReply};
use crate::catalog::{Catalog, McpServer};
use crate::contract::{Fault, Result, json_text};
use crate::mcp::client::{Connection, McpFailure, UnusableTool, list_tools};
use crate::object::{DocumentKeeper, FetchedDocument};
use crate::ports::{Database, Platform};

/// The shortest and the longest time for which a list is fresh, in milliseconds, whatever its server promises.
const LEAST_MS: u64 = 60_000;
const MOST_MS: u64 = 24 * 60 * 60 * 1000;

/// The most unusable tools of a list that are logged.
const MOST_LOGGED: usize = 20;

/// The object that keeps the tools of one MCP server for a tenant, or for a user.
pub struct McpListHost<D> {
    /// The source is the server's definition, the document a [`StoredToolList`].
    keeper: DocumentKeeper<D>,
    /// The connection to the server with this definition.
    connection: RefCell<(String, Connection)>,
}

impl<D: Database> McpListHost<D> {
    /// A host over its object's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        let keeper = DocumentKeeper::new(database, RETRY_MS);
        Self { keeper, connection: RefCell::default() }
    }

    /// The reply to a [`ToolListQuestion`] as JSON: a [`ToolListReply`], or no text when the storage fails or there is no
    /// catalog or no such server in it.
    pub async fn reply<P: Platform>(
        &self,
        platform: &P,
        catalog: Result<Rc<Catalog>>,
        question: &str,
    ) -> String {
        let reply = async {
            let unreadable = |_| Fault::internal("Another object's question is unreadable.");
            let question: ToolListQuestion = serde_json::from_str(question).map_err(unreadable)?;
            let catalog = catalog?;
            // A session of a later deployment may ask before this object has read the catalog again.
            let unknown = || Fault::internal("The catalog has no such MCP server yet.");
            let server = catalog.mcp_server(&question.server).ok_or_else(unknown)?;
            let reply = self.tools(platform, server).await?;
            json_text("A list of tools", &reply)
        };
        reply.await.unwrap_or_else(|fault| {
            log_failure(platform, &fault.message);
            String::new()
        })
    }

    /// The server's tools.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub async fn tools<P: Platform>(
        &self,
        platform: &P,
        server: &McpServer,
    ) -> Result<ToolListReply> {
        let may_store = may_store(platform);
        let ask = async || self.ask(platform, server).await;
        let known =
            self.keeper.document(platform, &server.fingerprint, may_store, |_| false, ask).await?;
        let now = platform.now_ms();
        let fresh_ms = known.fresh_ms(now);
        let is_stale = fresh_ms == 0;
        Ok(ToolListReply {
            server: server.fingerprint.clone(),
            fresh_ms: if is_stale { self.keeper.asks_again_ms(now) } else { fresh_ms },
            is_stale,
            list: known.document,
        })
    }

    /// Asks the server.
    async fn ask<P: Platform>(
        &self,
        platform: &P,
        server: &McpServer,
    ) -> Result<Option<FetchedDocument>> {
        // A request that is dropped halfway leaves the connection as it was.
        let (definition, mut connection) = self.connection.borrow().clone();
        if definition != server.fingerprint {
            connection = Connection::default();
        }
        let list = list_tools(platform, &server.http, &mut connection).await;
        let era = connection.era;
        self.connection.replace((server.fingerprint.clone(), connection));
        let list = match list {
            Ok(list) => list,
            Err(failure) => {
                log_failure(platform, &words_for_log(server, &failure));
                return Ok(None);
            }
        };
        for UnusableTool { name, reason } in list.unusable.iter().take(MOST_LOGGED) {
            platform.log(json!({
                "event": "tool_unusable", "level": "warn", "tool": name, "why": reason,
            }));
        }
        let document = to_raw_value(&StoredToolList { era, tools: list.tools })
            .map_err(|_| Fault::unwritable("A list of tools"))?;
        Ok(Some(FetchedDocument { document, fresh_ms: list.ttl_ms.clamp(LEAST_MS, MOST_MS) }))
    }
}

/// Whether a list is stored. What a server lists for a user is not: nothing would erase it with the user.
fn may_store<P: Platform>(platform: &P) -> bool {
    platform.user().is_none()
}

/// Why there is no list. The words of a server that is told the user may name the user, which the log does in its own way.
fn words_for_log(server: &McpServer, failure: &McpFailure) -> String {
    match failure {
        McpFailure::Refused { code, .. } if server.names_user() => {
            format!("it refused the request (code {code})")
        }
        failure => failure.to_string(),
    }
}

/// Logs that the server's list could not be renewed. The platform adds tenant and server, which are the object's name.
fn log_failure<P: Platform>(platform: &P, failure: &str) {
    platform.log(json!({ "event": "tool_list_failed", "level": "error", "failure": failure }));
}
