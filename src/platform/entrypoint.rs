//! The Worker in front of the objects: it finds the endpoint, lets the caller in, reads the body up
//! to its cap, and hands it to the session's object in one hop.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use worker::js_sys::{JSON, Promise, Reflect, Uint8Array, global};
use worker::wasm_bindgen::prelude::wasm_bindgen;
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{Headers, Request};
use worker::{Context, Env, Response, event, web_sys};

use super::answer::{json, refusal, refusal_line, result, target, with_header_lines};
use super::environment::deployment;
use super::gate::{Gate, keep_to_rate};
use super::request_body::read_body;
use super::runtime::write_line;
use crate::contract::{
    ErrorCode, Fault, InvokeResult, SessionId, dictionary, parse, peek_session_id,
};
use crate::entry::{Caller, Route, Tenant, answer_headers, openapi};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An answer, or what is wrong with the request.
type Answered = Result<worker::Result<web_sys::Response>, Vec<Fault>>;

/// Tasks are woken by `Promise.then`: the runtime's `queueMicrotask` costs several times as much.
#[event(start)]
fn prefer_promises() {
    let _ = Reflect::set(&global(), &JsValue::from_str("queueMicrotask"), &JsValue::UNDEFINED);
}

#[event(fetch)]
async fn fetch(
    request: web_sys::Request,
    env: Env,
    _context: Context,
) -> worker::Result<web_sys::Response> {
    let gate = Gate::of(&env);
    let headers = request.headers();
    let origin = gate.permitted_origin(&headers);
    let answered = match preflight(&request, &headers, &gate) {
        Some(told) => told.map_err(|fault| refused(None, one(fault))),
        None => answer(&request, &headers, &env, &gate).await,
    };
    let response = match answered {
        Ok(answered) => answered,
        Err(faults) => refusal(faults).map(Into::into),
    }?;
    match &origin {
        None => Ok(response),
        Some(origin) => with_header_lines(response.into(), &answer_headers(origin)).map(Into::into),
    }
}

/// The answer to a browser that asks before it lets a page call.
fn preflight(
    request: &Request,
    headers: &Headers,
    gate: &Gate,
) -> Option<Result<worker::Result<web_sys::Response>, Fault>> {
    if request.method() != "OPTIONS" {
        return None;
    }
    let header = |name| headers.get(name).ok().flatten();
    let (origin, method) = (header("Origin")?, header("Access-Control-Request-Method")?);
    Some(Route::find(&method, &target(&request.url())).and_then(|_| {
        let told = gate.origins.preflight(&origin, &method)?;
        let told: Vec<_> = told.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let empty = Response::empty();
        Ok(empty.and_then(|empty| with_header_lines(empty.with_status(204), &told)).map(Into::into))
    }))
}

async fn answer(request: &Request, headers: &Headers, env: &Env, gate: &Gate) -> Answered {
    let method = request.method();
    let target = target(&request.url());
    let route = Route::find(&method, &target).map_err(|fault| refused(None, one(fault)))?;
    if let Some(view) = public_view(&route, env) {
        return view.map(|view| view.map(Into::into)).map_err(|fault| refused(None, one(fault)));
    }
    let caller = gate.admit(headers).map_err(|fault| refused(None, one(fault)))?;
    let addressed = admit(request, headers, env, &caller, route).await;
    let (session, body) = addressed.map_err(|faults| refused(Some(&caller), faults))?;
    let position = headers.get("Last-Event-ID").ok().flatten();
    let head = Forwarded {
        method: &method,
        headers: position.iter().map(|position| ("Last-Event-ID", position.as_str())).collect(),
    };
    let forwarded = forward(env, &caller.tenant, &session, &head, &target, body.as_ref()).await;
    Ok(forwarded.or_else(|fault| {
        write_line(&json!({
            "event": "object_failed", "level": "error", "tenant": caller.tenant.as_str(),
            "session": session.as_str(), "fault": format!("{fault:?}"),
        }));
        refusal(vec![Fault::new(
            ErrorCode::Internal,
            "The session's object did not answer. Send the same request again: it is not run twice.",
        )])
        .map(Into::into)
    }))
}

