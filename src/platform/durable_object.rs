//! Requests and questions to one of this Worker's objects, by class and name, in the place of its tenant: no other file
//! names an object.

use std::cell::RefCell;

use serde::Serialize;
use serde_json::Value;
use wasm_bindgen::JsCast;
use worker::Env;
use worker::web_sys::{RequestInit, Response};
use worker::worker_sys::DurableObjectNamespace;

use super::bindings::namespace::WholeNamespace;
use super::bindings::stub::Stub;
use super::clock::now_ms;
use super::promise::settled;
use super::request_body::Sending;
use super::tenants::tenants;
use super::values::to_js;
use super::variables::binding;
use crate::encoding::Jurisdiction;
use crate::identity::ObjectPlace;
use crate::ports::{
    HttpFault, INNER_PROTOCOL, ObjectClass, ObjectQuestion, ObjectRequest, RequestBody,
};

/// The status under which an object of another version refuses a question; no reply has it.
pub(super) const REFUSED: u16 = 503;

thread_local! {
    /// The jurisdictions that the runtime is known to have.
    static OFFERED: RefCell<Vec<Jurisdiction>> = const { RefCell::new(Vec::new()) };
}

/// A `RequestInit`.
#[derive(Serialize)]
struct Head<'a> {
    method: &'a str,
    headers: Value,
}

/// A `DurableObjectNamespaceGetDurableObjectOptions`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hint<'a> {
    location_hint: &'a str,
}

/// The deployment's objects of a class, in a jurisdiction where there is one.
fn namespace(
    env: &Env,
    class: ObjectClass,
    jurisdiction: Option<Jurisdiction>,
) -> Result<DurableObjectNamespace, HttpFault> {
    let name = match class {
        ObjectClass::Session => "SESSIONS",
        ObjectClass::User => "USERS",
        ObjectClass::Workspace => "WORKSPACES",
        ObjectClass::McpLists => "MCP_LISTS",
        ObjectClass::KeySet => "KEY_SETS",
    };
    let namespace = binding(env, name)
        .ok_or_else(|| HttpFault(format!("The deployment binds no Durable Object as {name}.")))?;
    Ok(match jurisdiction {
        Some(name) => namespace.unchecked_into::<WholeNamespace>().jurisdiction(name.as_str())?,
        None => namespace.unchecked_into(),
    })
}

/// Whether the runtime holds objects to a jurisdiction.
pub(super) fn offers(env: &Env, jurisdiction: Jurisdiction) -> bool {
    OFFERED.with_borrow_mut(|known| {
        if !known.contains(&jurisdiction) {
            if namespace(env, ObjectClass::Session, Some(jurisdiction)).is_err() {
                return false;
            }
            known.push(jurisdiction);
        }
        true
    })
}

/// The id of the object at a place.
pub(super) fn id_at(
    env: &Env,
    class: ObjectClass,
    place: &ObjectPlace<'_>,
) -> Result<String, HttpFault> {
    let namespace = namespace(env, class, place.jurisdiction)?;
    Ok(namespace.id_from_name(&place.name)?.to_string()?)
}

pub(super) async fn ask(
    env: &Env,
    request: &ObjectRequest<'_>,
    body: Option<impl RequestBody>,
) -> Result<Response, HttpFault> {
    let tenants = tenants(env);
    let tenants = tenants.as_ref().as_ref().map_err(|fault| HttpFault(fault.message.clone()))?;
    let ObjectPlace { name, jurisdiction, placement } = tenants.place(request.class, &request.name);
    let namespace = namespace(env, request.class, jurisdiction)?;
    let head = Head { method: request.method, headers: request.headers() };
    let init: RequestInit = to_js(&head)?.unchecked_into();
    let sending = body.map(|body| Sending::begin(&init, body)).transpose()?;
    let object = match placement {
        Some(placement) => {
            let hint = to_js(&Hint { location_hint: placement.as_str() })?;
            namespace.get_by_name_with_options(&name, &hint)?
        }
        None => namespace.get_by_name(&name)?,
    };
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
        protocol: INNER_PROTOCOL,
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
    if response.status() == REFUSED {
        return Err(HttpFault::of_other_version());
    }
    let text = settled(&response.text()?).await?;
    text.as_string().ok_or_else(|| HttpFault("The response is no text.".to_owned()))
}
