//! The R2 buckets for files: `FILES`, and one for each jurisdiction.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{Object, Promise, Uint8Array};
use worker::worker_sys::{R2Bucket, R2Objects};

use super::console::write_line;
use super::object_log::ObjectLog;
use super::promise::settled;
use super::values::to_js;
use super::variables::binding;
use crate::encoding::Jurisdiction;
use crate::ports::{FileFault, HttpFault};

/// The binding of the bucket.
fn binding_of(jurisdiction: Option<Jurisdiction>) -> &'static str {
    match jurisdiction {
        None => "FILES",
        Some(Jurisdiction::Eu) => "FILES_EU",
        Some(Jurisdiction::Us) => "FILES_US",
        Some(Jurisdiction::FedRamp) => "FILES_FEDRAMP",
        Some(Jurisdiction::FedRampHigh) => "FILES_FEDRAMP_HIGH",
    }
}

/// A session's part of the bucket.
pub(super) struct FileBucket {
    log: Rc<ObjectLog>,
    /// The writes that are under way. A write goes on when its wait is dropped.
    puts: RefCell<Vec<Promise>>,
}

/// Why the bucket did not do what it was asked for.
pub(super) enum Failure {
    NoBucket,
    Runtime(JsValue),
}

impl FileBucket {
    pub(super) fn new(log: Rc<ObjectLog>) -> Self {
        Self { log, puts: RefCell::default() }
    }

    pub(super) async fn keep(
        &self,
        env: &Env,
        key: &str,
        contents: &[u8],
    ) -> Result<(), FileFault> {
        let put = async {
            let contents = Uint8Array::from(contents).into();
            let put = self.bucket(env)?.put(key.to_owned(), contents, JsValue::UNDEFINED)?;
            self.puts.borrow_mut().push(put.clone());
            let ended = settled(&put).await;
            self.puts.borrow_mut().retain(|other| !Object::is(other, &put));
            Ok(ended.map(|_| ())?)
        };
        put.await.map_err(|failure| self.logged(failure))
    }

    /// Deletes every file in a folder, and returns their number.
    pub(super) async fn erase(&self, env: &Env, folder: &str) -> Result<u64, FileFault> {
        self.delete(env, folder).await.map_err(|failure| self.logged(failure))
    }

    async fn delete(&self, env: &Env, folder: &str) -> Result<u64, Failure> {
        let bucket = self.bucket(env)?;
        for put in self.puts.take() {
            // The listing shows whether the write succeeded.
            let _ = settled(&put).await;
        }
        let options = to_js(&json!({ "prefix": folder, "limit": 1000 }))?;
        let mut erased = 0;
        loop {
            let listing: R2Objects =
                settled(&bucket.list(options.clone())?).await?.unchecked_into();
            let objects = listing.objects()?;
            if objects.is_empty() {
                return Ok(erased);
            }
            let keys = objects.iter().map(|object| object.key().map(JsValue::from));
            settled(&bucket.delete_multiple(keys.collect::<Result<_, _>>()?)?).await?;
            erased += objects.len() as u64;
        }
    }

    fn bucket(&self, env: &Env) -> Result<R2Bucket, Failure> {
        bucket(env, self.log.identity.jurisdiction)
    }

    fn logged(&self, failure: Failure) -> FileFault {
        failure.logged(|line| self.log.write(line))
    }
}

/// What the bucket has of a key; `None` where it has nothing.
pub(super) fn found<T: JsCast>(answered: JsValue) -> Option<T> {
    (!answered.is_null()).then(|| answered.unchecked_into())
}

/// Logs a failure that no object has, and returns what it is to others.
pub(super) fn logged(failure: Failure) -> FileFault {
    failure.logged(|line| write_line(&line))
}

/// The bucket of a jurisdiction.
pub(super) fn bucket(env: &Env, of: Option<Jurisdiction>) -> Result<R2Bucket, Failure> {
    binding(env, binding_of(of)).map(JsCast::unchecked_into).ok_or(Failure::NoBucket)
}

impl From<JsValue> for Failure {
    fn from(fault: JsValue) -> Self {
        Self::Runtime(fault)
    }
}

impl Failure {
    /// The bucket's message goes to the operator's log only. A key reveals nothing of the file.
    fn logged(self, write: impl FnOnce(Value)) -> FileFault {
        let Self::Runtime(fault) = self else { return FileFault::NoBucket };
        let fault = HttpFault::from(fault).to_string();
        write(json!({ "event": "files_failed", "level": "error", "fault": fault }));
        FileFault::Failed
    }
}
