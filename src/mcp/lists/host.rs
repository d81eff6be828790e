//! The object that keeps the tools of one MCP server for all sessions of a tenant (interface §11).
//!
//! It is the only place that asks a server for its tools, so a session costs the server no request.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::lock::Mutex;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::RETRY_MS;
use super::reply::{StoredToolList, ToolListQuestion, ToolListReply};
use crate::catalog::{Catalog, McpServer};
use crate::contract::{Fault, Result, json_text};
use crate::mcp::client::{Connection, McpFailure, UnusableTool, list_tools};
use crate::ports::{Database, Platform, Row, insert, read_row};

/// The shortest and the longest time for which a list is fresh, in milliseconds, whatever its server promises.
const LEAST_MS: u64 = 60_000;
const MOST_MS: u64 = 24 * 60 * 60 * 1000;

/// The most unusable tools of a list that are logged.
const MOST_LOGGED: usize = 20;

/// The longest list that is stored, in bytes: a row has at most 2 MB. A longer one is only in memory, and requested again
/// by another instance.
const STORED_BYTES: usize = 1_900_000;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS tool_list (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    server TEXT NOT NULL,
    fresh_until INTEGER NOT NULL,
    list TEXT NOT NULL
)";

/// The object that keeps the tools of one MCP server for a tenant.
pub struct McpListHost<D> {
    database: D,
    has_table: Cell<bool>,
    /// Locked during a request to the server: all sessions that ask meanwhile get the same list.
    memory: Mutex<ServerMemory>,
}

/// This instance's knowledge of the server.
#[derive(Default)]
struct ServerMemory {
    /// The fingerprint of the server's definition for which the rest holds; empty at first.
    server: String,
    connection: Connection,
    list: Option<KnownList>,
    /// When a server that failed may be asked again.
    retry_at: u64,
}

struct KnownList {
    fresh_until: u64,
    /// A [`StoredToolList`].
    json: Box<RawValue>,
}

impl<D: Database> McpListHost<D> {
    /// A host over its object's storage. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self { database, has_table: Cell::new(false), memory: Mutex::default() }
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
        let mut memory = self.memory.lock().await;
        if memory.server != server.fingerprint {
            *memory = self.read(platform, server)?;
        }
        if memory.fresh_ms(platform).is_none() && platform.now_ms() >= memory.retry_at {
            self.ask(platform, server, &mut memory).await?;
        }
        let fresh_ms = memory.fresh_ms(platform);
        let until_retry = memory.retry_at.saturating_sub(platform.now_ms());
        Ok(ToolListReply {
            server: server.fingerprint.clone(),
            fresh_ms: fresh_ms.unwrap_or(until_retry),
            is_stale: fresh_ms.is_none(),
            list: memory.list.as_ref().map(|list| list.json.clone()),
        })
    }

    /// The stored list, where it is of this definition of the server.
    fn read<P: Platform>(&self, platform: &P, server: &McpServer) -> Result<ServerMemory> {
        let nothing =
            ServerMemory { server: server.fingerprint.clone(), ..ServerMemory::default() };
        if !may_store(platform) {
            return Ok(nothing);
        }
        if !self.has_table.get() {
            self.database.execute(TABLE, &[])?;
            self.has_table.set(true);
        }
        let statement = "SELECT fresh_until, list FROM tool_list WHERE server = ?";
        let row = self.database.first(statement, &[server.fingerprint.as_str().into()])?;
        let known =
            |row: Row| Ok(read_row!(KnownList of row { fresh_until, json: row.json("list")? }));
        Ok(ServerMemory { list: row.map(known).transpose()?, ..nothing })
    }

    /// Asks the server.
    async fn ask<P: Platform>(
        &self,
        platform: &P,
        server: &McpServer,
        memory: &mut ServerMemory,
    ) -> Result<()> {
        // A request that is dropped halfway leaves the connection as it was.
        let mut connection = memory.connection.clone();
        let list = list_tools(platform, &server.http, &mut connection).await;
        memory.connection = connection;
        let list = match list {
            Ok(list) => list,
            Err(failure) => {
                log_failure(platform, &words_for_log(server, &failure));
                memory.retry_at = platform.now_ms() + RETRY_MS;
                return Ok(());
            }
        };
        for UnusableTool { name, reason } in list.unusable.iter().take(MOST_LOGGED) {
            platform.log(json!({
                "event": "tool_unusable", "level": "warn", "tool": name, "why": reason,
            }));
        }
        let stored = StoredToolList { era: memory.connection.era, tools: list.tools };
        let json = to_raw_value(&stored).map_err(|_| Fault::unwritable("A list of tools"))?;
        let fresh_until = platform.now_ms() + list.ttl_ms.clamp(LEAST_MS, MOST_MS);
        if may_store(platform) {
            self.store(server, fresh_until, json.get())?;
        }
        memory.list = Some(KnownList { fresh_until, json });
        Ok(())
    }

    fn store(&self, server: &McpServer, fresh_until: u64, list: &str) -> Result<()> {
        if list.len() > STORED_BYTES {
            return self.database.execute("DELETE FROM tool_list", &[]);
        }
        let server = server.fingerprint.as_str();
        insert!(self.database, "REPLACE INTO" tool_list (id = 1) { server, fresh_until, list })
    }
}

impl ServerMemory {
    /// For how long the list is still fresh, in milliseconds; `None` when it is stale or missing.
    fn fresh_ms<P: Platform>(&self, platform: &P) -> Option<u64> {
        let left = self.list.as_ref()?.fresh_until.checked_sub(platform.now_ms())?;
        (left > 0).then_some(left)
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
