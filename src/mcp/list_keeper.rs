//! The one place that asks a server for its tools on a tenant's behalf, and keeps them for all sessions of the
//! tenant (interface §11). It is an object of its own, so that a session costs the server no request.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use serde_json::json;

use super::message::{quoted, text_of};
use super::{Connection, Era, ListedTool, list_tools};
use crate::catalog::McpServer;
use crate::contract::Fault;
use crate::json::first_member;
use crate::ports::{Database, Platform};

/// The shortest time for which a list is good, in milliseconds, whatever its server promises.
const LEAST_MS: u64 = 60_000;

const MOST_MS: u64 = 24 * 60 * 60 * 1000;

/// The most tools of a list whose fault is logged.
const MOST_LOGGED: usize = 20;

/// How long a server that failed is left alone, in milliseconds.
pub const RETRY_MS: u64 = 10_000;

/// The longest list that the storage takes, in bytes: a row has at most 2 MB. A longer one is asked for anew
/// when the object has lost its memory.
const STORED_BYTES: usize = 1_900_000;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS tool_list (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    server TEXT NOT NULL,
    fresh_until INTEGER NOT NULL,
    list TEXT NOT NULL
)";

/// What a session is told of a server's tools.
#[derive(Debug)]
pub struct ToolsAnswer {
    /// The fingerprint of the server's definition under which this was said.
    pub server: String,
    /// For how long this holds, in milliseconds.
    pub fresh_ms: u64,
    /// The server has failed since it gave the list.
    pub is_stale: bool,
    /// `{"era","tools"}` as JSON, each tool as its server lists it. Absent when the server has failed and there is no
    /// earlier list.
    pub list: Option<String>,
}

impl ToolsAnswer {
    /// As JSON.
    pub fn written(&self) -> String {
        let Self { server, fresh_ms, is_stale, list } = self;
        let list = list.as_deref().unwrap_or("null");
        format!(
            r#"{{"Server":"{server}","FreshMs":{fresh_ms},"IsStale":{is_stale},"List":{list}}}"#
        )
    }

    /// What was written so; `None` for any other text.
    pub fn read(json: &str) -> Option<Self> {
        let member = |name| first_member(json, name);
        Some(Self {
            server: text_of(json, "Server")?.into_owned(),
            fresh_ms: member("FreshMs")?.parse().ok()?,
            is_stale: member("IsStale")? == "true",
            list: member("List").filter(|list| *list != "null").map(str::to_owned),
        })
    }
}

/// Keeps the tools of one server.
#[derive(Debug, Default)]
pub struct ListKeeper {
    /// Lets one request at a time in, so that the server is asked once, however many wait.
    turnstile: Turnstile,
    kept: RefCell<Kept>,
    /// The server failed, and is not asked again before.
    retry_at: Cell<u64>,
    has_table: Cell<bool>,
}

/// What this instance knows.
#[derive(Debug, Default)]
struct Kept {
    /// The fingerprint of the server's definition in the catalog.
    server: String,
    connection: Connection,
    list: Option<(u64, String)>,
}

