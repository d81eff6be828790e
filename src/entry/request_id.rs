//! The id of a request (`Aptix-Request-Id`; interface §1): every response carries it, and so do the lines that the log
//! gets because of the request.

use serde_json::Value;

use super::request::RequestHead;
use crate::encoding::hex;
use crate::ports::{Gateway, REQUEST_ID};

/// The most characters of an id.
const LONGEST: usize = 64;

/// The id of a request: 1 to 64 characters of `A-Za-z0-9_-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// The client's own id, or a new one where it sends none of that form.
    pub(super) fn of_client<G: Gateway>(head: &RequestHead<'_>, gateway: &G) -> Self {
        Self::sent(head).unwrap_or_else(|| {
            let bytes = gateway.random_bytes();
            // A machine without random bytes must not cost a client its response.
            Self(bytes.map_or_else(|_| gateway.now_ms().to_string(), |bytes| hex(&bytes)))
        })
    }

    /// The id that a request came with; an object has it of the Worker in front, and none of another object.
    pub(super) fn sent(head: &RequestHead<'_>) -> Option<Self> {
        head.header(REQUEST_ID).filter(|text| has_form(text)).map(Self)
    }

    /// The id.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The header of the response.
    pub(super) fn header(&self) -> (&'static str, String) {
        (REQUEST_ID, self.0.clone())
    }

    /// Adds the id, where there is one, to a line of the log.
    pub(super) fn sign(id: Option<&Self>, line: &mut Value) {
        if let (Some(Self(id)), Some(members)) = (id, line.as_object_mut()) {
            members.insert("request_id".to_owned(), id.as_str().into());
        }
    }
}

fn has_form(text: &str) -> bool {
    let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_of_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_up_to_64_characters_that_need_no_escape_anywhere() {
        for right in ["a", "A-z_09", &"x".repeat(64)] {
            assert!(has_form(right), "{right}");
        }
        for wrong in ["", "a b", "a.b", "ä", "a\n", &"x".repeat(65)] {
            assert!(!has_form(wrong), "{wrong}");
        }
    }
}
