//! Cross-origin requests (`ALLOWED_ORIGINS`; interface §6): which web pages may call, and the headers by
//! which a browser lets them (Fetch standard, CORS protocol). By default no page may call.

use crate::contract::{ErrorCode, Fault, Result};
use crate::entry::endpoints::methods;
use crate::entry::response::Header;

/// The headers that a page may read besides those that the standard safelists.
const EXPOSED: &str = "Idempotent-Replayed, Retry-After, Server-Timing, WWW-Authenticate, Allow, \
                       Accept-Ranges, Content-Disposition, Content-Range, ETag, Location, \
                       Preference-Applied, Aptix-Request-Id";

/// The headers that a page may send.
const ACCEPTED: &str = "Authorization, Content-Type, Last-Event-ID, Prefer, Aptix-Request-Id, \
                        traceparent, tracestate, Range, If-Range, If-None-Match";

/// The time for which a browser may cache the response to a preflight, in seconds.
const PREFLIGHT_AGE_S: &str = "7200";

/// The origins whose pages may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Reads `ALLOWED_ORIGINS`: origins such as `https://app.example.com`, separated by commas or
    /// white space or as a JSON array, or `*` for every page.
    pub(super) fn from_variable(value: Option<&str>) -> Self {
        let value = value.unwrap_or_default();
        let listed: Vec<&str> = serde_json::from_str(value)
            .unwrap_or_else(|_| value.split(|c: char| c == ',' || c.is_whitespace()).collect());
        let origins = listed.into_iter().map(|origin| origin.trim_end_matches('/').to_owned());
        Self(origins.filter(|origin| !origin.is_empty()).collect())
    }

    /// Whether pages of this origin (the `Origin` header) may call.
    pub(super) fn permits(&self, origin: &str) -> bool {
        self.0.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
    }

    /// The headers of the response to a preflight; `forbidden` for a page that may not call.
    pub(super) fn preflight(&self, origin: &str) -> Result<Vec<Header>> {
        if !self.permits(origin) {
            let message = "Pages of this origin may not call. The operator lists those that may in ALLOWED_ORIGINS.";
            return Err(Fault::new(ErrorCode::Forbidden, message));
        }
        Ok(vec![
            ("Access-Control-Allow-Methods", methods()),
            ("Access-Control-Allow-Headers", ACCEPTED.to_owned()),
            ("Access-Control-Max-Age", PREFLIGHT_AGE_S.to_owned()),
        ])
    }
}

/// The headers of every response to a page that may call.
pub(super) fn permitted_headers(origin: String) -> Vec<Header> {
    vec![
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", EXPOSED.to_owned()),
        ("Vary", "Origin".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_may_call_unless_its_origin_is_listed() {
        for none in [None, Some(""), Some(" , ")] {
            assert!(!AllowedOrigins::from_variable(none).permits("https://a.example"));
        }
        let listed =
            AllowedOrigins::from_variable(Some("https://a.example/, http://localhost:3000"));
        let as_json = r#"["https://a.example","http://localhost:3000"]"#;
        assert_eq!(AllowedOrigins::from_variable(Some(as_json)), listed);
        for (origin, permitted) in [
            ("https://a.example", true),
            ("http://localhost:3000", true),
            ("http://a.example", false),
            ("https://a.example:8443", false),
            ("https://a.example.evil.test", false),
            ("https://b.a.example", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(listed.permits(origin), permitted, "{origin}");
            let preflight = listed.preflight(origin).map_err(|fault| fault.code);
            assert_eq!(preflight.err(), (!permitted).then_some(ErrorCode::Forbidden));
        }
        assert!(AllowedOrigins::from_variable(Some("*")).permits("https://any.example"));
    }
}
