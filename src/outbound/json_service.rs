//! A call of an HTTP tool or a retrieval service: one `POST` of JSON, one JSON response (interface §6,
//! §7).
//!
//! Neither a failure nor a response holds the secrets that were sent, because the client and the model
//! may see it. A failure holds no address and no words of the service either.

use std::pin::pin;

use futures_util::future::{Either, select};
use serde_json::value::RawValue;

use super::redaction::SentSecrets;
use super::secret_headers::SecretHeaders;
use crate::catalog::HttpService;
use crate::ports::{
    CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, Platform, ResponseBody,
};

/// The most redirects that are followed, to the same host only.
const MAX_REDIRECTS: usize = 3;

/// Why a service gave no usable response. The client and the model may read the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServiceFailure {
    /// A secret that a header names cannot be used.
    #[error("{0}")]
    Secret(String),
    /// No response, or one that broke off.
    #[error("it could not be reached")]
    Unreachable,
    /// The time limit, in milliseconds.
    #[error("it did not answer within {0} ms")]
    TimedOut(u64),
    /// A status that is not a success.
    #[error("it answered with status {0}")]
    Status(u16),
    /// A redirect to another origin.
    #[error("it redirected to another host, which is not followed")]
    RedirectedAway,
    /// The limit, in bytes.
    #[error("its answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The body is not one JSON value in UTF-8.
    #[error("its answer is not JSON")]
    NotJson,
}

impl From<HttpFault> for ServiceFailure {
    fn from(_: HttpFault) -> Self {
        Self::Unreachable
    }
}

/// Posts JSON to a service and returns the JSON text of its response, of at most `longest` bytes as the
/// service wrote it. `***` stands for each secret that was sent.
pub async fn post<P: Platform>(
    platform: &P,
    service: &HttpService,
    body: String,
    longest: usize,
) -> Result<String, ServiceFailure> {
    let HttpService { url, headers, timeout_ms } = service;
    let SecretHeaders { headers, secrets } =
        SecretHeaders::expand(platform, headers).map_err(ServiceFailure::Secret)?;
    let request = HttpRequest { method: HttpMethod::Post, url: url.clone(), headers, body };
    let response = pin!(exchange(platform, request, longest));
    let time_out = pin!(platform.sleep(*timeout_ms));
    match select(response, time_out).await {
        Either::Left((response, _)) => {
            let read = json_of(response?)?;
            if read.len() > CHUNK_BYTES {
                platform.breathe().await;
            }
            let secrets = SentSecrets::of(&secrets);
            Ok(secrets.removed_from(read, async || platform.breathe().await).await)
        }
        Either::Right(_) => Err(ServiceFailure::TimedOut(*timeout_ms)),
    }
}

async fn exchange<P: Platform>(
    platform: &P,
    mut request: HttpRequest,
    longest: usize,
) -> Result<Vec<u8>, ServiceFailure> {
    for _ in 0..=MAX_REDIRECTS {
        let response = platform.send(request.clone()).await?;
        match response.status {
            200..=299 => {
                let body = read(response, longest).await?;
                if body.len() > CHUNK_BYTES {
                    platform.breathe().await;
                }
                return Ok(body);
            }
            // Any other redirect would turn the call into a GET.
            307 | 308 => {
                let location = response.header("location").unwrap_or_default();
                request.url =
                    same_host(&request.url, location).ok_or(ServiceFailure::RedirectedAway)?;
            }
            status => return Err(ServiceFailure::Status(status)),
        }
    }
    Err(ServiceFailure::Unreachable)
}

async fn read<B: ResponseBody>(
    mut response: HttpResponse<B>,
    longest: usize,
) -> Result<Vec<u8>, ServiceFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.body.chunk(longest).await? {
        if body.len() + chunk.len() > longest {
            return Err(ServiceFailure::TooLarge(longest));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The JSON text of a body.
fn json_of(body: Vec<u8>) -> Result<String, ServiceFailure> {
    let text = String::from_utf8(body).map_err(|_| ServiceFailure::NotJson)?;
    match serde_json::from_str::<&RawValue>(&text) {
        Ok(json) if json.get().len() < text.len() => Ok(json.get().to_owned()),
        Ok(_) => Ok(text),
        Err(_) => Err(ServiceFailure::NotJson),
    }
}

/// The redirect's target, if scheme, host and port stay the same.
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
    use super::same_host;

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
            (
                "https://tools.example:8443\\@evil.example/b",
                Some("https://tools.example:8443\\@evil.example/b"),
            ),
            ("b", None),
            ("", None),
        ] {
            assert_eq!(same_host(from, location).as_deref(), target, "{location}");
        }
    }
}
