//! The Worker's bindings and one request, as the [`Gateway`] of the front door.

use serde_json::json;
use wasm_bindgen::JsCast;
use worker::Env;
use worker::web_sys::{ReadableStream, Request, Response};
use worker::worker_sys::{R2Object, R2ObjectBody};

use super::bindings::plain::Stub;
use super::console::write_line;
use super::durable_object::{ask, offers};
use super::file_bucket::{bucket, found, logged};
use super::machine::machine;
use super::promise::settled;
use super::received_body::ReceivedBody;
use super::request_head::ReceivedHead;
use super::signatures::check;
use super::values::to_js;
use super::variables::binding;
use crate::contract::{Fault, Result};
use crate::encoding::Jurisdiction;
use crate::ports::{FileFault, Gateway, HttpFault, ObjectRequest, PublicKey, RequestBody};

/// The binding of the rate limiter; without it there is no rate limit.
const RATE_LIMITER: &str = "RATE_LIMITER";

/// The same for users.
const USER_RATE_LIMITER: &str = "USER_RATE_LIMITER";

pub(super) struct WorkerGateway<'a> {
    pub(super) env: &'a Env,
    pub(super) request: &'a Request,
    pub(super) head: &'a ReceivedHead,
}

machine!(WorkerGateway<'_>, |_: &Self, line| write_line(&line));

impl Gateway for WorkerGateway<'_> {
    type Upload = ReceivedBody;
    type Contents = ReadableStream;
    type ObjectResponse = Response;

    async fn is_within_rate(&self, name: &str, is_user: bool) -> Result<bool, HttpFault> {
        let limiter = if is_user { USER_RATE_LIMITER } else { RATE_LIMITER };
        let Ok(limiter) = self.env.rate_limiter(limiter) else { return Ok(true) };
        let counted = limiter.limit(name.to_owned()).await;
        counted.map(|counted| counted.success).map_err(|fault| HttpFault::Lost(fault.to_string()))
    }

    fn random_bytes(&self) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        let filled = getrandom::fill(&mut bytes);
        filled.map(|()| bytes).map_err(|_| Fault::internal("The machine gave no random bytes."))
    }

    fn upload(&self) -> Result<Option<ReceivedBody>, HttpFault> {
        ReceivedBody::of(self.request, self.head)
    }

    fn offers(&self, jurisdiction: Jurisdiction) -> bool {
        offers(self.env, jurisdiction)
    }

    async fn ask(
        &self,
        request: &ObjectRequest<'_>,
        body: Option<impl RequestBody>,
    ) -> Result<Response, HttpFault> {
        ask(self.env, request, body).await
    }

    async fn file_size(
        &self,
        of: Option<Jurisdiction>,
        key: &str,
    ) -> Result<Option<u64>, FileFault> {
        let head = async {
            let head = settled(&bucket(self.env, of)?.head(key.to_owned())?).await?;
            let size = found::<R2Object>(head).map(|object| object.size()).transpose()?;
            Ok(size.map(|size| size as u64))
        };
        head.await.map_err(logged)
    }

    async fn file_contents(
        &self,
        of: Option<Jurisdiction>,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Option<ReadableStream>, FileFault> {
        let get = async {
            let options = to_js(&json!({ "range": { "offset": offset, "length": length } }))?;
            let got = settled(&bucket(self.env, of)?.get(key.to_owned(), options)?).await?;
            Ok(found::<R2ObjectBody>(got).map(|object| object.body()).transpose()?)
        };
        get.await.map_err(logged)
    }

    async fn page_file(&self, path: &str) -> Option<Response> {
        let assets = binding(self.env, "ASSETS")?.unchecked_into::<Stub>();
        // Only the path of the address counts; method and headers are the request's own.
        let address = ["https://page", path].concat();
        let sent = assets.fetch(&address, self.request.unchecked_ref()).ok()?;
        let response: Response = settled(&sent).await.ok()?.unchecked_into();
        // A failure of the moment would be kept with the headers of a file, for a year.
        (response.status() < 400).then_some(response)
    }

    async fn holds(&self, key: &PublicKey, signed: &[u8], signature: &[u8]) -> bool {
        check(key, signed, signature).await.unwrap_or(false)
    }
}
