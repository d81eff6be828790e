//! Reading the body of `POST /workspaces/{WorkspaceId}/search` (the interface, section 7).
//!
//! It owns the rules of its members; what a query means is retrieval's business.

use super::json_object::ObjectShape;
use super::json_value::{integer, invalid, text};
use super::place::Place;
use super::rag_scope::rag_scope;
use super::violations::Violations;
use super::well_formed;
use crate::contract::document::SearchRequest;
use crate::contract::fault::Fault;
use crate::contract::limits;

const SEARCH: ObjectShape =
    ObjectShape { required: &["Query"], optional: &["RagScope", "Limit"], forbidden: &[] };

/// Reads the body.
///
/// # Errors
/// Every violation, in document order: `malformed_json` alone, or any of `missing_field`,
/// `invalid_field`, `unknown_field`.
pub fn parse_search(body: &[u8]) -> Result<SearchRequest, Vec<Fault>> {
    let body = well_formed::object_text(body)?;
    let mut violations = Violations::new();
    let (mut query, mut scope, mut limit) = (None, None, None);
    SEARCH.read(body, &Place::Body, &mut violations, |name, value, at, found| match name {
        "Query" => {
            query = text(limits::QUERY, value, at, found);
            if query.as_ref().is_some_and(|query| query.trim().is_empty()) {
                invalid(found, at, "must not be blank");
            }
        }
        "RagScope" => scope = rag_scope(value, at, found),
        _ => {
            let given = integer(value, at, found);
            limit = given
                .and_then(|given| usize::try_from(given).ok())
                .filter(|limit| (1..=limits::CHUNKS).contains(limit));
            if given.is_some() && limit.is_none() {
                invalid(found, at, "must be from 1 to 100 chunks");
            }
        }
    });
    violations.settle(query.map(|query| SearchRequest { query, rag_scope: scope, limit }))
}
