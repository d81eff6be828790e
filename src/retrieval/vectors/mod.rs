//! The vectors of a workspace's chunks: made by a service, stored in tables beside the index, and compared with the
//! vector of a question. Other files of retrieval name only what this page exports.

mod embedder;
mod embedding_service;
mod quantized_vector;
mod question_vector;
mod vector_ranking;
mod vector_tables;

pub(super) use embedder::Embedder;
pub use embedder::EmbeddingOutcome;
pub use embedding_service::EmbeddingService;
pub(super) use embedding_service::LearnedLimits;
pub(super) use question_vector::embed_question;
pub use question_vector::{EmbeddedQuestion, Question, QuestionVector};
pub(super) use vector_ranking::VectorRanking;
