//! The Worker in front of the objects: it finds the endpoint, lets the caller in, reads the body up
//! to its cap, and hands it to the session's object in one hop.

use serde_json::json;
use worker::js_sys::{Reflect, Uint8Array, global};
use worker::wasm_bindgen::JsValue;
use worker::web_sys::{Headers, Request};
use worker::{Context, Env, Response, event, web_sys};

use super::answer::{json, origin, refusal, refusal_line, result, target, with_header_lines};
use super::durable_object::{Head, ObjectRequest, ask};
use super::environment::deployment;
use super::file_download::download;
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
        Some(told) => told.map_err(|fault| refused(None, fault.into())),
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
    let url = request.url();
    let target = target(&url);
    let route = Route::find(&method, &target).map_err(|fault| refused(None, fault.into()))?;
    if let Route::File(link) = route {
        return Ok(download(env, link, &method, headers).await);
    }
    if let Some(view) = public_view(&route, env) {
        return view.map(|view| view.map(Into::into)).map_err(|fault| refused(None, fault.into()));
    }
    let caller = gate.admit(headers).map_err(|fault| refused(None, fault.into()))?;
    let addressed = admit(request, headers, env, &caller, route).await;
    let (object, body) = addressed.map_err(|faults| refused(Some(&caller), faults))?;
    let position = headers.get("Last-Event-ID").ok().flatten();
    let (binding, name) = object.address(&caller.tenant);
    let asked = ObjectRequest {
        binding,
        name: &name,
        origin: origin(&url),
        target: &target,
        head: &Head {
            method: &method,
            headers: position.iter().map(|position| ("Last-Event-ID", position.as_str())).collect(),
        },
        body: body.as_ref(),
    };
    Ok(ask(env, &asked).await.or_else(|fault| {
        write_line(&json!({
            "event": "object_failed", "level": "error", "object": name,
            "fault": format!("{fault:?}"),
        }));
        refusal(vec![Fault::new(
            ErrorCode::Internal,
            "The object behind this address did not answer. Send the same request again: nothing is done twice.",
        )])
        .map(Into::into)
    }))
}

/// The object that a request is for.
enum Addressee {
    Session(SessionId),
    Workspace(String),
}

impl Addressee {
    /// The binding of the object's class, and the object's name.
    fn address(&self, tenant: &Tenant) -> (&'static str, String) {
        match self {
            Self::Session(session) => ("SESSIONS", tenant.object_name(session.as_str())),
            Self::Workspace(workspace) => ("WORKSPACES", tenant.object_name(workspace)),
        }
    }
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
        Route::Execute | Route::Session(..) | Route::Workspace(..) | Route::File(_) => None,
    }
}

/// Counts the request, reads its body, and finds the object that it is for.
async fn admit(
    request: &Request,
    headers: &Headers,
    env: &Env,
    caller: &Caller,
    route: Route,
) -> Result<(Addressee, Option<Uint8Array>), Vec<Fault>> {
    keep_to_rate(env, caller).await?;
    let body = async || {
        let cap = deployment(env)?.max_body_bytes;
        read_body(request, headers, cap).await
    };
    match route {
        Route::Session(session, _) => Ok((Addressee::Session(session), None)),
        Route::Workspace(workspace, route) => {
            let body = if route.has_body() { Some(body().await?) } else { None };
            Ok((Addressee::Workspace(workspace), body))
        }
        Route::Execute | Route::File(_) | Route::Health | Route::Errors | Route::OpenApi => {
            let body = body().await?;
            Ok((Addressee::Session(session_of(&body.to_vec())?), Some(body)))
        }
    }
}

/// The session that a submission is for. What names none is refused with everything wrong with it.
fn session_of(body: &[u8]) -> Result<SessionId, Vec<Fault>> {
    match peek_session_id(body) {
        Some(session) => Ok(session),
        None => match parse(body) {
            Ok(request) => Ok(request.session_id().clone()),
            Err(faults) => Err(faults),
        },
    }
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
