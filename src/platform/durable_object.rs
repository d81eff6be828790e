//! Requests and questions to one of this Worker's objects, by class and name, in the place of its tenant: no other file
//! names an object.

use std::cell::RefCell;

use serde_json::json;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::Reflect;
use worker::web_sys::Response;
use worker::worker_sys::DurableObjectNamespace;

use super::bindings::messages::{self, ask_bytes, bytes_of, object_at};
use super::bindings::plain::WholeNamespace;
use super::clock::now_ms;
use super::promise::settled;
use super::request_body::{Sending, SentBody};
use super::variables::{binding, tenants};
use crate::encoding::Jurisdiction;
use crate::identity::ObjectPlace;
use crate::ports::{
    HttpFault, INNER_PROTOCOL, ObjectClass, ObjectQuestion, ObjectRequest, RequestBody,
};

thread_local! {
    /// The jurisdictions that the runtime is known to have.
    static OFFERED: RefCell<Vec<Jurisdiction>> = const { RefCell::new(Vec::new()) };
}

fn unbound(name: &str) -> HttpFault {
    HttpFault::Lost(format!("The deployment binds no Durable Object as {name}."))
}

/// The deployment's objects of a class, in a jurisdiction where there is one.
fn namespace(
    env: &Env,
    class: ObjectClass,
    jurisdiction: Option<Jurisdiction>,
) -> Result<DurableObjectNamespace, HttpFault> {
    let name = class.as_str();
    let namespace = binding(env, name).ok_or_else(|| unbound(name))?;
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
    let tenants = tenants.as_ref().as_ref();
    let tenants = tenants.map_err(|fault| HttpFault::Lost(fault.message.clone()))?;
    let ObjectPlace { name, jurisdiction, placement } = tenants.place(request.class, &request.name);
    let bound = request.class.as_str();
    let jurisdiction = jurisdiction.map(|jurisdiction| jurisdiction.as_str());
    let placement = placement.map(|placement| placement.as_str());
    let object = object_at(env, bound, jurisdiction, &name, placement)?;
    let object = object.ok_or_else(|| unbound(bound))?;
    let head = json!({ "method": request.method, "headers": request.headers() }).to_string();
    let url = request.url;
    let (body, sending) = Sending::begin(body)?;
    let asked = match body {
        SentBody::Whole(bytes) => ask_bytes(&object, url, &head, &bytes)?,
        SentBody::Other(body) => messages::ask(&object, url, &head, &body)?,
    };
    Ok(sending.response(&asked).await.map_err(fault_of_object)?.unchecked_into())
}

/// Why an object gave no response. The runtime marks what passes, and what began again for lack of memory or time, which
/// the same request may have cost.
fn fault_of_object(fault: JsValue) -> HttpFault {
    let is = |name: &str| {
        Reflect::get(&fault, &JsValue::from_str(name)).is_ok_and(|marked| marked.is_truthy())
    };
    let passes = is("retryable") || (is("durableObjectReset") && !is("overloaded"));
    let fault = HttpFault::from(fault);
    if passes { HttpFault::Passing(fault.to_string()) } else { fault }
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
        url: &format!("https://object{}", question.as_str()),
        last_event_id: None,
        prefer: None,
        trace: None,
        received_at: now_ms(),
        request_id: "",
        caller: "",
    };
    let response = ask(env, &request, Some(body)).await?;
    HttpFault::unless_reply(response.status())?;
    let text = bytes_of(&settled(&response.array_buffer()?).await?);
    String::from_utf8(text).map_err(|_| HttpFault::Lost("The response is no text.".to_owned()))
}
