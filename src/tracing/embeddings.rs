//! `embeddings {model}`: the vector of a question.

use super::names;
use super::service::{name_server, provider_of};
use crate::ports::TraceSpan;

/// The embedding of a question, with its end.
#[derive(Debug)]
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
        if self.failed {
            span.text(names::ERROR, "embeddings_failed");
        }
    }
}
