//! Requests to one service of the operator's: headers with their secrets, redirects, and responses without the secrets
//! that were sent (interface §6).
//!
//! Clients and the model may see failures and responses, so neither holds a secret that was sent. A failure holds no
//! address and no words of the service either.

use std::borrow::Cow;

use super::redaction::SentSecrets;
use super::secret_headers::SecretHeaders;
use crate::catalog::HttpService;
use crate::ports::{
    CHUNK_BYTES, HttpFault, HttpMethod, HttpRequest, HttpResponse, Platform, ResponseBody,
    with_timeout,
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
    #[error("it answered with status {status}")]
    Status {
        status: u16,
        /// How long the service asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
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

impl ServiceFailure {
    /// What it is, in one word, or the status.
    pub fn error_type(&self) -> Cow<'static, str> {
        match self {
            Self::Secret(_) => "secret".into(),
            Self::Unreachable => "unreachable".into(),
            Self::TimedOut(_) => "timeout".into(),
            Self::Status { status, .. } => status.to_string().into(),
            Self::RedirectedAway => "redirected".into(),
            Self::TooLarge(_) => "too_large".into(),
            Self::NotJson => "not_json".into(),
        }
    }
}

impl From<HttpFault> for ServiceFailure {
    fn from(_: HttpFault) -> Self {
        Self::Unreachable
    }
}

/// A service, and the secrets that its headers hold.
pub struct Service<'a, P> {
    pub(super) platform: &'a P,
    url: Cow<'a, str>,
    headers: SecretHeaders,
}

impl<'a, P: Platform> Service<'a, P> {
    /// Looks the secrets up. `user` is for whom it is asked.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn of(
        platform: &'a P,
        user: Option<&str>,
        http: &'a HttpService,
    ) -> Result<Self, ServiceFailure> {
        let headers = SecretHeaders::of(platform, user, &http.url, &http.headers, None);
        Ok(Self::new(platform, &http.url, headers.map_err(ServiceFailure::Secret)?))
    }

    /// A service whose headers hold their secrets already.
    pub fn new(platform: &'a P, url: impl Into<Cow<'a, str>>, headers: SecretHeaders) -> Self {
        Self { platform, url: url.into(), headers }
    }

    /// Sends a request and returns the response as soon as its head arrives, whatever its status. `own` headers replace
    /// those of the catalog with the same names; `reads` names the response's headers that are read.
    pub async fn ask(
        &self,
        method: HttpMethod,
        own: Vec<(String, String)>,
        body: String,
        reads: &'static [&'static str],
    ) -> Result<HttpResponse<P::Body>, ServiceFailure> {
        let mut headers = self.headers.headers.clone();
        headers.retain(|(name, _)| !own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)));
        headers.extend(own);
        let mut request =
            HttpRequest { method, url: self.url.clone().into_owned(), headers, body, reads };
        for _ in 0..=MAX_REDIRECTS {
            let response = self.platform.send(request.clone()).await?;
            // Any other redirect would turn the call into a GET.
            if !matches!(response.status, 307 | 308) {
                return Ok(response);
            }
            let location = response.header("location").unwrap_or_default();
            request.url =
                same_host(&request.url, location).ok_or(ServiceFailure::RedirectedAway)?;
        }
        Err(ServiceFailure::Unreachable)
    }

    /// The service's JSON with `***` in place of each secret that was sent.
    pub async fn without_secrets(&self, json: String) -> String {
        if json.len() > CHUNK_BYTES {
            self.platform.yield_to_others().await;
        }
        let secrets = SentSecrets::of(&self.headers.secrets);
        secrets.redact(json, async || self.platform.yield_to_others().await).await
    }
}

/// The result of the work, or `TimedOut` after `ms` milliseconds.
pub async fn in_time<P: Platform, T, F: From<ServiceFailure>>(
    platform: &P,
    ms: u64,
    work: impl Future<Output = Result<T, F>>,
) -> Result<T, F> {
    let result = with_timeout(platform, ms, work).await;
    result.unwrap_or_else(|| Err(ServiceFailure::TimedOut(ms).into()))
}

/// A body of at most `longest` bytes.
pub(super) async fn read<B: ResponseBody>(
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

/// The redirect's target, if host and port stay the same. A service behind a proxy that ends TLS knows nothing of it and
/// calls itself http; it is asked by https all the same.
fn same_host(from: &str, location: &str) -> Option<String> {
    let origin = origin(from)?;
    if location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\") {
        return Some(format!("{origin}{location}"));
    }
    let there = self::origin(location)?;
    if there.eq_ignore_ascii_case(origin) {
        return Some(location.to_owned());
    }
    let (scheme, host) = there.split_once("://")?;
    let is_unaware = scheme.eq_ignore_ascii_case("http")
        && origin.strip_prefix("https://").is_some_and(|known| known.eq_ignore_ascii_case(host));
    let rest = location.get(there.len()..)?;
    is_unaware.then(|| format!("{origin}{rest}"))
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
            ("http://tools.example:8443/b?y=2", Some("https://tools.example:8443/b?y=2")),
            ("http://tools.example/b", None),
            ("ftp://tools.example:8443/b", None),
            ("http://tools.example:8443@evil.example/b", None),
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
        // Only a service that is known by https is.
        assert_eq!(same_host("http://127.0.0.1:1/a", "https://127.0.0.1:1/a"), None);
    }
}
