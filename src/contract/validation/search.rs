//! Reading the body of `POST /workspaces/{WorkspaceId}/search` (interface §7).

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{Fault, SearchRequest, limits};
use crate::json::Node;

request_object! {
    fn search(reader, node) -> SearchRequest as SEARCH {
        "Query" required => query = checked_text(limits::QUERY, |text| {
            text.trim().is_empty().then_some("must not be blank")
        }),
        "RagScope" => rag_scope = rag_scope(),
        "Limit" => limit = chunks(),
    }
}

/// Reads the body.
pub fn parse_search(body: &[u8]) -> Result<SearchRequest, Vec<Fault>> {
    Reader::read_body(body, Reader::search)
}

impl Reader {
    fn chunks(&mut self, node: Node<'_, '_>) -> Option<usize> {
        let limit = usize::try_from(self.integer(node)?).ok();
        limit
            .filter(|limit| (1..=limits::CHUNKS).contains(limit))
            .or_else(|| self.refuse(node, &format!("must be from 1 to {} chunks", limits::CHUNKS)))
    }
}
