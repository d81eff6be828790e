//! Reading the body of `PATCH /sessions/{SessionId}` (interface §13).

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{Fault, limits};

request_object! {
    fn rename(reader, node) -> String as RENAME {
        "Title" required -> title = checked_text(limits::TITLE, title_problem),
    } => title
}

/// Reads the title.
pub fn parse_rename(body: &[u8]) -> Result<String, Vec<Fault>> {
    Reader::read_body(body, Reader::rename)
}

fn title_problem(title: &str) -> Option<&'static str> {
    if title.is_empty() {
        return Some("must not be empty");
    }
    title.chars().any(char::is_control).then_some("must hold no control character")
}
