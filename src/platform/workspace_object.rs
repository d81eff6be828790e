//! The Durable Object of one workspace's index, named `{tenant}/{WorkspaceId}`.
//!
//! State: SQLite with FTS5 (see `retrieval::schema`). Routes: what `entry::Route` finds below
//! `/workspaces`. Statuses: the interface, section 3. No alarm.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::answer::{refusal, refusal_line, result, target};
use super::environment::catalog;
use super::object_storage::{ObjectStorage, RowCount};
use super::request_body::whole_body;
use super::runtime::{Runtime, write_line};
use crate::contract::{ErrorCode, Fault};
use crate::entry::{Route, WorkspaceHost, WorkspaceRoute};

/// Where a session's object asks for a search of the index itself. It is no endpoint, so that no
/// client comes here.
pub(super) const INDEX_SEARCH: &str = "/index/search";

/// The Durable Object of one workspace's index.
#[durable_object]
pub struct WorkspaceIndex {
    env: Env,
    state: Rc<State>,
    runtime: Runtime,
    host: WorkspaceHost<ObjectStorage>,
}

impl DurableObject for WorkspaceIndex {
    fn new(state: State, env: Env) -> Self {
        let (state, rows) = (Rc::new(state), Rc::new(RowCount::default()));
        let storage = ObjectStorage::new(&state, Rc::clone(&rows), None);
        let runtime = Runtime::new(env.clone(), Rc::clone(&state), rows);
        Self { env, state, runtime, host: WorkspaceHost::new(storage) }
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
        let url = request.inner().url();
        let (workspace, route) = match target(&url).as_str() {
            INDEX_SEARCH => (None, WorkspaceRoute::Search),
            target => match Route::find(request.method().as_ref(), target) {
                Ok(Route::Workspace(workspace, route)) => (Some(workspace), route),
                Ok(_) => {
                    let fault =
                        Fault::new(ErrorCode::NotFound, "A workspace does not answer this.");
                    return Ok(Err(fault.into()));
                }
                Err(fault) => return Ok(Err(fault.into())),
            },
        };
        let body =
            if route.has_body() { whole_body(request.inner()).await?.to_vec() } else { Vec::new() };
        let answered = match (&route, &workspace) {
            (WorkspaceRoute::Search, Some(workspace)) => match catalog(&self.env).await {
                Ok(catalog) => self.host.search(&self.runtime, &catalog, workspace, &body).await,
                Err(fault) => Err(fault.into()),
            },
            _ => self.host.answer(&route, &body),
        };
        let answered = match answered {
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
