//! Retrieval: a workspace's index, and the search of it for each user turn (interface §7; AGN-034
//! §4.4).
//!
//! [`ChunkIndex`] is the way in. Its tables, and what is known from them alone, stand in `index`; the vectors of chunks, which a
//! service makes, in `vectors`. `search` ranks the chunks by their words and, where a turn has embeddings, by their vectors. All
//! of it works in slices (`pace`). `turn_retrieval` is a turn's side: it asks an index or an operator's service.
//!
//! Architecture Invariant: pure but for the seams to SQLite, to services and to another workspace. Nothing here
//! composes a message or knows of sessions; a read error is never turned into a default.

mod chunk;
mod chunk_index;
mod index;
mod pace;
mod search;
mod turn_retrieval;
mod vectors;

pub use chunk::Chunk;
pub use chunk_index::{ChunkIndex, Understood};
pub use index::{
    Comparison, Counts, HARD_LIMIT_BYTES, HARD_LIMIT_LINES, MAX_TERMS, Piece, Pieces, Upserted,
    match_expression, pieces, searchable,
};
pub use pace::{Pace, SLICE, pace_of};
pub use search::Search;
pub use turn_retrieval::{LeftOut, Question, Retrieved, question_of, retrieve, search_question};
pub use vectors::{Embedded, EmbeddingService, Meaning};
