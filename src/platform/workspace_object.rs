//! The Durable Object of one workspace's index, named `{tenant}/{WorkspaceId}`.
//!
//! State: SQLite with FTS5 (see `retrieval::schema`). Routes: `entry::WorkspaceRoute`. Statuses:
//! interface §3. Alarm: at once after documents changed, where embeddings are configured; it embeds what lacks
//! its vectors.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::object_log::ObjectLog;
use super::object_request::{context_source, respond};
use super::object_storage::ObjectStorage;
use super::runtime::Runtime;
use crate::entry::WorkspaceHost;
use crate::ports::ObjectClass;

/// The Durable Object of one workspace's index.
#[durable_object(alarm)]
pub struct WorkspaceIndex {
    runtime: Runtime,
    host: WorkspaceHost<ObjectStorage>,
}

impl DurableObject for WorkspaceIndex {
    fn new(state: State, env: Env) -> Self {
        let log = ObjectLog::new(&state, &env, ObjectClass::Workspace);
        let storage = ObjectStorage::new(&state, Rc::clone(&log));
        let runtime = Runtime::new(env, state, log);
        Self { runtime, host: WorkspaceHost::new(storage) }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let source = context_source();
        respond(request, async |head, body| {
            let response = self.host.response(&self.runtime, &source, head, body).await;
            response.map_stream(|never| match never {})
        })
        .await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        let rang = self.host.alarm_rang(&self.runtime, &context_source()).await;
        rang.map_err(|fault| worker::Error::RustError(fault.to_string()))?;
        Response::empty()
    }
}
