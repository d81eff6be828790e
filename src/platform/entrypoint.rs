//! The Worker in front of the objects: it finds the endpoint, lets the caller in, reads the body up
//! to its cap, and hands it to the session's object in one hop.

use std::cell::Cell;

use serde_json::json;
use worker::js_sys::Uint8Array;
use worker::{
    Context, Env, Headers, Method, Request, RequestInit, Response, console_error, console_warn,
    event,
};

use super::answer::{refusal, result, target};
use super::environment::deployment;
use super::runtime::variable;
use crate::contract::{
    ErrorCode, Fault, InvokeResult, SessionId, dictionary, parse, peek_session_id,
};
use crate::entry::{AuthenticationMode, Keyring, Route, Tenant};

thread_local! {
    static OPEN_DOOR_SAID: Cell<bool> = const { Cell::new(false) };
}

#[event(fetch)]
async fn fetch(mut request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    match answer(&mut request, &env).await {
        Ok(answered) => answered,
        Err(faults) => refusal(faults),
    }
}

async fn answer(request: &mut Request, env: &Env) -> Result<worker::Result<Response>, Vec<Fault>> {
    let method = request.method();
    let target = target(request);
    let route = Route::find(method.as_ref(), &target).map_err(one)?;
    if let Some(view) = public_view(&route) {
        return Ok(result(&view));
    }
    let tenant = admit(request, env).map_err(one)?;
    let (session, body) = match route {
        Route::Session(session, _) => (session, None),
        Route::Execute | Route::Health | Route::Errors => {
            let body = read_body(request, deployment(env).map_err(one)?.max_body_bytes).await?;
            (addressee(&body)?, Some(body))
        }
    };
    let last_event_id = request.headers().get("Last-Event-ID").ok().flatten();
    let forwarded = forward(env, &tenant, &session, method, &target, body, last_event_id).await;
    Ok(forwarded.or_else(|fault| {
        console_error!("{}", json!({ "event": "object_failed", "tenant": tenant.as_str(), "fault": fault.to_string() }));
        refusal(vec![Fault::new(
            ErrorCode::Internal,
            "The session's object did not answer. Send the same request again: it is not run twice.",
        )])
    }))
}

fn public_view(route: &Route) -> Option<InvokeResult> {
    match route {
        Route::Health => Some(InvokeResult::success(
            json!({ "Status": "ok", "Version": env!("CARGO_PKG_VERSION") }),
            Vec::new(),
        )),
        Route::Errors => Some(InvokeResult::success(dictionary(), Vec::new())),
        Route::Execute | Route::Session(..) => None,
    }
}

fn admit(request: &Request, env: &Env) -> Result<Tenant, Fault> {
    if AuthenticationMode::from_variable(variable(env, "AUTH").as_deref())
        == AuthenticationMode::None
    {
        if !OPEN_DOOR_SAID.replace(true) {
            console_warn!(
                "AUTH=none: everyone who reaches this service may use it. For local work only."
            );
        }
        return Ok(Tenant::local());
    }
    let keyring = match variable(env, "API_KEYS") {
        None => Keyring::default(),
        Some(text) => Keyring::parse(&text).unwrap_or_else(|fault| {
            console_error!("{fault}. No key opens the door until it is mended.");
            Keyring::default()
        }),
    };
    let authorization = request.headers().get("Authorization").ok().flatten();
    keyring.admit(authorization.as_deref())
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

async fn read_body(request: &mut Request, cap: usize) -> Result<Vec<u8>, Vec<Fault>> {
    let header = |name: &str| request.headers().get(name).ok().flatten();
    if let Some(kind) = header("Content-Type") {
        let kind = kind.split(';').next().unwrap_or(&kind).trim().to_ascii_lowercase();
        if kind != "application/json" && !kind.ends_with("+json") {
            return Err(unsupported("Send the request as Content-Type: application/json."));
        }
    }
    if header("Content-Encoding").is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity"))
    {
        return Err(unsupported("Send the request without Content-Encoding."));
    }
    let announced = header("Content-Length").and_then(|length| length.parse::<usize>().ok());
    match announced {
        Some(length) if length > cap => Err(too_large(cap)),
        // The runtime holds a body to its announced length.
        Some(_) => request.bytes().await.map_err(|_| unreadable()),
        None => {
            let mut body = Vec::new();
            let Ok(mut chunks) = request.stream() else { return Ok(body) };
            while let Some(chunk) = futures_util::StreamExt::next(&mut chunks).await {
                let chunk = chunk.map_err(|_| unreadable())?;
                if body.len() + chunk.len() > cap {
                    return Err(too_large(cap));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(body)
        }
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

fn one(fault: Fault) -> Vec<Fault> {
    vec![fault]
}

fn unsupported(remedy: &str) -> Vec<Fault> {
    one(Fault::new(ErrorCode::UnsupportedMediaType, remedy))
}

fn too_large(cap: usize) -> Vec<Fault> {
    one(Fault::new(
        ErrorCode::BodyTooLarge,
        format!("The body may be {cap} bytes long. Send less."),
    )
    .with("MaxBytes", cap))
}

fn unreadable() -> Vec<Fault> {
    one(Fault::new(
        ErrorCode::MalformedJson,
        "The body could not be read to its end. Send the request again.",
    ))
}
