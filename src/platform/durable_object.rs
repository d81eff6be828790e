//! One hop to an object of this Worker, by its binding and name.
//!
//! `worker` wraps and unwraps requests and responses member by member; each member is a crossing.
//! Here the head of a request crosses as one text, and the answer as it is.

use std::collections::BTreeMap;

use serde::Serialize;
use worker::Env;
use worker::js_sys::{JSON, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::Response;

use super::promise::settled;

/// A request to an object.
pub(super) struct ObjectRequest<'a> {
    /// The binding of the object's class.
    pub(super) binding: &'a str,
    /// The object's name.
    pub(super) name: &'a str,
    /// Scheme and authority of the caller's request.
    pub(super) origin: &'a str,
    /// Path, and query when there is one.
    pub(super) target: &'a str,
    pub(super) head: &'a Head<'a>,
    pub(super) body: Option<&'a Uint8Array>,
}

/// What the object is told besides target and body.
#[derive(Serialize)]
pub(super) struct Head<'a> {
    pub(super) method: &'a str,
    pub(super) headers: BTreeMap<&'a str, &'a str>,
}

#[wasm_bindgen]
extern "C" {
    type Namespace;

    #[wasm_bindgen(method, catch, js_name = getByName)]
    fn get_by_name(this: &Namespace, name: &str) -> Result<Stub, JsValue>;

    type Stub;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Stub, url: &str, init: &Init) -> Result<Promise, JsValue>;

    type Init;

    #[wasm_bindgen(method, setter)]
    fn set_body(this: &Init, body: &Uint8Array);
}

/// Asks the object.
pub(super) async fn ask(env: &Env, request: &ObjectRequest<'_>) -> Result<Response, JsValue> {
    let head = serde_json::to_string(request.head).unwrap_or_default();
    let init: Init = JSON::parse(&head)?.unchecked_into();
    if let Some(body) = request.body {
        init.set_body(body);
    }
    let namespace = Reflect::get(env.as_ref(), &JsValue::from_str(request.binding))?;
    if namespace.is_undefined() {
        let fault = format!("The deployment binds no Durable Object as {}.", request.binding);
        return Err(JsValue::from_str(&fault));
    }
    let object = namespace.unchecked_into::<Namespace>().get_by_name(request.name)?;
    let answer = object.fetch(&format!("{}{}", request.origin, request.target), &init)?;
    settled(&answer).await.map(JsCast::unchecked_into)
}
