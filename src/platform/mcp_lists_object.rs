//! The Durable Object that keeps the tools of one MCP server for a tenant, named `{tenant}/{server}`.
//!
//! State: SQLite, the server's last list (see `mcp::McpListsHost`). Routes: none for clients; a session's object asks
//! it `ports::ObjectQuestion::Tools`. Status: 200, the failure of the server being part of the body. No alarm.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::object_log::ObjectLog;
use super::object_request::context_source;
use super::object_storage::ObjectStorage;
use super::runtime::Runtime;
use crate::mcp::McpListsHost;
use crate::ports::ObjectClass;

/// The Durable Object that keeps the tools of one MCP server for a tenant.
#[durable_object]
pub struct McpLists {
    runtime: Runtime,
    host: McpListsHost<ObjectStorage>,
}

impl DurableObject for McpLists {
    fn new(state: State, env: Env) -> Self {
        let log = ObjectLog::new(&state, &env, ObjectClass::McpLists);
        let storage = ObjectStorage::new(&state, Rc::clone(&log));
        let runtime = Runtime::new(env, state, log);
        Self { runtime, host: McpListsHost::new(storage) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let key = request.text().await?;
        let catalog = context_source().catalog(&self.runtime).await;
        Response::ok(self.host.reply(&self.runtime, catalog, &key).await)
    }
}
