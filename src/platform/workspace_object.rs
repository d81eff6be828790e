//! The Durable Object of one workspace's index, named `{tenant}/{WorkspaceId}`.
//!
//! State: SQLite with FTS5 (see `retrieval::schema`). Routes: what `entry::Route` finds below
//! `/workspaces`. Statuses: the interface, section 3. No alarm.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::answer::{refusal, refusal_line, result, target};
use super::object_storage::{ObjectStorage, RowCount};
use super::request_body::whole_body;
use super::runtime::write_line;
use crate::contract::{ErrorCode, Fault};
use crate::entry::{Route, WorkspaceHost, WorkspaceRoute};

/// The Durable Object of one workspace's index.
#[durable_object]
pub struct WorkspaceIndex {
    state: State,
    host: WorkspaceHost<ObjectStorage>,
}

impl DurableObject for WorkspaceIndex {
    fn new(state: State, _env: Env) -> Self {
        let storage = ObjectStorage::new(&state, Rc::new(RowCount::default()), None);
        Self { state, host: WorkspaceHost::new(storage) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        match self.answer(&mut request).await? {
            Ok(response) => Ok(response),
            Err(faults) => {
                write_line(&refusal_line(&faults));
                refusal(faults)
            }
        }
    }
}

impl WorkspaceIndex {
    async fn answer(&self, request: &mut Request) -> worker::Result<Result<Response, Vec<Fault>>> {
        let route = match Route::find(request.method().as_ref(), &target(&request.inner().url())) {
            Ok(Route::Workspace(_, route)) => route,
            Ok(_) => {
                let fault = Fault::new(ErrorCode::NotFound, "A workspace does not answer this.");
                return Ok(Err(vec![fault]));
            }
            Err(fault) => return Ok(Err(vec![fault])),
        };
        let body =
            if route.has_body() { whole_body(request.inner()).await?.to_vec() } else { Vec::new() };
        let answered = match self.host.answer(&route, &body) {
            Ok(answered) => answered,
            Err(faults) => return Ok(Err(faults)),
        };
        if route == WorkspaceRoute::Erase {
            // Frees what the erased tables took. Nothing came in between.
            self.state.storage().delete_all().await?;
            self.host.forget();
        }
        result(&answered).map(Ok)
    }
}
