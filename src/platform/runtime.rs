//! The [`Platform`] of an object.

use std::cell::OnceCell;
use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::spawn_local;
use worker::{Env, State};

use super::bindings::plain::DataSet;
use super::bindings::storage::ObjectStore;
use super::clock::{stepwise, yield_now, yield_to_others};
use super::durable_object::id_at;
use super::fetch::{FetchBody, fetch};
use super::file_bucket::FileBucket;
use super::machine::machine;
use super::object_log::ObjectLog;
use super::promise::settled;
use super::span::{RuntimeSpan, staying};
use super::values::to_js;
use super::variables::{binding, tenants};
use crate::contract::{Result, UserId};
use crate::encoding::Jurisdiction;
use crate::ports::{
    DataPoint, FileFault, HttpFault, HttpRequest, HttpResponse, OperatorCatalog, Platform,
    RequestBody, storage_failed,
};

/// The binding for data points; without it none are written.
const METERING: &str = "METERING";

pub(super) struct Runtime {
    env: Env,
    state: State,
    store: ObjectStore,
    log: Rc<ObjectLog>,
    files: FileBucket,
    data_set: OnceCell<Option<JsValue>>,
}

impl Runtime {
    pub(super) fn new(env: Env, state: State, store: ObjectStore, log: Rc<ObjectLog>) -> Self {
        let files = FileBucket::new(Rc::clone(&log));
        Self { env, state, store, log, files, data_set: OnceCell::new() }
    }

    /// The binding for data points. Bindings never change within an isolate.
    fn data_set(&self) -> Option<&JsValue> {
        self.data_set.get_or_init(|| binding(&self.env, METERING)).as_ref()
    }
}

machine!(Runtime, |runtime: &Self, line| runtime.log.write(line));

impl Platform for Runtime {
    type Body = FetchBody;
    type Span = RuntimeSpan;

    fn random(&self) -> f64 {
        // A failure costs a retry its jitter, nothing else.
        let bits = getrandom::u64().unwrap_or(u64::MAX / 2);
        // A double has 53 bits of precision.
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    async fn send(
        &self,
        request: HttpRequest<impl RequestBody>,
    ) -> Result<HttpResponse<FetchBody>, HttpFault> {
        let HttpRequest { method, url, headers, body, reads } = request;
        // One copy of the code for all kinds of bodies.
        fetch(HttpRequest { method, url, headers, body: &body as &dyn RequestBody, reads }).await
    }

    fn tenant(&self) -> Option<&str> {
        self.log.identity.tenant()
    }

    fn user(&self) -> Option<&UserId> {
        self.log.identity.user()
    }

    fn jurisdiction(&self) -> Option<Jurisdiction> {
        self.log.identity.jurisdiction
    }

    fn is_at_home(&self) -> bool {
        let identity = &self.log.identity;
        // The runtime does not tell the name for alarms that were set before March 2026.
        let Some(name) = identity.name() else { return true };
        match tenants(&self.env).as_ref() {
            Ok(tenants) => {
                let place = tenants.place(identity.class, name);
                id_at(&self.env, identity.class, &place).is_ok_and(|id| id == self.object_id())
            }
            Err(_) => false,
        }
    }

    fn object_id(&self) -> String {
        self.state.id().to_string()
    }

    async fn keep_file(&self, key: &str, contents: &[u8]) -> Result<(), FileFault> {
        self.files.keep(&self.env, key, contents).await
    }

    async fn erase_files(&self, folder: &str) -> Result<u64, FileFault> {
        self.files.erase(&self.env, folder).await
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>) {
        spawn_local(stepwise(staying(task)));
    }

    async fn durable(&self) {
        // A failure resets the object, so that no client gets what was lost.
        let _ = settled(&self.store.sync()).await;
    }

    async fn operator_catalog(&self) -> Result<OperatorCatalog, HttpFault> {
        let Ok(namespace) = self.env.kv("CATALOG") else { return Ok(OperatorCatalog::NoNamespace) };
        let text = namespace.get("catalog").text().await;
        let text = text.map_err(|fault| HttpFault::Lost(fault.to_string()))?;
        Ok(text.map_or(OperatorCatalog::Absent, OperatorCatalog::Document))
    }

    fn set_alarm(&self, at_ms: u64) -> Result<()> {
        let setting = self.store.set_alarm(at_ms as f64);
        // The promise settles with the writes around it; a failure of theirs resets the object.
        setting.map(|_| ()).map_err(|_| storage_failed())
    }

    async fn free_storage(&self) -> Result<()> {
        let freed = self.state.storage().delete_all().await;
        freed.map_err(|_| storage_failed())
    }

    async fn yield_now(&self) {
        yield_now().await;
    }

    async fn yield_to_others(&self) {
        yield_to_others().await;
    }

    fn span(&self, name: &str) -> Option<RuntimeSpan> {
        RuntimeSpan::open(name)
    }

    fn is_metered(&self) -> bool {
        self.data_set().is_some()
    }

    fn meter(&self, point: &DataPoint) -> Result<(), HttpFault> {
        let Some(data_set) = self.data_set() else { return Ok(()) };
        Ok(data_set.unchecked_ref::<DataSet>().write_data_point(&to_js(point)?)?)
    }

    fn rows(&self) -> (usize, usize) {
        self.log.rows()
    }
}
