//! HTTP tools (interface.md section 6): one `POST` with the call, one JSON answer.
//!
//! A tool's address, headers and secrets never appear in a failure: it may reach the client.

use std::pin::pin;

use futures_util::future::{Either, select};
use serde::Serialize;
use serde_json::value::RawValue;

use super::ToolInvocation;
use crate::catalog::{SecretFault, ServerTool};
use crate::pipeline::{HttpFault, HttpRequest, HttpResponse, Platform, ResponseBody};

/// The largest answer that is read, in bytes. It goes to the model and into the transcript.
const MAX_ANSWER_BYTES: usize = 1_000_000;

/// Redirects that are followed, to the same host only.
const MAX_REDIRECTS: usize = 3;

/// Why a tool gave no result. The text is meant for the client and the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ToolFailure {
    #[error("its arguments are not valid JSON")]
    Arguments,
    #[error(transparent)]
    Secret(#[from] SecretFault),
    #[error("it could not be reached")]
    Unreachable,
    #[error("it did not answer within {0} ms")]
    TimedOut(u64),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it redirected to another host, which is not followed")]
    RedirectedAway,
    #[error("its answer is larger than {MAX_ANSWER_BYTES} bytes")]
    TooLarge,
    #[error("its answer is not JSON")]
    NotJson,
}

impl ToolFailure {
    /// The model can do better the next time; the tool itself did not fail.
    pub(super) fn models_fault(&self) -> bool {
        matches!(self, Self::Arguments)
    }
}

impl From<HttpFault> for ToolFailure {
    fn from(_: HttpFault) -> Self {
        Self::Unreachable
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ToolRequest<'a> {
    tool_call_id: &'a str,
    name: &'a str,
    arguments: &'a RawValue,
    session_id: &'a str,
    turn_id: &'a str,
}

/// Calls the tool and gives the JSON text of its answer.
pub(super) async fn call<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<String, ToolFailure> {
    let request = request(platform, tool, invocation)?;
    let answer = pin!(exchange(platform, request));
    let time_out = pin!(platform.sleep(tool.http.timeout_ms));
    match select(answer, time_out).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(ToolFailure::TimedOut(tool.http.timeout_ms)),
    }
}

fn request<P: Platform>(
    platform: &P,
    tool: &ServerTool,
    invocation: ToolInvocation<'_>,
) -> Result<HttpRequest, ToolFailure> {
    let arguments = match invocation.arguments.trim() {
        // Some services write nothing for a call without arguments.
        "" => "{}",
        arguments => arguments,
    };
    let body = serde_json::to_string(&ToolRequest {
        tool_call_id: invocation.call_id,
        name: invocation.name,
        arguments: serde_json::from_str(arguments).map_err(|_| ToolFailure::Arguments)?,
        session_id: invocation.session_id.as_str(),
        turn_id: invocation.turn_id.as_str(),
    })
    .map_err(|_| ToolFailure::Arguments)?;
    let mut headers = Vec::with_capacity(tool.http.headers.len());
    for header in &tool.http.headers {
        let value = header
            .value
            .expand(|name| platform.secret(name))?;
        headers.push((header.name.clone(), value));
    }
    Ok(HttpRequest { url: tool.http.url.clone(), headers, body })
}

async fn exchange<P: Platform>(platform: &P, mut request: HttpRequest) -> Result<String, ToolFailure> {
    for _ in 0..=MAX_REDIRECTS {
        let response = platform.send(request.clone()).await?;
        match response.status {
            200..=299 => return read(response).await,
            // The other redirects would turn the call into a GET.
            307 | 308 => {
                let location = response.header("location").unwrap_or_default();
                request.url = same_host(&request.url, location).ok_or(ToolFailure::RedirectedAway)?;
            }
            status => return Err(ToolFailure::Status(status)),
        }
    }
    Err(ToolFailure::Unreachable)
}

async fn read<B: ResponseBody>(mut response: HttpResponse<B>) -> Result<String, ToolFailure> {
    let mut answer = Vec::new();
    while let Some(chunk) = response.body.chunk().await? {
        if answer.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Err(ToolFailure::TooLarge);
        }
        answer.extend_from_slice(&chunk);
    }
    let text = String::from_utf8(answer).map_err(|_| ToolFailure::NotJson)?;
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(json) => Ok(json.get().to_owned()),
        Err(_) => Err(ToolFailure::NotJson),
    }
}

/// The redirect's target when scheme, host and port stay what they are.
fn same_host(from: &str, location: &str) -> Option<String> {
    let origin = origin(from)?;
    if location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\") {
        return Some(format!("{origin}{location}"));
    }
    let there = self::origin(location)?;
    there.eq_ignore_ascii_case(origin).then(|| location.to_owned())
}

/// `scheme://authority` of an absolute URL.
fn origin(url: &str) -> Option<&str> {
    let authority = url.find("://")? + 3;
    let length = url.get(authority..)?.find(['/', '?', '#', '\\']);
    url.get(..length.map_or(url.len(), |length| authority + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_followed_on_the_same_host_only() {
        let from = "https://tools.example:8443/a?x=1";
        for (location, target) in [
            ("/b", Some("https://tools.example:8443/b")),
            ("https://tools.example:8443/b", Some("https://tools.example:8443/b")),
            ("https://TOOLS.example:8443/b", Some("https://TOOLS.example:8443/b")),
            ("https://tools.example/b", None),
            ("http://tools.example:8443/b", None),
            ("//evil.example/b", None),
            ("/\\evil.example", None),
            ("https://tools.example:8443@evil.example/b", None),
            ("https://tools.example:8443\\@evil.example/b", Some("https://tools.example:8443\\@evil.example/b")),
            ("b", None),
            ("", None),
        ] {
            assert_eq!(same_host(from, location).as_deref(), target, "{location}");
        }
    }
}
