//! The [`Platform`] of a Worker: clock, randomness, timers, tasks, secrets and logs.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use worker::wasm_bindgen_futures::spawn_local;
use worker::{Date, Delay, Env, State, console_log};

use super::fetch::{FetchBody, fetch};
use super::object_storage::RowCount;
use crate::pipeline::{HttpFault, HttpRequest, HttpResponse, Platform};

/// The machine that a session's object runs on.
pub(super) struct Runtime {
    env: Env,
    state: Rc<State>,
    rows: Rc<RowCount>,
}

impl Runtime {
    pub(super) fn new(env: Env, state: Rc<State>, rows: Rc<RowCount>) -> Self {
        Self { env, state, rows }
    }
}

impl Platform for Runtime {
    type Body = FetchBody;

    fn now_ms(&self) -> u64 {
        Date::now().as_millis()
    }

    fn random(&self) -> f64 {
        // Without randomness a retry only loses its jitter.
        let bits = getrandom::u64().unwrap_or(u64::MAX / 2);
        // 53 bits are what a double holds.
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn secret(&self, name: &str) -> Option<String> {
        variable(&self.env, name)
    }

    async fn sleep(&self, ms: u64) {
        // The runtime's timers take 31 bits.
        let mut left = ms;
        while left > 0 {
            let step = left.min(i32::MAX as u64);
            Delay::from(Duration::from_millis(step)).await;
            left -= step;
        }
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<FetchBody>, HttpFault> {
        fetch(request).await
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>) {
        spawn_local(task);
    }

    async fn durable(&self) {
        // When it fails the object is reset, and nobody hears of what was not kept.
        let _ = self.state.storage().sync().await;
    }

    fn log(&self, line: &serde_json::Value) {
        let mut line = line.clone();
        if let Some(members) = line.as_object_mut() {
            members.insert("rows_read".to_owned(), self.rows.read.take().into());
            members.insert("rows_written".to_owned(), self.rows.written.take().into());
        }
        console_log!("{line}");
    }
}

/// A variable or a secret: both are text bindings.
pub(super) fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(name).ok().map(|text| text.to_string())
}
