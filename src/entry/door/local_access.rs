//! Who is let in while `AUTH` is `none` (interface §6): callers of this machine, by the request's `Host`
//! and `Origin`. Without this check any web page could spend the deployment's key by a plain form, and read
//! a session through a host name of its own that resolves to this machine.

use super::cross_origin::AllowedOrigins;
use crate::contract::{ErrorCode, Fault, Result};
use crate::encoding::{authority_of, is_loopback};
use crate::entry::request::RequestHead;

/// Refuses a request of another machine, or of a web page from elsewhere that is not listed.
///
/// # Errors
/// `forbidden`, with a message that names the header and the remedy.
pub(super) fn admit_local(head: &RequestHead<'_>, pages: &AllowedOrigins) -> Result<()> {
    // The runtime takes the URL's authority from the header `Host`, but what serves it on a developer's machine can
    // take another one from a header that any page may send (Miniflare's `MF-Original-URL`).
    let is_named_elsewhere = head.header("Host").is_some_and(|host| !is_loopback(&host));
    if is_named_elsewhere || !authority_of(head.origin()).is_some_and(is_loopback) {
        return Err(forbidden(
            "the header Host names a loopback address: call http://127.0.0.1 or http://localhost",
        ));
    }
    match head.header("Origin") {
        Some(origin)
            if !authority_of(&origin).is_some_and(is_loopback) && !pages.permits(&origin) =>
        {
            Err(forbidden(
                "the header Origin, if there is one, names a loopback address or an origin that \
                 ALLOWED_ORIGINS lists: list it there",
            ))
        }
        _ => Ok(()),
    }
}

fn forbidden(unless: &str) -> Fault {
    let message =
        format!("With AUTH=none a request is let in only where {unless}, or set AUTH=keys.");
    Fault::new(ErrorCode::Forbidden, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_the_url_and_the_host_have_to_be_this_machine_s() {
        let admitted = |url: &str, host: Option<&str>| {
            let header = |name: &str| host.filter(|_| name == "Host").map(str::to_owned);
            let head = RequestHead { method: "GET", url, header: &header };
            admit_local(&head, &AllowedOrigins::from_variable(None)).is_ok()
        };
        let local = "http://localhost:8787/sessions/s";
        assert!(admitted(local, Some("localhost:8787")) && admitted(local, None));
        assert!(!admitted(local, Some("evil.example")), "as MF-Original-URL has it");
        assert!(!admitted("http://evil.example/sessions/s", Some("localhost")));
    }
}
