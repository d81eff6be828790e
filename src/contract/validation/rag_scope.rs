//! Reading `RagScope`, for turns and for searches (AGN-034 §4.4).
//!
//! It owns the rules of the scope's shape; retrieval decides what a condition selects.

use serde::{Deserialize, Serialize};

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{RagOperator, limits};

request_object! {
    /// The bounds of retrieval. All conditions must hold.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct RagScope as SCOPE, pub(super) fn rag_scope(reader, node) {
        /// The conditions; none permits everything.
        "Conditions" required => conditions: Vec<RagCondition> =
            list(limits::CONDITIONS, Reader::condition),
    }
}

request_object! {
    /// One condition on a chunk.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct RagCondition as CONDITION, fn condition(reader, node) {
        /// The property that is compared; never empty.
        "Key" required => key: String = full_text(limits::CONDITION_KEY),
        "Operator" required => operator: RagOperator = one_of(),
        /// One or more alternatives.
        "Values" required => values: Vec<String> =
            full_list(limits::CONDITION_VALUES, "value", |reader, node| {
                reader.text(limits::CONDITION_VALUE, node)
            }),
    }
}
