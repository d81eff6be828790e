//! The Durable Objects: their requests, questions and alarms, handed to what each of them is.

use std::rc::Rc;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Error;
use worker::web_sys::{Request, Response};
use worker::worker_sys::DurableObjectState;
use worker::{Env, State};

use super::bindings::storage::ObjectStore;
use super::clock::stepwise;
use super::object_log::ObjectLog;
use super::object_request::{context_source, reply, respond};
use super::object_storage::ObjectStorage;
use super::response::readable;
use super::runtime::Runtime;
use crate::entry::{ObjectHost, SessionHost, UserHost, WorkspaceHost};
use crate::identity::KeySetHost;
use crate::mcp::McpListHost;
use crate::ports::ObjectClass;

/// What an object of a class stands on.
fn opened(state: DurableObjectState, env: Env, class: ObjectClass) -> (Rc<Runtime>, ObjectStorage) {
    let store = ObjectStore::new(&state);
    let state = State::from(state);
    let log = ObjectLog::new(&state, &env, class, store.clone());
    let storage = ObjectStorage::new(store.clone(), Rc::clone(&log));
    (Rc::new(Runtime::new(env, state, store, log)), storage)
}

/// An object that clients reach, by its host. `$readable` makes a stream of the runtime's of what the host streams.
macro_rules! hosted_object {
    ($(#[$comment:meta])* $object:ident, $host:ident, $readable:expr) => {
        $(#[$comment])*
        #[wasm_bindgen]
        pub struct $object {
            host: $host<Runtime, ObjectStorage>,
        }

        #[wasm_bindgen(
            wasm_bindgen_futures = worker::wasm_bindgen_futures,
            js_sys = worker::js_sys
        )]
        impl $object {
            #[wasm_bindgen(constructor)]
            pub fn new(state: DurableObjectState, env: Env) -> Self {
                type Host = $host<Runtime, ObjectStorage>;
                let (runtime, storage) = opened(state, env, Host::CLASS);
                Self { host: Host::new(runtime, storage) }
            }

            pub async fn fetch(&self, request: Request) -> Result<Response, JsValue> {
                let source = context_source();
                respond(request, async |head, body| {
                    self.host.response(&source, head, body).await.map_stream($readable)
                })
                .await
            }

            pub async fn alarm(&self) -> Result<(), JsValue> {
                let rang = stepwise(self.host.alarm_rang(&context_source())).await;
                rang.map_err(|fault| Error::new(&fault.to_string()).into())
            }
        }
    };
}

hosted_object!(
    /// The Durable Object of one session, named `{tenant}/{SessionId}`, of a user's
    /// `{tenant}/~{user, percent-encoded}/{SessionId}`.
    ///
    /// State: SQLite (see `persistence::schema`), and the running turn in memory. Routes: `/execute`, and
    /// `entry::SessionRoute`. Statuses: interface §3. Alarm: `TURN_ALARM_MS` after an instance's first accepted
    /// submission, then at that interval while a turn runs; it keeps the object from eviction, resumes a turn that lost
    /// its instance, and does what else is due: tasks, the end of an erasure, the report to the user's object, the end
    /// of the retention.
    SessionObject, SessionHost, readable
);

hosted_object!(
    /// The Durable Object of one user, named `{tenant}/~{user, percent-encoded}`.
    ///
    /// State: SQLite (see `users::index`). Routes: `entry::Route::Sessions`, `entry::UserRoute`, and what removes or
    /// renames a session; the user's sessions ask it the questions of `ports::ObjectQuestion` that have its class.
    /// Statuses: interface §3. Alarm: while sessions are to be erased, and when nothing more is to be known of a user without sessions.
    UserObject, UserHost, |never| match never {}
);

hosted_object!(
    /// The Durable Object of one workspace's index, named `{tenant}/{WorkspaceId}`.
    ///
    /// State: SQLite with FTS5 (see `retrieval::index::schema`). Routes: `entry::WorkspaceRoute`. Statuses: interface §3. Alarm: at
    /// once after documents changed, where embeddings are configured; it embeds what lacks its vectors.
    WorkspaceIndex, WorkspaceHost, |never| match never {}
);

/// An object that only the Worker in front and other objects ask, by its host; `$setting` is what a reply needs besides
/// the question.
macro_rules! asked_object {
    ($(#[$comment:meta])* $object:ident, $host:ident, $class:ident, |$runtime:ident| $setting:expr) => {
        $(#[$comment])*
        #[wasm_bindgen]
        pub struct $object {
            runtime: Rc<Runtime>,
            host: $host<ObjectStorage>,
        }

        #[wasm_bindgen(
            wasm_bindgen_futures = worker::wasm_bindgen_futures,
            js_sys = worker::js_sys
        )]
        impl $object {
            #[wasm_bindgen(constructor)]
            pub fn new(state: DurableObjectState, env: Env) -> Self {
                let (runtime, storage) = opened(state, env, ObjectClass::$class);
                Self { runtime, host: $host::new(storage) }
            }

            pub async fn fetch(&self, request: Request) -> Result<Response, JsValue> {
                let $runtime = self.runtime.as_ref();
                reply(request, async |question| self.host.reply($runtime, $setting, question).await)
                    .await
            }
        }
    };
}

asked_object!(
    /// The Durable Object that keeps the public keys of an identity provider, named by the SHA-256 of their address.
    ///
    /// State: SQLite, one row (`object::DocumentKeeper`). Routes: none for clients; the Worker in front asks it
    /// `ports::ObjectQuestion::Keys`. Status: 503 for a sender of another version, else 200, the failure of the provider
    /// being part of the body. No alarm.
    KeySetObject, KeySetHost, KeySet, |runtime| context_source().jwks_stale_ms(runtime)
);

asked_object!(
    /// The Durable Object that keeps the tools of one MCP server for a tenant, named `{tenant}/{server}`, or for a
    /// user, named `{tenant}/~{user, percent-encoded}/{server}`, where the server is told the user.
    ///
    /// State: SQLite, one row (`object::DocumentKeeper`); of a user memory alone. Routes: none for clients; a session's
    /// object asks it `ports::ObjectQuestion::Tools`. Status: 503 for a sender of another version, else 200, the
    /// failure of the server being part of the body. No alarm.
    McpLists, McpListHost, McpList, |runtime| context_source().catalog(runtime).await
);
