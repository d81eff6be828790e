//! The [`Platform`] of a Worker: clock, randomness, timers, tasks, secrets and logs.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use serde_json::Value;
use worker::js_sys::{Date, JSON, Reflect, Uint8Array};
use worker::wasm_bindgen::JsValue;
use worker::wasm_bindgen_futures::spawn_local;
use worker::{Env, State, console_error, console_log, console_warn};

use super::durable_object::{Head, ObjectRequest, ask};
use super::fetch::{FetchBody, fetch};
use super::file_bucket::FileBucket;
use super::object_storage::{RowCount, RuntimeStorage};
use super::promise::{settled, sleep};
use super::workspace_object::INDEX_SEARCH;
use crate::ports::{FileFault, HttpFault, HttpRequest, HttpResponse, Platform};

/// The machine that a session's object runs on.
pub(super) struct Runtime {
    env: Env,
    state: Rc<State>,
    rows: Rc<RowCount>,
    /// `{tenant}/{SessionId}`.
    name: Option<String>,
    files: FileBucket,
}

impl Runtime {
    pub(super) fn new(env: Env, state: Rc<State>, rows: Rc<RowCount>) -> Self {
        let name = state.id().name();
        Self { env, state, rows, name, files: FileBucket::default() }
    }
}

/// Writes a line for Workers Logs; its `level` is the log's.
pub(super) fn write_line(line: &Value) {
    match line.get("level").and_then(Value::as_str) {
        Some("error") => console_error!("{line}"),
        Some("warn") => console_warn!("{line}"),
        _ => console_log!("{line}"),
    }
}

impl Platform for Runtime {
    type Body = FetchBody;

    fn now_ms(&self) -> u64 {
        now_ms()
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
        sleep(ms).await;
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<FetchBody>, HttpFault> {
        fetch(request).await
    }

    async fn search_workspace(
        &self,
        workspace_id: &str,
        search: String,
    ) -> Result<String, HttpFault> {
        let tenant = self.name.as_deref().and_then(|name| name.split_once('/'));
        let (tenant, _) = tenant.ok_or_else(|| HttpFault("The object has no name.".to_owned()))?;
        let asked = ObjectRequest {
            binding: "WORKSPACES",
            name: &format!("{tenant}/{workspace_id}"),
            origin: "https://object",
            target: INDEX_SEARCH,
            head: &Head { method: "POST", headers: BTreeMap::new() },
            body: Some(&Uint8Array::from(search.as_bytes())),
        };
        let fault = |fault: JsValue| HttpFault(format!("{fault:?}"));
        let answer = ask(&self.env, &asked).await.map_err(fault)?;
        let text = settled(&answer.text().map_err(fault)?).await.map_err(fault)?;
        text.as_string().ok_or_else(|| HttpFault("The answer is no text.".to_owned()))
    }

    fn object_id(&self) -> String {
        self.state.id().to_string()
    }

    async fn keep_file(&self, key: &str, contents: Vec<u8>) -> Result<(), FileFault> {
        self.files.keep(&self.env, key, &contents).await
    }

    async fn erase_files(&self, folder: &str) -> Result<u64, FileFault> {
        self.files.erase(&self.env, folder).await
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>) {
        spawn_local(task);
    }

    async fn durable(&self) {
        // When it fails the object is reset, and nobody hears of what was not kept.
        let _ = settled(&RuntimeStorage::of(&self.state).sync()).await;
    }

    fn log(&self, mut line: Value) {
        if let Some(members) = line.as_object_mut() {
            if let Some((tenant, session)) =
                self.name.as_deref().and_then(|name| name.split_once('/'))
            {
                members.insert("tenant".to_owned(), tenant.into());
                members.insert("session".to_owned(), session.into());
            }
            members.insert("rows_read".to_owned(), self.rows.read.take().into());
            members.insert("rows_written".to_owned(), self.rows.written.take().into());
        }
        write_line(&line);
    }
}

/// Milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    Date::now() as u64
}

/// A variable or a secret, as text. What is no text in `[vars]` comes as such: it is then its JSON.
pub(super) fn variable(env: &Env, name: &str) -> Option<String> {
    let value = Reflect::get(env.as_ref(), &JsValue::from_str(name)).ok()?;
    match value.as_string() {
        Some(text) => Some(text),
        None if value.is_undefined() || value.is_null() => None,
        // The JSON of a namespace or a service, which other names are bound to, says nothing.
        None => JSON::stringify(&value).ok()?.as_string().filter(|json| json != "{}"),
    }
}
