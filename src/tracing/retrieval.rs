//! `retrieval`: the search of a workspace for a turn's message; and below it `embeddings {model}`: the vector of the question.

use super::service::{name_server, provider_of};
use super::{names, text_if};
use crate::ports::TraceSpan;

/// A turn's retrieval, with its end.
pub struct TurnRetrieval<'a> {
    /// As it stands in traces.
    pub workspace: Option<&'a str>,
    /// The most chunks that were asked for.
    pub limit: u32,
    /// The chunks that the turn gets.
    pub chunks: usize,
    pub failed: bool,
}

impl TurnRetrieval<'_> {
    /// The name of the span.
    pub const NAME: &'static str = "retrieval";

    /// Sets all attributes.
    pub fn describe(&self, span: &impl TraceSpan) {
        span.text(names::OPERATION, "retrieval");
        text_if(span, names::DATA_SOURCE, self.workspace);
        span.number(names::TOP_K, self.limit.into());
        span.number(names::CHUNKS, self.chunks as f64);
        text_if(span, names::ERROR, self.failed.then_some("retrieval_failed"));
    }
}

/// The embedding of a question, with its end.
pub struct QuestionEmbedding<'a> {
    pub model: &'a str,
    pub base_url: &'a str,
    pub failed: bool,
}

impl QuestionEmbedding<'_> {
    /// The name of the span.
    pub fn name(model: &str) -> String {
        format!("embeddings {model}")
    }

    /// Sets all attributes.
    pub fn describe(&self, span: &impl TraceSpan) {
        span.text(names::OPERATION, "embeddings");
        span.text(names::PROVIDER, provider_of(self.base_url));
        span.text(names::REQUEST_MODEL, self.model);
        name_server(span, self.base_url);
        text_if(span, names::ERROR, self.failed.then_some("embeddings_failed"));
    }
}
