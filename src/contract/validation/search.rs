//! Reading the body of `POST /workspaces/{WorkspaceId}/search` (interface §7).
//!
//! It owns the rules of its members; what a query means is retrieval's business.

use super::body::object_text;
use super::rag_scope::rag_scope;
use super::values::{integer, text};
use super::violations::Violations;
use crate::contract::document::SearchRequest;
use crate::contract::fault::Fault;
use crate::contract::limits;
use crate::json::{Node, ObjectShape};

const SEARCH: ObjectShape = ObjectShape::new(&["Query", "RagScope", "Limit"], &["Query"]);

/// Reads the body.
///
/// # Errors
/// Every violation, in document order: `malformed_json` alone, or any of `missing_field`,
/// `invalid_field`, `unknown_field`.
pub fn parse_search(body: &[u8]) -> Result<SearchRequest, Vec<Fault>> {
    let body = object_text(body)?;
    let mut violations = Violations::new();
    let (mut query, mut rag, mut limit) = (None, None, None);
    SEARCH.read(Node::root(body), &mut violations, |name, node, found| match name {
        "Query" => {
            query = text(limits::QUERY, node, found);
            if query.as_ref().is_some_and(|query| query.trim().is_empty()) {
                found.invalid(node, "must not be blank");
            }
        }
        "RagScope" => rag = rag_scope(node, found),
        _ => {
            let given = integer(node, found);
            limit = given
                .and_then(|given| usize::try_from(given).ok())
                .filter(|limit| (1..=limits::CHUNKS).contains(limit));
            if given.is_some() && limit.is_none() {
                found.invalid(node, &format!("must be from 1 to {} chunks", limits::CHUNKS));
            }
        }
    });
    violations.settle(query.map(|query| SearchRequest { query, rag_scope: rag, limit }))
}
