//! Retrieval: a workspace's index, and the search of it for each user turn (interface §7; AGN-034
//! §4.4).
//!
//! It owns the cutting of documents into chunks, the terms that find chunks, the meaning of a scope,
//! and the order of results. SQLite's own BM25 (FTS5) ranks, so a search needs no model call, and the
//! same index always finds the same chunks.
//!
//! An index works in slices (`pace`) over tables (`tables`, `schema`) that are whole after each step:
//! `writing` changes them, `search` ranks the chunks that `scope` selects, `comparing` tells which documents
//! a client has to send.
//!
//! Architecture Invariant: pure but for the seam to SQLite and to another workspace. Nothing here
//! composes a message or knows of sessions; a read error is never turned into a default.

mod chunk;
mod chunk_index;
mod chunking;
mod comparing;
mod embedding;
mod embedding_service;
mod fields;
mod language;
mod pace;
mod passages;
mod schema;
mod scope;
mod search;
mod similar;
mod spans;
mod tables;
mod terms;
mod turn_retrieval;
mod vector;
mod vectors;
mod writing;

pub use chunk::Chunk;
pub use chunk_index::{ChunkIndex, Understood};
pub use chunking::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES, Piece, Pieces, pieces};
pub use comparing::Comparison;
pub use embedding::Embedded;
pub use embedding_service::EmbeddingService;
pub use language::language_of;
pub use pace::{Pace, SLICE, pace_of};
pub use search::Search;
pub use similar::Meaning;
pub use terms::{MAX_TERMS, match_expression, searchable};
pub use turn_retrieval::{LeftOut, Question, Retrieved, question_of, retrieve, search_question};
pub use writing::{Counts, Upserted};
