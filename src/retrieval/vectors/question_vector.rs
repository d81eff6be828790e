//! The vector of a question, among the vectors that it can be compared with (interface §7).

use std::pin::pin;

use super::embedding_service::{EmbeddingFailure, EmbeddingService, LearnedLimits};
use super::quantized_vector::QuantizedVector;
use crate::catalog::Embeddings;
use crate::contract::Result;
use crate::ports::{Database, Platform, within};
use crate::retrieval::index::Tables;
use crate::retrieval::work_budget::WorkBudget;
use crate::tracing::QuestionEmbedding;

/// The most bytes of a question that are embedded.
const QUESTION_BYTES: usize = 4_096;

/// The vector of a question, and the set of vectors that it can be compared with.
#[derive(Clone, Debug)]
pub struct QuestionVector {
    pub(super) set: u64,
    pub(super) vector: QuantizedVector,
    /// The part of a chunk's score that its place by vectors makes, in thousandths.
    pub(super) weight: u32,
}

/// A question that is to be embedded.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The user's words.
    pub text: &'a str,
    /// The service of the agent context that asks.
    pub service: EmbeddingService<'a>,
    /// All services of the catalog.
    pub catalog: &'a [&'a Embeddings],
}

/// What a search by vectors can use.
#[derive(Debug, Default)]
pub struct EmbeddedQuestion {
    /// `None`: the index has no vectors, or the service failed; words alone rank.
    pub vector: Option<QuestionVector>,
    /// Why the service failed, for the operator's log.
    pub failure: Option<String>,
    /// Whether chunks are still to be embedded.
    pub has_pending_chunks: bool,
}

/// Embeds a question by the model whose vectors serve searches at present.
pub(crate) async fn embed_question<D: Database, P: Platform, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    platform: &P,
    limits: &LearnedLimits,
    question: Question<'_>,
) -> Result<EmbeddedQuestion> {
    let Question { text, service, catalog } = question;
    if !tables.exist()? {
        return Ok(EmbeddedQuestion::default());
    }
    let (set, has_pending_chunks) = tables.search_vectors(catalog, service.embeddings)?;
    let mut embedded = EmbeddedQuestion { has_pending_chunks, ..EmbeddedQuestion::default() };
    let Some(set) = set else { return Ok(embedded) };
    let end = text.floor_char_boundary(QUESTION_BYTES);
    let generation = tables.generation();
    let is_wanted = || tables.generation() == generation;
    let inputs = [text.get(..end).unwrap_or(text)];
    let span = platform.span(&QuestionEmbedding::name(&set.model));
    let embedding = pin!(service.embed(platform, budget, limits, &set, &inputs, is_wanted));
    let vectors = within(span.as_ref(), embedding).await;
    if let Some(span) = &span {
        let base_url = service.embeddings.base_url.as_deref().unwrap_or(service.base_url);
        let (model, failed) = (set.model.as_str(), vectors.is_err());
        let record = QuestionEmbedding { model, base_url, failed };
        record.describe(span);
    }
    drop(span);
    // Erased while waiting: drop the response.
    if tables.generation() != generation {
        return Ok(EmbeddedQuestion::default());
    }
    let vector = vectors.and_then(|vectors| {
        let vector = vectors.into_iter().next();
        vector.ok_or(EmbeddingFailure::NoVectors)
    });
    match vector {
        Ok(vector) => {
            embedded.vector =
                Some(QuestionVector { set: set.id, vector, weight: service.embeddings.weight })
        }
        Err(failure) => embedded.failure = Some(format!("{}: {failure}", set.model)),
    }
    Ok(embedded)
}
