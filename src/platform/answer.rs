//! Answers as the runtime sends them.

use serde_json::Value;
use worker::{Headers, Response};

use crate::contract::{Fault, InvokeResult};

/// The longest period that the platform's rate limiter counts over, in seconds: after it there is
/// room again.
const RATE_PERIOD_S: &str = "60";

/// What a request asks for: its path, with its query when it has one. Cut from the runtime's own,
/// normalized URL; a URL library would be a sixth of the bundle.
pub(super) fn target(url: &str) -> String {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let target = authority.find('/').and_then(|start| authority.get(start..)).unwrap_or("/");
    target.split('#').next().unwrap_or(target).to_owned()
}

/// Where the caller reached the deployment: scheme and authority.
pub(super) fn origin(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(authority..).and_then(|rest| rest.find(['/', '?', '#']));
    end.and_then(|end| url.get(..authority + end)).unwrap_or(url)
}

/// A JSON answer.
pub(super) fn json(status: u16, body: &str) -> worker::Result<Response> {
    Ok(Response::ok(body)?.with_headers(json_headers()?).with_status(status))
}

/// The headers of a JSON answer.
pub(super) fn json_headers() -> worker::Result<Headers> {
    let headers = Headers::new();
    headers.set("Content-Type", "application/json; charset=utf-8")?;
    headers.set("Cache-Control", "no-store")?;
    Ok(headers)
}

/// The same response with more headers. Those of a response that came from elsewhere cannot be
/// changed in place.
pub(super) fn with_header_lines(
    response: Response,
    lines: &[(&str, &str)],
) -> worker::Result<Response> {
    let headers = response.headers().clone();
    for (name, value) in lines {
        headers.set(name, value)?;
    }
    Ok(response.with_headers(headers))
}

/// An `InvokeResult`.
pub(super) fn result(result: &InvokeResult) -> worker::Result<Response> {
    json(result.http_status(), &result.to_json())
}

/// A refusal as a line of the operator's log: why, never what was sent.
pub(super) fn refusal_line(faults: &[Fault]) -> Value {
    let codes: Vec<&str> = faults.iter().map(|fault| fault.code.as_str()).collect();
    let status = faults.first().map_or(500, Fault::http_status);
    serde_json::json!({
        "event": "refused",
        "level": if status < 500 { "warn" } else { "error" },
        "http_status": status,
        "codes": codes,
    })
}

/// A refusal, with the headers that its code asks for.
pub(super) fn refusal(faults: Vec<Fault>) -> worker::Result<Response> {
    let allowed = faults
        .first()
        .and_then(|fault| fault.details.as_ref())
        .and_then(|details| details.get("Allowed"))
        .and_then(|allowed| allowed.as_str())
        .map(str::to_owned);
    let refused = InvokeResult::failure(faults);
    let mut response = result(&refused)?;
    match refused.http_status() {
        401 => response.headers_mut().set("WWW-Authenticate", "Bearer")?,
        429 => response.headers_mut().set("Retry-After", RATE_PERIOD_S)?,
        405 => response.headers_mut().set("Allow", allowed.as_deref().unwrap_or("GET"))?,
        _ => {}
    }
    Ok(response)
}
