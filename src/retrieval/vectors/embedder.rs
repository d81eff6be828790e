//! The embedding of a workspace's chunks, in the background of the requests that change them (interface §7).
//!
//! A batch is one request to the service and one step of the index, so a crash costs at most a batch. Chunks that
//! the service refuses are sent in smaller batches, at last each alone. A chunk that is refused alone while the service
//! embeds other texts is shortened, and in the end left without a vector.

use super::embedding_service::{
    BATCH_CHUNKS, BATCH_NUMBERS, EmbeddingFailure, EmbeddingService, LearnedLimits,
};
use super::quantized_vector::QuantizedVector;
use super::vector_tables::{PendingChunk, VectorSet};
use crate::contract::Result;
use crate::outbound::in_time;
use crate::ports::{Database, Platform, with_timeout};
use crate::retrieval::index::{CHUNK_WORK, STEP_CHUNKS, Tables, Writer};
use crate::retrieval::work_budget::WorkBudget;

/// About the most bytes of a batch's text.
const BATCH_BYTES: usize = 200_000;

/// The batches of one run. The alarm rings again for the rest, so that other requests have their turn: the runtime permits an
/// invocation 50 requests to services on the free plan, and a batch may take several.
const BATCHES: usize = 40;

/// The time after which a run begins no further batch, in milliseconds, and the longest request. The runtime ends an alarm
/// after a quarter of an hour, the object with it, and drops one that it has ended some times.
const RUN_MS: u64 = 300_000;

/// The time after which a run ends whatever it waits for, in milliseconds.
const MOST_MS: u64 = 800_000;

/// The longest request of a single text, in milliseconds. A chunk that is skipped takes six at most, the probe among them, all
/// in one run: the next one would begin anew.
const SINGLE_MS: u64 = (MOST_MS - RUN_MS) / 6;

/// A chunk is not shortened below this many bytes.
const LEAST_BYTES: usize = 256;

/// A text that every service embeds unless it embeds none.
const PROBE: &str = "text";

/// How a run of embedding ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbeddingOutcome {
    /// All chunks have their vectors, except those that the service refused.
    Complete,
    /// Chunks are left for another run.
    Partial,
    /// The service failed.
    Failed {
        /// How long it asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
        /// For the operator's log.
        reason: String,
    },
}

/// The embedding of one workspace.
pub(crate) struct Embedder<'a, D, P, F> {
    pub(crate) tables: &'a Tables<D>,
    /// The generation in which it began.
    pub(crate) generation: u64,
    pub(crate) platform: &'a P,
    pub(crate) budget: &'a mut WorkBudget<F>,
    pub(crate) limits: &'a LearnedLimits,
}

/// How a batch ended.
enum Batch {
    /// The next batch may follow: vectors were stored, or a smaller batch is to be tried.
    Continue,
    /// No chunk is left.
    Empty,
    Failed(EmbeddingFailure),
}

