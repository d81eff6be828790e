//! The Worker's bindings and one request, as the [`Gateway`] of the front door.

use serde_json::Value;
use worker::Env;
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{ReadableStream, Request, Response};

use super::byte_stream::ByteReader;
use super::clock::now_ms;
use super::console::write_line;
use super::durable_object::ask;
use super::file_bucket::{contents_of, size_of};
use super::promise::settled;
use super::variables::variable;
use crate::ports::{BodyFault, FileFault, Gateway, HttpFault, ObjectRequest};

/// The binding of the rate limiter; without it there is no rate limit.
const RATE_LIMITER: &str = "RATE_LIMITER";

pub(super) struct WorkerGateway<'a> {
    pub(super) env: &'a Env,
    pub(super) request: &'a Request,
}

impl Gateway for WorkerGateway<'_> {
    type Body = Uint8Array;
    type Contents = ReadableStream;
    type ObjectResponse = Response;

    fn now_ms(&self) -> u64 {
        now_ms()
    }

    async fn is_within_rate(&self, key: &str) -> Result<bool, HttpFault> {
        let Ok(limiter) = self.env.rate_limiter(RATE_LIMITER) else { return Ok(true) };
        let counted = limiter.limit(key.to_owned()).await;
        counted.map(|counted| counted.success).map_err(|fault| HttpFault(fault.to_string()))
    }

    async fn body(
        &self,
        most_bytes: usize,
        length_is_known: bool,
    ) -> Result<Uint8Array, BodyFault> {
        if length_is_known {
            return whole_body(self.request).await.map_err(|_| BodyFault::Unreadable);
        }
        let mut body = Vec::new();
        if let Some(stream) = self.request.body() {
            let mut reader = ByteReader::new(&stream).map_err(|_| BodyFault::Unreadable)?;
            while let Some(chunk) =
                reader.read(most_bytes).await.map_err(|_| BodyFault::Unreadable)?
            {
                if body.len() + chunk.len() > most_bytes {
                    return Err(BodyFault::TooLarge);
                }
                body.extend_from_slice(&chunk);
            }
        }
        Ok(Uint8Array::from(body.as_slice()))
    }

    fn bytes(&self, body: &Uint8Array) -> Vec<u8> {
        body.to_vec()
    }

    async fn ask(
        &self,
        request: &ObjectRequest<'_>,
        body: Option<&Uint8Array>,
    ) -> Result<Response, HttpFault> {
        ask(self.env, request, body).await
    }

    async fn file_size(&self, key: &str) -> Result<Option<u64>, FileFault> {
        size_of(self.env, key).await
    }

    async fn file_contents(
        &self,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Option<ReadableStream>, FileFault> {
        contents_of(self.env, key, offset, length).await
    }

    fn secret(&self, name: &str) -> Option<String> {
        variable(self.env, name)
    }

    fn log(&self, line: Value) {
        write_line(&line);
    }
}

/// A whole body, of any size.
pub(super) async fn whole_body(request: &Request) -> Result<Uint8Array, JsValue> {
    settled(&request.array_buffer()?).await.map(|whole| Uint8Array::new(&whole))
}