fn public_view(route: &Route, env: &Env) -> Option<Result<worker::Result<Response>, Fault>> {
    match route {
        Route::Health => Some(Ok(result(&InvokeResult::success(
            json!({ "Status": "ok", "Version": VERSION }),
            Vec::new(),
        )))),
        Route::Errors => Some(Ok(result(&InvokeResult::success(dictionary(), Vec::new())))),
        Route::OpenApi => {
            Some(deployment(env).map(|deployment| json(200, &openapi(&deployment, VERSION))))
        }
        Route::Execute | Route::Session(..) => None,
    }
}

/// Counts the request, and finds the session that it is for.
async fn admit(
    request: &Request,
    headers: &Headers,
    env: &Env,
    caller: &Caller,
    route: Route,
) -> Result<(SessionId, Option<Uint8Array>), Vec<Fault>> {
    keep_to_rate(env, caller).await.map_err(one)?;
    match route {
        Route::Session(session, _) => Ok((session, None)),
        Route::Execute | Route::Health | Route::Errors | Route::OpenApi => {
            let cap = deployment(env).map_err(one)?.max_body_bytes;
            let body = read_body(request, headers, cap).await.map_err(one)?;
            Ok((addressee(&body.to_vec())?, Some(body)))
        }
    }
}

/// The object that a submission is for. What names none is refused with everything wrong with it.
fn addressee(body: &[u8]) -> Result<SessionId, Vec<Fault>> {
    match peek_session_id(body) {
        Some(session) => Ok(session),
        None => match parse(body) {
            Ok(request) => Ok(request.session_id().clone()),
            Err(faults) => Err(faults),
        },
    }
}

/// One hop to the session's object. Its answer is handed on as it is.
async fn forward(
    env: &Env,
    tenant: &Tenant,
    session: &SessionId,
    head: &Forwarded<'_>,
    target: &str,
    body: Option<&Uint8Array>,
) -> Result<web_sys::Response, JsValue> {
    let head = serde_json::to_string(head).unwrap_or_default();
    let init: ForwardInit = JSON::parse(&head)?.unchecked_into();
    if let Some(body) = body {
        init.set_body(body);
    }
    let object = AsRef::<JsValue>::as_ref(env)
        .unchecked_ref::<Bindings>()
        .sessions()
        .get_by_name(&tenant.session_name(session.as_str()))?;
    let answer = object.fetch(&format!("https://session{target}"), &init)?;
    JsFuture::from(answer).await.map(JsCast::unchecked_into)
}

/// What the object is told of the request besides its target and body.
#[derive(Serialize)]
struct Forwarded<'a> {
    method: &'a str,
    headers: BTreeMap<&'a str, &'a str>,
}

// `worker` wraps and unwraps requests and responses member by member; each member is a crossing.
#[wasm_bindgen]
extern "C" {
    type Bindings;

    #[wasm_bindgen(method, getter, js_name = SESSIONS)]
    fn sessions(this: &Bindings) -> Namespace;

    type Namespace;

    #[wasm_bindgen(method, catch, js_name = getByName)]
    fn get_by_name(this: &Namespace, name: &str) -> Result<Stub, JsValue>;

    type Stub;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Stub, url: &str, init: &ForwardInit) -> Result<Promise, JsValue>;

    type ForwardInit;

    #[wasm_bindgen(method, setter)]
    fn set_body(this: &ForwardInit, body: &Uint8Array);
}

/// Logs a refusal with who was refused.
fn refused(caller: Option<&Caller>, faults: Vec<Fault>) -> Vec<Fault> {
    let mut line = refusal_line(&faults);
    if let (Some(caller), Some(members)) = (caller, line.as_object_mut()) {
        members.insert("tenant".to_owned(), caller.tenant.as_str().into());
        members.insert("key".to_owned(), caller.key_id.as_str().into());
    }
    write_line(&line);
    faults
}

fn one(fault: Fault) -> Vec<Fault> {
    vec![fault]
}
