//! The Durable Object of one user, named `{tenant}/~{user, percent-encoded}`.
//!
//! State: SQLite (see `users::index`). Routes: `entry::Route::Sessions`, `entry::UserRoute`, and what removes or renames
//! a session; the user's sessions ask it `ports::ObjectQuestion::Register` and `Report`. Statuses: interface §3. Alarm:
//! while sessions are to be erased, and when nothing more is to be known of a user without sessions.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::object_log::ObjectLog;
use super::object_request::{context_source, respond};
use super::object_storage::ObjectStorage;
use super::runtime::Runtime;
use crate::entry::UserHost;
use crate::ports::ObjectClass;

/// The Durable Object of one user.
#[durable_object(alarm)]
pub struct UserObject {
    runtime: Runtime,
    host: UserHost<ObjectStorage>,
}

impl DurableObject for UserObject {
    fn new(state: State, env: Env) -> Self {
        let log = ObjectLog::new(&state, &env, ObjectClass::User);
        let storage = ObjectStorage::new(&state, Rc::clone(&log));
        let runtime = Runtime::new(env, state, log);
        Self { runtime, host: UserHost::new(storage) }
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
