//! Requests and questions to one of this Worker's objects, by class and name.

use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::JsCast;
use worker::Env;
use worker::web_sys::{RequestInit, Response};
use worker::worker_sys::DurableObjectNamespace;

use super::bindings::stub::Stub;
use super::clock::now_ms;
use super::promise::settled;
use super::request_body::Sending;
use super::values::to_js;
use super::variables::binding;
use crate::ports::{HttpFault, ObjectClass, ObjectQuestion, ObjectRequest, RequestBody};

/// A `RequestInit`.
#[derive(Serialize)]
struct Head<'a> {
    method: &'a str,
    headers: Value,
}

pub(super) async fn ask(
    env: &Env,
    request: &ObjectRequest<'_>,
    body: Option<impl RequestBody>,
) -> Result<Response, HttpFault> {
    let name = match request.class {
        ObjectClass::Session => "SESSIONS",
        ObjectClass::User => "USERS",
        ObjectClass::Workspace => "WORKSPACES",
        ObjectClass::McpLists => "MCP_LISTS",
        ObjectClass::KeySet => "KEY_SETS",
    };
    let namespace = binding(env, name)
        .ok_or_else(|| HttpFault(format!("The deployment binds no Durable Object as {name}.")))?;
    let head = Head { method: request.method, headers: request.headers() };
    let init: RequestInit = to_js(&head)?.unchecked_into();
    let sending = body.map(|body| Sending::begin(&init, body)).transpose()?;
    let object = namespace.unchecked_into::<DurableObjectNamespace>().get_by_name(&request.name)?;
    let sent = object.unchecked_into::<Stub>().fetch(request.url, &init)?;
    let response = match sending {
        Some(sending) => sending.response(&sent).await?,
        None => settled(&sent).await?,
    };
    Ok(response.unchecked_into())
}

/// Posts a question to an object, and returns the text of its response.
pub(super) async fn ask_question(
    env: &Env,
    name: &str,
    question: ObjectQuestion,
    body: String,
) -> Result<String, HttpFault> {
    let request = ObjectRequest {
        class: question.class(),
        name: name.to_owned(),
        method: "POST",
        url: &format!("https://object{}", question.path()),
        last_event_id: None,
        prefer: None,
        trace: None,
        received_at: now_ms(),
        request_id: "",
        caller: "",
    };
    let response = ask(env, &request, Some(body)).await?;
    let text = settled(&response.text()?).await?;
    text.as_string().ok_or_else(|| HttpFault("The response is no text.".to_owned()))
}
