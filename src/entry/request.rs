//! The head of a request: the Worker and the objects both see a request in this form.

use std::borrow::Cow;

use super::other_version::other_version;
use crate::contract::{ErrorCode, Fault, Result};
use crate::identity::ForwardedCaller;
use crate::ports::{CALLER, HttpFault, Platform, RECEIVED_AT, caller_in_protocol};

/// The body of a request, which is whole once it has come.
pub trait ArrivingBody: Future<Output = Result<Vec<u8>, HttpFault>> {}

impl<F: Future<Output = Result<Vec<u8>, HttpFault>>> ArrivingBody for F {}

/// A request without its body, as the Worker and the objects both get it.
pub struct RequestHead<'a> {
    pub method: &'a str,
    /// The whole URL, as the runtime normalized it.
    pub url: &'a str,
    /// The value of a header by its name.
    pub header: &'a dyn Fn(&str) -> Option<String>,
}

impl RequestHead<'_> {
    /// Path and query. The runtime has normalized the URL, so cutting it is enough; a URL library would
    /// make the bundle a sixth larger.
    pub(super) fn target(&self) -> &str {
        let authority = self.url.split_once("://").map_or(self.url, |(_, rest)| rest);
        let target = authority.find('/').and_then(|start| authority.get(start..)).unwrap_or("/");
        target.split('#').next().unwrap_or(target)
    }

    /// Scheme and authority under which the client reached the deployment.
    pub(super) fn origin(&self) -> &str {
        let authority = self.url.find("://").map_or(0, |at| at + 3);
        let end = self.url.get(authority..).and_then(|rest| rest.find(['/', '?', '#']));
        end.and_then(|end| self.url.get(..authority + end)).unwrap_or(self.url)
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        (self.header)(name)
    }
}

/// Who asks, as the Worker in front knows it; nobody where another object asks.
///
/// # Errors
/// `overloaded` where the sender is of a version with another inner protocol. An object looks here before it does anything.
pub(super) fn forwarded_caller(head: &RequestHead<'_>) -> Result<ForwardedCaller> {
    let sent = head.header(CALLER).unwrap_or_default();
    let caller = caller_in_protocol(&sent).ok_or_else(other_version)?;
    if caller.is_empty() {
        return Ok(ForwardedCaller::default());
    }
    let unreadable = || Fault::internal("The request does not say who asks.");
    serde_json::from_str(&decoded(caller)?).map_err(|_| unreadable())
}

/// When the Worker in front received a request, in milliseconds since the Unix epoch.
pub(super) fn received_at<P: Platform>(head: &RequestHead<'_>, platform: &P) -> u64 {
    let at_ms = head.header(RECEIVED_AT).and_then(|at_ms| at_ms.parse().ok());
    at_ms.unwrap_or_else(|| platform.now_ms())
}

/// A part of a URL with its percent-encoding undone. Two parts that differ never become one.
///
/// # Errors
/// `invalid_field` for bytes that are no UTF-8.
pub(super) fn decoded(part: &str) -> Result<Cow<'_, str>> {
    percent_encoding::percent_decode_str(part).decode_utf8().map_err(|_| {
        let message =
            "The URL holds percent-encoded bytes that are not UTF-8. Encode text as UTF-8.";
        Fault::new(ErrorCode::InvalidField, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_cut_into_the_caller_s_origin_and_the_target() {
        for (url, origin, target) in [
            ("https://a.example/execute", "https://a.example", "/execute"),
            ("http://a:8787/x/y?z=%2F#f", "http://a:8787", "/x/y?z=%2F"),
            ("https://a.example", "https://a.example", "/"),
            ("https://a.example?q=1/2", "https://a.example", "/2"),
            ("", "", "/"),
        ] {
            let head = RequestHead { method: "GET", url, header: &|_| None };
            assert_eq!((head.origin(), head.target()), (origin, target), "{url}");
        }
    }
}
