//! Reading `RagScope`, for turns and for searches (AGN-034 §4.4).
//!
//! It owns the rules of the scope's shape; retrieval decides what a condition selects.

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{RagCondition, RagScope, limits};

request_object! {
    pub(super) fn rag_scope(reader, node) -> RagScope as SCOPE {
        "Conditions" required => conditions = list(limits::CONDITIONS, Reader::condition),
    }
}

request_object! {
    fn condition(reader, node) -> RagCondition as CONDITION {
        "Key" required => key = full_text(limits::CONDITION_KEY),
        "Operator" required => operator = one_of(),
        "Values" required => values = full_list(limits::CONDITION_VALUES, "value", |reader, node| {
            reader.text(limits::CONDITION_VALUE, node)
        }),
    }
}