impl<D: Database, P: Platform, F: AsyncFn()> Embedder<'_, D, P, F> {
    /// Embeds the chunks that have no vectors yet, by each of the services, and then deletes the vectors of all other
    /// models.
    pub(crate) async fn embed(
        &mut self,
        services: &[EmbeddingService<'_>],
    ) -> Result<EmbeddingOutcome> {
        if !self.tables.exist()? {
            return Ok(EmbeddingOutcome::Complete);
        }
        // Chunks that a lost instance left hidden would hold up all chunks behind them.
        Writer::new(self.tables, self.budget).sweep_leftovers().await?;
        let platform = self.platform;
        let began_at = platform.now_ms();
        let (mut batches, mut failure, mut is_late) = (0, None, false);
        for service in services {
            loop {
                if batches == BATCHES {
                    return Ok(EmbeddingOutcome::Partial);
                }
                batches += 1;
                let left_ms = MOST_MS.saturating_sub(platform.now_ms().saturating_sub(began_at));
                let batch = with_timeout(platform, left_ms, Box::pin(self.batch(service))).await;
                let Some(batch) = batch else {
                    self.limits.batch_chunks.set(self.limits.batch_chunks.get().div_ceil(2));
                    let reason = format!("{}: it took too long", service.embeddings.model);
                    return Ok(EmbeddingOutcome::Failed { retry_after_ms: None, reason });
                };
                match batch? {
                    Batch::Continue => {
                        is_late = platform.now_ms().saturating_sub(began_at) >= RUN_MS;
                        if is_late {
                            break;
                        }
                    }
                    Batch::Empty => break,
                    Batch::Failed(failed) => {
                        failure.get_or_insert((&service.embeddings.model, failed));
                        break;
                    }
                }
            }
        }
        if let Some((model, failure)) = failure {
            let retry_after_ms = failure.retry_after_ms();
            let reason = format!("{model}: {failure}");
            return Ok(EmbeddingOutcome::Failed { retry_after_ms, reason });
        }
        if is_late {
            return Ok(EmbeddingOutcome::Partial);
        }
        self.delete_other_sets(services).await?;
        Ok(EmbeddingOutcome::Complete)
    }

    /// Embeds the next chunks.
    async fn batch(&mut self, service: &EmbeddingService<'_>) -> Result<Batch> {
        self.budget.spend(CHUNK_WORK.times(STEP_CHUNKS)).await;
        if self.is_erased() {
            return Ok(Batch::Empty);
        }
        let set = || self.tables.vector_set(service.embeddings);
        let set = self.tables.step(self.generation, set)?;
        let most = self.limits.batch_chunks.get().min(BATCH_NUMBERS / set.dimensions.max(1));
        let chunks = self.tables.pending_chunks(&set, most, BATCH_BYTES)?;
        if chunks.is_empty() {
            return Ok(Batch::Empty);
        }
        let text_bytes = self.text_bytes(&set);
        let vectors = match self.vectors(service, &set, &chunks, text_bytes).await {
            Ok(vectors) => vectors,
            Err(failure) if !failure.may_be_the_texts() => {
                if failure.is_rate_limit() {
                    self.limits.batch_chunks.set(chunks.len().div_ceil(2));
                }
                return Ok(Batch::Failed(failure));
            }
            Err(failure) => match self.reduce(service, &set, &chunks, failure).await {
                Ok(Some(vectors)) => vectors,
                Ok(None) => return Ok(Batch::Continue),
                Err(failure) => return Ok(Batch::Failed(failure)),
            },
        };
        self.budget.spend(CHUNK_WORK.times(STEP_CHUNKS)).await;
        self.tables.step(self.generation, || self.tables.store_vectors(&set, &chunks, &vectors))?;
        let batch = self.limits.batch_chunks.get().max(chunks.len() * 2);
        self.limits.batch_chunks.set(batch.min(BATCH_CHUNKS));
        Ok(Batch::Continue)
    }

    /// The vectors of chunks: of the path of each, and `text_bytes` of its text.
    async fn vectors(
        &mut self,
        service: &EmbeddingService<'_>,
        set: &VectorSet,
        chunks: &[PendingChunk],
        text_bytes: usize,
    ) -> Result<Vec<QuantizedVector>, EmbeddingFailure> {
        let inputs: Vec<String> = chunks.iter().map(|chunk| input(chunk, text_bytes)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let vectors = self.request(service, set, &inputs).await?;
        let longest =
            chunks.iter().map(|chunk| chunk.text.len().min(text_bytes)).max().unwrap_or(0);
        self.limits.of(set, |known| known.embedded_bytes = known.embedded_bytes.max(longest));
        Ok(vectors)
    }

    async fn request(
        &mut self,
        service: &EmbeddingService<'_>,
        set: &VectorSet,
        inputs: &[&str],
    ) -> Result<Vec<QuantizedVector>, EmbeddingFailure> {
        let Self { tables, generation, platform, budget, limits } = self;
        let is_wanted = || tables.generation() == *generation;
        let longest_ms = if inputs.len() > 1 { RUN_MS } else { SINGLE_MS };
        let embedding = Box::pin(service.embed(*platform, budget, limits, set, inputs, is_wanted));
        in_time(*platform, longest_ms, embedding).await
    }

    /// Reduces the next request after the service refused some chunks: to half of several chunks, or to a shorter text
    /// of a single one. Returns the empty vector of a chunk that the service refuses at every length, and `None` where
    /// the next batch is smaller.
    async fn reduce(
        &mut self,
        service: &EmbeddingService<'_>,
        set: &VectorSet,
        chunks: &[PendingChunk],
        refusal: EmbeddingFailure,
    ) -> Result<Option<Vec<QuantizedVector>>, EmbeddingFailure> {
        let [chunk] = chunks else {
            self.limits.batch_chunks.set(chunks.len() / 2);
            return Ok(None);
        };
        if self.is_erased() || self.request(service, set, &[PROBE]).await.is_err() {
            return Err(refusal);
        }
        let whole = chunk.text.len().min(self.text_bytes(set));
        let mut bytes = whole;
        // A text that was erased meanwhile is not sent again.
        while !self.is_erased() {
            // Retry once at full length: the failure may have been temporary.
            match self.vectors(service, set, chunks, bytes).await {
                Ok(vectors) => {
                    // Where a text as long was embedded, it is the words that were refused, and not the length.
                    if bytes < whole && whole > self.limits.of(set, |known| known.embedded_bytes) {
                        self.limits.of(set, |known| known.text_bytes = Some(bytes));
                    }
                    return Ok(Some(vectors));
                }
                Err(failure) if !failure.may_be_the_texts() => return Err(failure),
                Err(_) => bytes /= 2,
            }
            if bytes < LEAST_BYTES {
                return Ok(Some(vec![QuantizedVector::none()]));
            }
        }
        Err(refusal)
    }

    /// Deletes the vectors of models for which there is no service. While a long document is written, chunks behind its
    /// hidden ones may lack the vectors of the new model, so the former ones stay.
    async fn delete_other_sets(&mut self, services: &[EmbeddingService<'_>]) -> Result<()> {
        if self.is_erased() || !self.tables.state()?.hidden.is_empty() {
            return Ok(());
        }
        for set in self.tables.vector_sets()? {
            let mut is_done = services.iter().any(|service| set.is_by(service.embeddings));
            while !is_done {
                self.budget.spend(CHUNK_WORK.times(STEP_CHUNKS)).await;
                let delete = || self.tables.delete_part_of_set(set.id);
                is_done = self.tables.step(self.generation, delete)?;
            }
        }
        Ok(())
    }

    /// The most bytes of a chunk's text.
    fn text_bytes(&self, set: &VectorSet) -> usize {
        self.limits.of(set, |known| known.text_bytes).unwrap_or(usize::MAX)
    }

    fn is_erased(&self) -> bool {
        self.tables.generation() != self.generation
    }
}

/// The text that stands for a chunk: its path, and the beginning of its text.
fn input(chunk: &PendingChunk, text_bytes: usize) -> String {
    let end = chunk.text.floor_char_boundary(text_bytes);
    format!("{}\n{}", chunk.path, chunk.text.get(..end).unwrap_or(&chunk.text))
}
