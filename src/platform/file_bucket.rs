//! The R2 bucket `FILES`.

use std::cell::RefCell;

use serde_json::json;
use worker::Env;
use worker::js_sys::{JSON, Object, Promise, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::ReadableStream;

use super::bindings::bucket::{Bucket, KeptObject, Listing};
use super::console::write_line;
use super::promise::settled;
use super::variables::binding;
use crate::ports::FileFault;

const BINDING: &str = "FILES";

/// A session's part of the bucket.
#[derive(Default)]
pub(super) struct FileBucket {
    /// The writes that are under way. A write goes on when its wait is dropped.
    keeping: RefCell<Vec<Promise>>,
}

impl FileBucket {
    pub(super) async fn keep(
        &self,
        env: &Env,
        key: &str,
        contents: &[u8],
    ) -> Result<(), FileFault> {
        let kept = bucket(env)?.put(key, &Uint8Array::from(contents)).map_err(failed)?;
        self.keeping.borrow_mut().push(kept.clone());
        let ended = settled(&kept).await;
        self.keeping.borrow_mut().retain(|other| !Object::is(other, &kept));
        ended.map(|_| ()).map_err(failed)
    }

    /// Deletes every file in a folder, and returns their number.
    pub(super) async fn erase(&self, env: &Env, folder: &str) -> Result<u64, FileFault> {
        let bucket = bucket(env)?;
        for kept in self.keeping.take() {
            // The listing shows whether the write succeeded.
            let _ = settled(&kept).await;
        }
        let options = json!({ "prefix": folder, "limit": 1000 }).to_string();
        let options = JSON::parse(&options).map_err(failed)?;
        let mut erased = 0;
        loop {
            let listing: Listing = fulfilled(bucket.list(&options)).await?.unchecked_into();
            let objects = listing.objects();
            if objects.length() == 0 {
                return Ok(erased);
            }
            erased += u64::from(objects.length());
            let keys = objects.iter().map(|object| object.unchecked_ref::<KeptObject>().key());
            fulfilled(bucket.delete(&keys.collect())).await?;
        }
    }
}

/// The size of a file in bytes, `None` where there is no such file.
pub(super) async fn size_of(env: &Env, key: &str) -> Result<Option<u64>, FileFault> {
    let found = fulfilled(bucket(env)?.head(key)).await?;
    Ok(is_there(&found).then(|| found.unchecked_ref::<KeptObject>().size() as u64))
}

/// A range of a file's contents, `None` where there is no such file. Offset and length are in bytes.
pub(super) async fn contents_of(
    env: &Env,
    key: &str,
    offset: u64,
    length: u64,
) -> Result<Option<ReadableStream>, FileFault> {
    let range = json!({ "range": { "offset": offset, "length": length } }).to_string();
    let options = JSON::parse(&range).map_err(failed)?;
    let found = fulfilled(bucket(env)?.get(key, &options)).await?;
    Ok(is_there(&found).then(|| found.unchecked_ref::<KeptObject>().body()).flatten())
}

fn bucket(env: &Env) -> Result<Bucket, FileFault> {
    binding(env, BINDING).map(JsCast::unchecked_into).ok_or(FileFault::NoBucket)
}

fn is_there(value: &JsValue) -> bool {
    !value.is_undefined() && !value.is_null()
}

async fn fulfilled(promise: Result<Promise, JsValue>) -> Result<JsValue, FileFault> {
    settled(&promise.map_err(failed)?).await.map_err(failed)
}

/// The bucket's message goes to the operator's log only. A key reveals nothing of the file.
fn failed(fault: JsValue) -> FileFault {
    let fault = format!("{fault:?}");
    write_line(&json!({ "event": "files_failed", "level": "error", "fault": fault }));
    FileFault::Failed
}
