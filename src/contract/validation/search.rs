//! Reading the body of `POST /workspaces/{WorkspaceId}/search` (interface §7).

use super::body::object_text;
use super::rag_scope::rag_scope;
use super::reader::Reader;
use crate::contract::document::SearchRequest;
use crate::contract::fault::Fault;
use crate::contract::limits;
use crate::json::{Node, ObjectShape};

const SEARCH: ObjectShape = ObjectShape::new(&["Query", "RagScope", "Limit"], &["Query"]);

/// Reads the body.
pub fn parse_search(body: &[u8]) -> Result<SearchRequest, Vec<Fault>> {
    let body = object_text(body)?;
    let mut reader = Reader::default();
    let (mut query, mut rag, mut limit) = (None, None, None);
    SEARCH.read(Node::root(body), &mut reader, |name, node, reader| match name {
        "Query" => {
            let is_blank = |text: &str| text.trim().is_empty().then_some("must not be blank");
            query = reader.checked_text(limits::QUERY, is_blank, node);
        }
        "RagScope" => rag = rag_scope(node, reader),
        "Limit" => {
            limit = reader.integer(node).and_then(|number| {
                let limit = usize::try_from(number).ok();
                limit.filter(|limit| (1..=limits::CHUNKS).contains(limit)).or_else(|| {
                    reader.refuse(node, &format!("must be from 1 to {} chunks", limits::CHUNKS))
                })
            });
        }
        _ => {}
    });
    reader.settle(query.map(|query| SearchRequest { query, rag_scope: rag, limit }))
}
