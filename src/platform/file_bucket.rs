//! The R2 bucket `FILES`.

use std::cell::RefCell;

use serde::Serialize;
use serde_json::json;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{Object, Promise, Uint8Array};
use worker::web_sys::ReadableStream;
use worker::worker_sys::{R2Bucket, R2Object, R2ObjectBody, R2Objects};

use super::console::write_line;
use super::promise::settled;
use super::values::to_js;
use super::variables::binding;
use crate::ports::FileFault;

const BINDING: &str = "FILES";

/// `R2ListOptions`.
#[derive(Serialize)]
struct ListOptions<'a> {
    prefix: &'a str,
    limit: u16,
}

/// `R2GetOptions`.
#[derive(Serialize)]
struct GetOptions {
    range: Range,
}

/// In bytes.
#[derive(Serialize)]
struct Range {
    offset: u64,
    length: u64,
}

/// A session's part of the bucket.
#[derive(Default)]
pub(super) struct FileBucket {
    /// The writes that are under way. A write goes on when its wait is dropped.
    puts: RefCell<Vec<Promise>>,
}

impl FileBucket {
    pub(super) async fn keep(
        &self,
        env: &Env,
        key: &str,
        contents: &[u8],
    ) -> Result<(), FileFault> {
        let put = bucket(env)?
            .put(key.to_owned(), Uint8Array::from(contents).into(), JsValue::UNDEFINED)
            .map_err(failed)?;
        self.puts.borrow_mut().push(put.clone());
        let ended = settled(&put).await;
        self.puts.borrow_mut().retain(|other| !Object::is(other, &put));
        ended.map(|_| ()).map_err(failed)
    }

    /// Deletes every file in a folder, and returns their number.
    pub(super) async fn erase(&self, env: &Env, folder: &str) -> Result<u64, FileFault> {
        let bucket = bucket(env)?;
        for put in self.puts.take() {
            // The listing shows whether the write succeeded.
            let _ = settled(&put).await;
        }
        let options = to_js(&ListOptions { prefix: folder, limit: 1000 }).map_err(failed)?;
        let mut erased = 0;
        loop {
            let listing: R2Objects =
                fulfilled(bucket.list(options.clone())).await?.unchecked_into();
            let objects = listing.objects().map_err(failed)?;
            if objects.is_empty() {
                return Ok(erased);
            }
            let keys = objects.iter().map(|object| object.key().map(JsValue::from));
            let keys = keys.collect::<Result<_, _>>().map_err(failed)?;
            fulfilled(bucket.delete_multiple(keys)).await?;
            erased += objects.len() as u64;
        }
    }
}

/// The size of a file in bytes, `None` where there is no such file.
pub(super) async fn size_of(env: &Env, key: &str) -> Result<Option<u64>, FileFault> {
    let object = fulfilled(bucket(env)?.head(key.to_owned())).await?;
    if object.is_null() {
        return Ok(None);
    }
    let size = object.unchecked_into::<R2Object>().size().map_err(failed)?;
    Ok(Some(size as u64))
}

/// A range of a file's contents, `None` where there is no such file. Offset and length are in bytes.
pub(super) async fn contents_of(
    env: &Env,
    key: &str,
    offset: u64,
    length: u64,
) -> Result<Option<ReadableStream>, FileFault> {
    let options = to_js(&GetOptions { range: Range { offset, length } }).map_err(failed)?;
    let object = fulfilled(bucket(env)?.get(key.to_owned(), options)).await?;
    if object.is_null() {
        return Ok(None);
    }
    object.unchecked_into::<R2ObjectBody>().body().map(Some).map_err(failed)
}

fn bucket(env: &Env) -> Result<R2Bucket, FileFault> {
    binding(env, BINDING).map(JsCast::unchecked_into).ok_or(FileFault::NoBucket)
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
