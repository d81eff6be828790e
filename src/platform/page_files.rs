//! The playground's files, which are the deployment's static assets.

use worker::Env;
use worker::wasm_bindgen::JsCast;
use worker::web_sys::{RequestInit, Response};

use super::bindings::stub::Stub;
use super::promise::settled;
use super::variables::binding;
use crate::ports::HttpFault;

/// The response to a request for a file; `None` where it has none, or the deployment no files at all.
pub(super) async fn page_file(
    env: &Env,
    method: &str,
    path: &str,
) -> Result<Option<Response>, HttpFault> {
    let Some(assets) = binding(env, "ASSETS") else { return Ok(None) };
    let init = RequestInit::new();
    init.set_method(method);
    // Only the path counts.
    let sent = assets.unchecked_into::<Stub>().fetch(&format!("https://page{path}"), &init)?;
    let response: Response = settled(&sent).await?.unchecked_into();
    Ok(response.ok().then_some(response))
}
