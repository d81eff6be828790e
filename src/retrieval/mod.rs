//! Retrieval: a workspace's index, from which a user turn is given its context (the interface,
//! section 7; AGN-034 §4.4).
//!
//! It owns how a document is cut into chunks, what a text is found by, what a scope permits, and
//! the order of what is found. Ranking is SQLite's own BM25 (FTS5): no model is asked, so a search
//! costs no call and the same index gives the same answer.
//!
//! Architecture Invariant: pure but for `persistence`'s seam to SQLite. Nothing here calls the
//! network, composes a message or knows of turns; a read error is never turned into a default.

mod chunk;
mod chunking;
mod language;
mod schema;
mod scope;
mod terms;
mod turn_retrieval;
mod workspace_index;

pub use chunk::Chunk;
pub use chunking::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES, Piece, pieces};
pub use language::language_of;
pub use scope::permits;
pub use terms::{MAX_TERMS, match_expression, searchable};
pub use turn_retrieval::{LeftOut, Question, Retrieved, question_of, retrieve};
pub use workspace_index::{Counts, Found, Upserted, WorkspaceIndex};
