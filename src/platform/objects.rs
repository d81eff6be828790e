//! The Durable Objects: their requests, questions and alarms, handed to what each of them is.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::durable_object::REFUSED;
use super::object_log::ObjectLog;
use super::object_request::{context_source, is_of_this_version, respond};
use super::object_storage::ObjectStorage;
use super::response::readable;
use super::runtime::Runtime;
use crate::entry::{ObjectHost, SessionHost, UserHost, WorkspaceHost};
use crate::identity::KeySetKeeper;
use crate::mcp::McpListsHost;
use crate::ports::ObjectClass;

/// What an object of a class stands on.
fn opened(state: State, env: Env, class: ObjectClass) -> (Rc<Runtime>, ObjectStorage) {
    let log = ObjectLog::new(&state, &env, class);
    let storage = ObjectStorage::new(&state, Rc::clone(&log));
    (Rc::new(Runtime::new(env, state, log)), storage)
}

/// An object that clients reach, by its host. `$readable` makes a stream of the runtime's of what the host streams.
macro_rules! hosted_object {
    ($(#[$comment:meta])* $object:ident, $host:ident, $readable:expr) => {
        $(#[$comment])*
        #[durable_object(alarm)]
        pub struct $object {
            host: $host<Runtime, ObjectStorage>,
        }

        impl DurableObject for $object {
            fn new(state: State, env: Env) -> Self {
                type Host = $host<Runtime, ObjectStorage>;
                let (runtime, storage) = opened(state, env, Host::CLASS);
                Self { host: Host::new(runtime, storage) }
            }

            async fn fetch(&self, request: Request) -> worker::Result<Response> {
                let source = context_source();
                respond(request, async |head, body| {
                    self.host.response(&source, head, body).await.map_stream($readable)
                })
                .await
            }

            async fn alarm(&self) -> worker::Result<Response> {
                let rang = self.host.alarm_rang(&context_source()).await;
                rang.map_err(|fault| worker::Error::RustError(fault.to_string()))?;
                Response::empty()
            }
        }
    };
}

hosted_object!(
    /// The Durable Object of one session, named `{tenant}/{SessionId}`.
    ///
    /// State: SQLite (see `persistence::schema`), and the running turn in memory. Routes: `/execute`, and
    /// `entry::SessionRoute`. Statuses: interface §3. Alarm: `TURN_ALARM_MS` after an instance's first accepted submission,
    /// then at that interval while a turn runs; it keeps the object from eviction, resumes a turn that lost its instance,
    /// and attempts the tasks that are due.
    SessionObject, SessionHost, readable
);

hosted_object!(
    /// The Durable Object of one user, named `{tenant}/~{user, percent-encoded}`.
    ///
    /// State: SQLite (see `users::index`). Routes: `entry::Route::Sessions`, `entry::UserRoute`, and what removes or
    /// renames a session; the user's sessions ask it `ports::ObjectQuestion::Register` and `Report`. Statuses: interface
    /// §3. Alarm: while sessions are to be erased, and when nothing more is to be known of a user without sessions.
    UserObject, UserHost, |never| match never {}
);

hosted_object!(
    /// The Durable Object of one workspace's index, named `{tenant}/{WorkspaceId}`.
    ///
    /// State: SQLite with FTS5 (see `retrieval::schema`). Routes: `entry::WorkspaceRoute`. Statuses: interface §3. Alarm: at
    /// once after documents changed, where embeddings are configured; it embeds what lacks its vectors.
    WorkspaceIndex, WorkspaceHost, |never| match never {}
);

/// The Durable Object that keeps the public keys of an identity provider, named by the SHA-256 of their address.
///
/// State: SQLite, one row (see `identity::KeySetKeeper`). Routes: none for clients; the Worker in front asks it
/// `ports::ObjectQuestion::Keys`. Status: 503 for a sender of another version, else 200, the failure of the provider
/// being part of the body. No alarm.
#[durable_object]
pub struct KeySetObject {
    runtime: Rc<Runtime>,
    keeper: KeySetKeeper<ObjectStorage>,
}

impl DurableObject for KeySetObject {
    fn new(state: State, env: Env) -> Self {
        let (runtime, storage) = opened(state, env, ObjectClass::KeySet);
        Self { runtime, keeper: KeySetKeeper::new(storage) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        if !is_of_this_version(&request) {
            return Response::error("", REFUSED);
        }
        let question = request.text().await?;
        let stale_ms = context_source().jwks_stale_ms(self.runtime.as_ref());
        Response::ok(self.keeper.reply(self.runtime.as_ref(), stale_ms, &question).await)
    }
}

/// The Durable Object that keeps the tools of one MCP server for a tenant, named `{tenant}/{server}`.
///
/// State: SQLite, the server's last list (see `mcp::McpListsHost`). Routes: none for clients; a session's object asks it
/// `ports::ObjectQuestion::Tools`. Status: 503 for a sender of another version, else 200, the failure of the server being
/// part of the body. No alarm.
#[durable_object]
pub struct McpLists {
    runtime: Rc<Runtime>,
    host: McpListsHost<ObjectStorage>,
}

impl DurableObject for McpLists {
    fn new(state: State, env: Env) -> Self {
        let (runtime, storage) = opened(state, env, ObjectClass::McpLists);
        Self { runtime, host: McpListsHost::new(storage) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        if !is_of_this_version(&request) {
            return Response::error("", REFUSED);
        }
        let key = request.text().await?;
        let catalog = context_source().catalog(self.runtime.as_ref()).await;
        Response::ok(self.host.reply(self.runtime.as_ref(), catalog, &key).await)
    }
}
