//! Reading the body of `PATCH /sessions/{SessionId}` (interface §13).

use super::body::object_text;
use super::reader::Reader;
use crate::contract::fault::Fault;
use crate::contract::limits;
use crate::json::{Node, ObjectShape};

const RENAME: ObjectShape = ObjectShape::new(&["Title"], &["Title"]);

/// Reads the title.
pub fn parse_rename(body: &[u8]) -> Result<String, Vec<Fault>> {
    let body = object_text(body)?;
    let mut reader = Reader::default();
    let mut title = None;
    RENAME.read(Node::root(body), &mut reader, |_, node, reader| {
        title = reader.checked_text(limits::TITLE, title_problem, node);
    });
    reader.settle(title)
}

fn title_problem(title: &str) -> Option<&'static str> {
    if title.is_empty() {
        return Some("must not be empty");
    }
    title.chars().any(char::is_control).then_some("must hold no control character")
}
