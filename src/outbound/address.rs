//! The addresses of a service's endpoints, and the wait for which a response asks.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::encoding::http_date_ms;
use crate::ports::HttpResponse;

/// The characters that a segment of a path and a query hold unencoded (RFC 3986, section 2.3).
pub(super) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of an endpoint below a base URL; names and values of `query` are percent-encoded.
pub fn address(base_url: &str, segments: &[&str], query: &[(String, String)]) -> String {
    let mut url = base_url.trim_end_matches('/').to_owned();
    for segment in segments {
        url.push('/');
        url.extend(utf8_percent_encode(segment, UNRESERVED));
    }
    for (place, (name, value)) in query.iter().enumerate() {
        url.push(if place == 0 { '?' } else { '&' });
        url.extend(utf8_percent_encode(name, UNRESERVED));
        url.push('=');
        url.extend(utf8_percent_encode(value, UNRESERVED));
    }
    url
}

/// How long a service asks to wait, in milliseconds. The gateway LiteLLM passes on the header of the service behind it
/// under a name of its own, which counts where the gateway itself asks for no wait.
pub fn retry_after_ms<B>(response: &HttpResponse<B>, now_ms: u64) -> Option<u64> {
    let number = |text: &str| {
        // Read as JSON: the standard library's reader of floats is 7 KB of the bundle.
        serde_json::from_str::<f64>(text.trim()).ok().filter(|number| *number >= 0.0)
    };
    let asked = |in_milliseconds: &str, in_seconds: &str| {
        // A float saturates when it is cast.
        if let Some(milliseconds) = response.header(in_milliseconds).and_then(number) {
            return Some(milliseconds as u64);
        }
        let asked = response.header(in_seconds)?;
        match number(asked) {
            Some(seconds) => Some((seconds * 1000.0) as u64),
            // A date in the past, perhaps by another clock, asks for no wait.
            None => http_date_ms(asked.trim())?.checked_sub(now_ms).filter(|ms| *ms > 0),
        }
    };
    asked("retry-after-ms", "retry-after")
        .or_else(|| asked("llm_provider-retry-after-ms", "llm_provider-retry-after"))
}
