//! Reading the body of `POST /workspaces/{WorkspaceId}/search` (interface §7).

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{Fault, RagScope, limits};
use crate::json::Node;

request_object! {
    /// A search in a workspace's index.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SearchRequest as SEARCH, fn search(reader, node) {
        /// The user's words; never blank.
        "Query" required => query: String = checked_text(limits::QUERY, |text| {
            text.trim().is_empty().then_some("must not be blank")
        }),
        "RagScope" => rag_scope: Option<RagScope> = rag_scope(),
        /// The most chunks, when the request says so; at least one.
        "Limit" => limit: Option<usize> = chunks(),
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
