//! Who is let in while `AUTH` is `none` (interface §6): callers of this machine, by the request's `Host`
//! and `Origin`. Without this, any web page could spend the deployment's key by a plain form, and read
//! a session under a name of its own that resolves to this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::cross_origin::AllowedOrigins;
use super::request::RequestHead;
use crate::contract::{ErrorCode, Fault};

/// Refuses a request of another machine, or of a web page from elsewhere that is not listed.
///
/// # Errors
/// `forbidden`, with a message that names the header and the remedy.
pub(super) fn admit_local(head: &RequestHead<'_>, pages: &AllowedOrigins) -> Result<(), Fault> {
    // The runtime takes the URL's authority from the header `Host`.
    if !authority_of(head.origin()).is_some_and(is_loopback) {
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

/// Host and port of an http or https origin; `None` for any other, such as `null`.
fn authority_of(origin: &str) -> Option<&str> {
    let (scheme, authority) = origin.split_once("://")?;
    ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(authority)
}

/// Whether an authority is 127.0.0.0/8, `[::1]`, `localhost` or a name below it, at any port.
fn is_loopback(authority: &str) -> bool {
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_number(port) => host,
        _ => authority,
    };
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
    }
    let host = host.to_ascii_lowercase();
    // A name below localhost may hold nothing that would end the host in another reader's eyes.
    let is_name =
        |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    host == "localhost"
        || host.strip_suffix(".localhost").is_some_and(is_name)
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_authority_is_told_from_its_imitations() {
        for here in [
            "localhost",
            "LOCALHOST:8787",
            "app.localhost:1",
            "127.0.0.1",
            "127.9.8.7:65535",
            "[::1]",
            "[0:0:0:0:0:0:0:1]:8787",
        ] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in [
            "",
            ":8787",
            "edge.example",
            "localhost.evil.example",
            "evil.example:localhost",
            "notlocalhost",
            "evil.example/.localhost",
            "evil.example@localhost",
            "evil.example#.localhost",
            "127.0.0.1.evil.example",
            "128.0.0.1",
            "0.0.0.0",
            "10.0.0.1",
            "[::]",
            "[::2]:80",
            "::1",
            "null",
        ] {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
        assert_eq!(authority_of("HTTPS://a:1"), Some("a:1"));
        for other in ["null", "", "localhost", "app://localhost", "file://", "httpx://localhost"] {
            assert!(!authority_of(other).is_some_and(is_loopback), "{other}");
        }
    }
}
