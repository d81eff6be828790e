//! The Worker in front of the objects: it finds the endpoint, lets the caller in, reads the body up
//! to its cap, and hands it to the session's object in one hop.

use serde_json::json;
use worker::js_sys::Uint8Array;
use worker::{Context, Env, Headers, Method, Request, RequestInit, Response, event};

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

#[event(fetch)]
async fn fetch(mut request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    let gate = Gate::of(&env);
    let origin = gate.permitted_origin(request.headers());
    let answered = match preflight(&request, &gate) {
        Some(told) => told.map_err(|fault| refused(None, one(fault))),
        None => answer(&mut request, &env, &gate).await,
    };
    let response = match answered {
        Ok(answered) => answered,
        Err(faults) => refusal(faults),
    }?;
    match &origin {
        None => Ok(response),
        Some(origin) => with_header_lines(response, &answer_headers(origin)),
    }
}

/// The answer to a browser that asks before it lets a page call.
fn preflight(request: &Request, gate: &Gate) -> Option<Result<worker::Result<Response>, Fault>> {
    if request.method() != Method::Options {
        return None;
    }
    let header = |name| request.headers().get(name).ok().flatten();
    let (origin, method) = (header("Origin")?, header("Access-Control-Request-Method")?);
    Some(Route::find(&method, &target(request)).and_then(|_| {
        let told = gate.origins.preflight(&origin, &method)?;
        let told: Vec<_> = told.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(Response::empty().and_then(|empty| with_header_lines(empty.with_status(204), &told)))
    }))
}

async fn answer(
    request: &mut Request,
    env: &Env,
    gate: &Gate,
) -> Result<worker::Result<Response>, Vec<Fault>> {
    let method = request.method();
    let target = target(request);
    let route = Route::find(method.as_ref(), &target).map_err(|fault| refused(None, one(fault)))?;
    if let Some(view) = public_view(&route, env) {
        return view.map_err(|fault| refused(None, one(fault)));
    }
    let caller = gate.admit(request).map_err(|fault| refused(None, one(fault)))?;
    let addressed = admit(request, env, &caller, route).await;
    let (session, body) = addressed.map_err(|faults| refused(Some(&caller), faults))?;
    let last_event_id = request.headers().get("Last-Event-ID").ok().flatten();
    let forwarded = forward(env, &caller.tenant, &session, method, &target, body, last_event_id);
    Ok(forwarded.await.or_else(|fault| {
        write_line(&json!({
            "event": "object_failed", "level": "error", "tenant": caller.tenant.as_str(),
            "session": session.as_str(), "fault": fault.to_string(),
        }));
        refusal(vec![Fault::new(
            ErrorCode::Internal,
            "The session's object did not answer. Send the same request again: it is not run twice.",
        )])
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
    request: &mut Request,
    env: &Env,
    caller: &Caller,
    route: Route,
) -> Result<(SessionId, Option<Vec<u8>>), Vec<Fault>> {
    keep_to_rate(env, caller).await.map_err(one)?;
    match route {
        Route::Session(session, _) => Ok((session, None)),
        Route::Execute | Route::Health | Route::Errors | Route::OpenApi => {
            let cap = deployment(env).map_err(one)?.max_body_bytes;
            let body = read_body(request, cap).await.map_err(one)?;
            Ok((addressee(&body)?, Some(body)))
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

async fn forward(
    env: &Env,
    tenant: &Tenant,
    session: &SessionId,
    method: Method,
    target: &str,
    body: Option<Vec<u8>>,
    last_event_id: Option<String>,
) -> worker::Result<Response> {
    let object =
        env.durable_object("SESSIONS")?.get_by_name(&tenant.session_name(session.as_str()))?;
    let headers = Headers::new();
    if let Some(position) = last_event_id {
        headers.set("Last-Event-ID", &position)?;
    }
    let mut init = RequestInit::new();
    init.with_method(method)
        .with_headers(headers)
        .with_body(body.map(|body| Uint8Array::from(body.as_slice()).into()));
    object
        .fetch_with_request(Request::new_with_init(&format!("https://session{target}"), &init)?)
        .await
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
