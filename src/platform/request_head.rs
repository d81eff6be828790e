//! The head of a request that is received, which crosses as one text.

use worker::web_sys::Request;

use super::bindings::messages::request_head;

/// Method, URL, and each header's name and value, a line each.
pub(super) struct ReceivedHead(String);

impl ReceivedHead {
    pub(super) fn of(request: &Request) -> Self {
        Self(request_head(request))
    }

    pub(super) fn method(&self) -> &str {
        self.0.split('\n').next().unwrap_or_default()
    }

    pub(super) fn url(&self) -> &str {
        self.0.split('\n').nth(1).unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.split('\n').skip(2);
        while let (Some(header), Some(value)) = (lines.next(), lines.next()) {
            if header.eq_ignore_ascii_case(name) {
                return Some(value);
            }
        }
        None
    }
}
