//! The Durable Object that keeps the public keys of an identity provider, named by the SHA-256 of their address.
//!
//! State: SQLite, one row (see `identity::KeySetKeeper`). Routes: none for clients; the Worker in front asks it
//! `ports::ObjectQuestion::Keys`. Status: 200, the failure of the provider being part of the body. No alarm.

use std::rc::Rc;

use worker::{DurableObject, Env, Request, Response, State, durable_object};

use super::object_log::ObjectLog;
use super::object_request::context_source;
use super::object_storage::ObjectStorage;
use super::runtime::Runtime;
use crate::identity::KeySetKeeper;
use crate::ports::ObjectClass;

/// The Durable Object that keeps the public keys of an identity provider.
#[durable_object]
pub struct KeySetObject {
    runtime: Runtime,
    keeper: KeySetKeeper<ObjectStorage>,
}

impl DurableObject for KeySetObject {
    fn new(state: State, env: Env) -> Self {
        let log = ObjectLog::new(&state, &env, ObjectClass::KeySet);
        let storage = ObjectStorage::new(&state, Rc::clone(&log));
        let runtime = Runtime::new(env, state, log);
        Self { runtime, keeper: KeySetKeeper::new(storage) }
    }

    async fn fetch(&self, mut request: Request) -> worker::Result<Response> {
        let question = request.text().await?;
        let stale_ms = context_source().jwks_stale_ms(&self.runtime);
        Response::ok(self.keeper.reply(&self.runtime, stale_ms, &question).await)
    }
}
