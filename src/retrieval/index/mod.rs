//! The tables of a workspace's index, and all that is known from them alone: documents cut into chunks, the terms that
//! find chunks, the documents that a scope permits, and the passages that chunks make. Other files of retrieval name
//! only what this page exports.

mod chunking;
mod comparison;
mod fields;
mod passages;
mod schema;
mod scope;
mod spans;
mod tables;
mod terms;
mod writing;

pub use chunking::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES, Piece, Pieces, pieces};
pub use comparison::Comparison;
pub(super) use comparison::compared;
pub(super) use fields::{FIELDS, RANK};
pub(super) use passages::{Candidate, Passage, passages, weighed};
pub(super) use scope::Selection;
pub(super) use spans::{Span, Spans};
pub(super) use tables::{CHUNK_WORK, STEP_CHUNKS, State, Tables};
pub(super) use terms::speaks_of_tests;
pub use terms::{MAX_TERMS, match_expression, searchable};
pub(super) use writing::Writing;
pub use writing::{Counts, Upserted};
