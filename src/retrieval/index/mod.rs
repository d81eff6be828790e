//! The tables of a workspace's index, and all that depends on them alone: documents cut into chunks, the ranking of chunks by
//! a query's words, the documents that a scope permits and its unknown keys, and the passages that chunks make. Other files of retrieval name
//! only what this page exports.

mod chunking;
mod comparison;
mod document_kind;
mod fields;
mod passages;
mod schema;
mod scope;
mod scope_keys;
mod spans;
mod tables;
mod terms;
mod word_ranking;
mod writing;

pub use chunking::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES, Piece, Pieces, pieces};
pub use comparison::Comparison;
pub(super) use comparison::compare;
pub(super) use document_kind::AskedKinds;
pub(super) use passages::{Candidate, Passage, passages, weighted_score};
pub use schema::WORKSPACE_FORM;
pub(super) use scope::{Selection, documents_among};
pub(super) use scope_keys::{SCOPE_KEY_UNKNOWN, unknown_scope_keys};
pub(super) use spans::{Span, Spans};
pub(super) use tables::{CHUNK_WORK, STEP_CHUNKS, State, Tables};
pub use terms::{MAX_TERMS, match_expression, searchable};
pub(super) use word_ranking::{RankedChunks, WordRanking};
pub(super) use writing::Writer;
pub use writing::{Counts, Upserted};