impl ListKeeper {
    /// The tools of a server, under its key in the catalog.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub async fn tools<P: Platform, D: Database>(
        &self,
        platform: &P,
        database: &D,
        key: &str,
        server: &McpServer,
    ) -> Result<ToolsAnswer, Fault> {
        let _passed = self.turnstile.pass().await;
        let mut kept = self.kept(database, server)?;
        let now = platform.now_ms();
        let fresh = kept.list.as_ref().filter(|(until, _)| now < *until);
        let told = match fresh {
            Some((until, list)) => said(server, until - now, Some(list)),
            None => self.asked(platform, database, key, server, &mut kept).await?,
        };
        self.kept.replace(kept);
        Ok(told)
    }

    /// What was kept for this definition of the server; nothing of another one.
    fn kept<D: Database>(&self, database: &D, server: &McpServer) -> Result<Kept, Fault> {
        let known = self.kept.take();
        if known.server == server.fingerprint {
            return Ok(known);
        }
        self.retry_at.set(0);
        if !self.has_table.replace(true) {
            database.execute(TABLE, &[])?;
        }
        let statement = "SELECT fresh_until, list FROM tool_list WHERE server = ?";
        let row = database.first(statement, &[server.fingerprint.as_str().into()])?;
        let list = match row {
            Some(row) => Some((row.get("fresh_until")?, row.get("list")?)),
            None => None,
        };
        Ok(Kept { server: server.fingerprint.clone(), list, ..Kept::default() })
    }

    /// Asks the server, unless it has just failed.
    async fn asked<P: Platform, D: Database>(
        &self,
        platform: &P,
        database: &D,
        key: &str,
        server: &McpServer,
        kept: &mut Kept,
    ) -> Result<ToolsAnswer, Fault> {
        if platform.now_ms() >= self.retry_at.get() {
            match list_tools(platform, &server.http, &mut kept.connection).await {
                Ok(listing) => {
                    for (tool, why) in listing.left_out.iter().take(MOST_LOGGED) {
                        platform.log(json!({
                            "event": "tool_unusable", "level": "warn", "server": key, "tool": tool, "why": why,
                        }));
                    }
                    let list = written(&kept.connection, &listing.tools);
                    let fresh_ms = listing.ttl_ms.clamp(LEAST_MS, MOST_MS);
                    let until = platform.now_ms() + fresh_ms;
                    store(database, server, until, &list)?;
                    let told = said(server, fresh_ms, Some(&list));
                    kept.list = Some((until, list));
                    return Ok(told);
                }
                Err(failure) => {
                    let why = failure.to_string();
                    platform.log(json!({
                        "event": "tool_list_failed", "level": "error", "server": key, "failure": why,
                    }));
                    self.retry_at.set(platform.now_ms() + RETRY_MS);
                }
            }
        }
        let fresh_ms = self.retry_at.get().saturating_sub(platform.now_ms());
        let list = kept.list.as_ref().map(|(_, list)| list);
        Ok(ToolsAnswer { is_stale: true, ..said(server, fresh_ms, list) })
    }
}

fn said(server: &McpServer, fresh_ms: u64, list: Option<&String>) -> ToolsAnswer {
    let server = server.fingerprint.clone();
    ToolsAnswer { server, fresh_ms, is_stale: false, list: list.cloned() }
}

/// A list as it is kept.
fn written(connection: &Connection, tools: &[ListedTool]) -> String {
    let era = connection.era().map_or("", Era::as_str);
    let mut list = format!(r#"{{"era":"{era}","tools":["#);
    for (place, tool) in tools.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        list.push_str(comma);
        list.push_str(r#"{"name":"#);
        list.push_str(&quoted(&tool.name));
        if let Some(description) = &tool.description {
            list.push_str(r#","description":"#);
            list.push_str(&quoted(description));
        }
        list.push_str(r#","inputSchema":"#);
        list.push_str(tool.input_schema.get());
        list.push('}');
    }
    list.push_str("]}");
    list
}

fn store<D: Database>(
    database: &D,
    server: &McpServer,
    until: u64,
    list: &str,
) -> Result<(), Fault> {
    if list.len() > STORED_BYTES {
        return database.execute("DELETE FROM tool_list", &[]);
    }
    database.execute(
        "REPLACE INTO tool_list (id, server, fresh_until, list) VALUES (1, ?, ?, ?)",
        &[server.fingerprint.as_str().into(), until.into(), list.into()],
    )
}

/// Lets one in at a time.
#[derive(Debug, Default)]
struct Turnstile {
    taken: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

/// Whoever holds it is in.
struct Passed<'a>(&'a Turnstile);

impl Turnstile {
    async fn pass(&self) -> Passed<'_> {
        poll_fn(|context| {
            if self.taken.replace(true) {
                self.waiting.borrow_mut().push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        Passed(self)
    }
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        self.0.taken.set(false);
        self.0.waiting.take().into_iter().for_each(Waker::wake);
    }
}
