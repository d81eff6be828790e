//! The playground's files, which are the deployment's static assets.

use wasm_bindgen::JsCast;
use worker::Env;
use worker::web_sys::{Request, Response};

use super::bindings::stub::Stub;
use super::promise::settled;
use super::variables::binding;

/// The response to a request with a file; `None` where there is none, or the deployment has no files at all.
pub(super) async fn page_file(env: &Env, request: &Request, path: &str) -> Option<Response> {
    let assets = binding(env, "ASSETS")?.unchecked_into::<Stub>();
    // Only the path of the address counts; method and headers are the request's own.
    let sent = assets.fetch(&["https://page", path].concat(), request.unchecked_ref()).ok()?;
    let response: Response = settled(&sent).await.ok()?.unchecked_into();
    (response.status() != 404).then_some(response)
}
