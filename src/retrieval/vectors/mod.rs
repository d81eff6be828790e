//! The vectors of a workspace's chunks: made by a service, kept in tables beside the index, and compared with the
//! vector of a question. Other files of retrieval name only what this page exports.

mod embedder;
mod embedding_service;
mod quantized_vector;
mod vector_ranking;
mod vector_tables;

pub use embedder::Embedded;
pub(super) use embedder::Embedder;
pub use embedding_service::EmbeddingService;
pub(super) use embedding_service::{EmbeddingFailure, Manner};
pub use vector_ranking::Meaning;
pub(super) use vector_ranking::{Ranked, Similar};
pub(super) use vector_tables::Serving;
