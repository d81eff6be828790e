//! The Durable Object of one workspace's index, named `{tenant}/{WorkspaceId}`.
//!
//! State: SQLite with FTS5 (see `retrieval::schema`). Routes: `entry::WorkspaceRoute`. Statuses:
//! interface §3. It has no alarm.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::object_request::{context_source, respond};
use super::object_storage::{ObjectStorage, RowCount};
use super::runtime::Runtime;
use crate::entry::WorkspaceHost;
use crate::ports::ObjectClass;

/// The Durable Object of one workspace's index.
#[durable_object]
pub struct WorkspaceIndex {
    runtime: Runtime,
    host: WorkspaceHost<ObjectStorage>,
}

impl DurableObject for WorkspaceIndex {
    fn new(state: State, env: Env) -> Self {
        let rows = Rc::new(RowCount::default());
        let storage = ObjectStorage::new(&state, Rc::clone(&rows));
        let runtime = Runtime::new(env, state, ObjectClass::Workspace, rows);
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
}
