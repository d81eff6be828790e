//! The address of a model service, its key and its headers.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands as it is in a segment of a path and in a query (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The headers that name the caller to the service.
const KEY_HEADERS: [&str; 2] = ["authorization", "api-key"];

/// A model service to call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL, without `/responses`.
    pub base_url: String,
    /// Bearer key, for services that ask for one. Not sent when `headers` hold a key.
    pub api_key: Option<String>,
    /// The longest silence before the call is given up, in milliseconds.
    pub idle_timeout_ms: u64,
    /// The longest time that text may wait to be joined with what follows, in milliseconds.
    pub delta_interval_ms: u64,
    /// More headers of every call.
    pub headers: Vec<(String, String)>,
    /// The secrets that these headers hold.
    pub secrets: Vec<String>,
    /// Names and values of every call's query, not encoded.
    pub query: Vec<(String, String)>,
}

impl Endpoint {
    /// Where requests for responses go.
    pub(super) fn url(&self) -> String {
        self.with_query(format!("{}/responses", self.base_url.trim_end_matches('/')))
    }

    /// Where a stored response is; `None` for an id that no path can name: it would name something else.
    pub(super) fn url_of_response(&self, id: &str) -> Option<String> {
        // Encoded dots are dots to URL parsers.
        if matches!(id, "" | "." | "..") {
            return None;
        }
        let segment = utf8_percent_encode(id, UNRESERVED);
        let base_url = self.base_url.trim_end_matches('/');
        Some(self.with_query(format!("{base_url}/responses/{segment}")))
    }

    fn with_query(&self, mut url: String) -> String {
        for (place, (name, value)) in self.query.iter().enumerate() {
            url.push(if place == 0 { '?' } else { '&' });
            url.extend(utf8_percent_encode(name, UNRESERVED));
            url.push('=');
            url.extend(utf8_percent_encode(value, UNRESERVED));
        }
        url
    }

    /// The headers of every call.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let is_key = |(name, _): &(String, String)| {
            KEY_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        let key = self.api_key.iter().filter(|_| !self.headers.iter().any(is_key));
        let bearer = key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}")));
        bearer.chain(self.headers.iter().cloned()).collect()
    }

    /// Every secret that a call carries.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.api_key.iter().chain(&self.secrets).map(String::as_str)
    }
}
