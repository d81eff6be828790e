//! A request to one of this Worker's objects, by class and name.

use serde_json::json;
use worker::Env;
use worker::js_sys::{JSON, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::{RequestInit, Response};

use super::bindings::namespace::Namespace;
use super::promise::settled;
use super::variables::binding;
use crate::ports::{HttpFault, ObjectClass, ObjectRequest};

pub(super) async fn ask(
    env: &Env,
    request: &ObjectRequest<'_>,
    body: Option<&Uint8Array>,
) -> Result<Response, HttpFault> {
    let name = match request.class {
        ObjectClass::Session => "SESSIONS",
        ObjectClass::Workspace => "WORKSPACES",
    };
    let namespace = binding(env, name)
        .ok_or_else(|| HttpFault(format!("The deployment binds no Durable Object as {name}.")))?;
    Ok(send(&namespace.unchecked_into(), request, body).await?)
}

async fn send(
    namespace: &Namespace,
    request: &ObjectRequest<'_>,
    body: Option<&Uint8Array>,
) -> Result<Response, JsValue> {
    let mut head = json!({ "method": request.method, "headers": {} });
    if let Some(position) = &request.last_event_id {
        head = json!({ "method": request.method, "headers": { "Last-Event-ID": position } });
    }
    let init: RequestInit = JSON::parse(&head.to_string())?.unchecked_into();
    if let Some(body) = body {
        init.set_body(body);
    }
    let object = namespace.get_by_name(&request.name)?;
    settled(&object.fetch(request.url, &init)?).await.map(JsCast::unchecked_into)
}
