//! The Durable Object of one session, named `{tenant}/{SessionId}`.
//!
//! State: SQLite (see `persistence::schema`), and the running turn in memory. Routes: `/execute`, and
//! `entry::SessionRoute`. Statuses: interface §3. Alarm: `TURN_ALARM_MS` after an instance's first
//! accepted submission, then at that interval while a turn runs; it keeps the object from eviction and
//! resumes a turn that lost its instance.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::object_log::ObjectLog;
use super::object_request::{context_source, respond};
use super::object_storage::ObjectStorage;
use super::response::readable;
use super::runtime::Runtime;
use crate::entry::SessionHost;
use crate::ports::ObjectClass;

/// The Durable Object of one session.
#[durable_object(alarm)]
pub struct SessionObject {
    host: SessionHost<Runtime, ObjectStorage>,
}

impl DurableObject for SessionObject {
    fn new(state: State, env: Env) -> Self {
        let log = ObjectLog::new(&state, &env, ObjectClass::Session);
        let storage = ObjectStorage::new(&state, Rc::clone(&log));
        let runtime = Runtime::new(env, state, log);
        Self { host: SessionHost::new(Rc::new(runtime), storage) }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let source = context_source();
        respond(request, async |head, body| {
            self.host.response(&source, head, body).await.map_stream(readable)
        })
        .await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        let rang = self.host.alarm_rang(&context_source()).await;
        rang.map_err(|fault| worker::Error::RustError(fault.to_string()))?;
        Response::empty()
    }
}
