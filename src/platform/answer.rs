//! Answers as the runtime sends them.

use worker::{Headers, Request, Response};

use crate::contract::{Fault, InvokeResult};

/// What a request asks for: its path, with its query when it has one. Cut from the runtime's own,
/// normalized text; a URL library would be a sixth of the bundle.
pub(super) fn target(request: &Request) -> String {
    let url = request.inner().url();
    let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let target = authority.find('/').and_then(|start| authority.get(start..)).unwrap_or("/");
    target.split('#').next().unwrap_or(target).to_owned()
}

/// A JSON answer.
pub(super) fn json(status: u16, body: &str) -> worker::Result<Response> {
    let headers = Headers::new();
    headers.set("Content-Type", "application/json; charset=utf-8")?;
    headers.set("Cache-Control", "no-store")?;
    Ok(Response::ok(body)?.with_headers(headers).with_status(status))
}

/// An `InvokeResult`.
pub(super) fn result(result: &InvokeResult) -> worker::Result<Response> {
    json(result.http_status(), &result.to_json())
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
        405 => response.headers_mut().set("Allow", allowed.as_deref().unwrap_or("GET"))?,
        _ => {}
    }
    Ok(response)
}
