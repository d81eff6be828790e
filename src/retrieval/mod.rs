//! Retrieval: a workspace's index, and the search of it for each user turn (interface §7; AGN-034
//! §4.4).
//!
//! [`ChunkIndex`] is the way in. `index` has its tables, `vectors` the vectors of its chunks, which a service makes.
//! `search` ranks chunks by their words and, where embeddings are configured, by their vectors. All of them yield
//! between slices (`work_budget`). `turn_retrieval` is the side of a turn: it asks an index or a service of the
//! operator's.
//!
//! Architecture Invariant: pure but for the seams to SQLite, to services and to another workspace. Nothing here
//! composes a message or knows of sessions; a read error is never turned into a default.

mod chunk;
mod chunk_index;
mod index;
mod search;
mod turn_retrieval;
mod vectors;
mod work_budget;

pub use chunk::Chunk;
pub use chunk_index::ChunkIndex;
pub use index::{
    Comparison, Counts, HARD_LIMIT_BYTES, HARD_LIMIT_LINES, MAX_TERMS, Piece, Pieces, Upserted,
    WORKSPACE_FORM, match_expression, pieces, searchable,
};
pub use search::Search;
pub use turn_retrieval::{
    OmittedChunk, RetrievalQuery, RetrievalTarget, Retrieved, read_turn_search, retrieve,
};
pub use vectors::{EmbeddedQuestion, EmbeddingOutcome, EmbeddingService, Question, QuestionVector};
pub use work_budget::{Work, WorkBudget, budget_of};
