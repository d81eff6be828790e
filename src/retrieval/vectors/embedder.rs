//! The embedding of a workspace's chunks, in the background of what changes them (interface §7).
//!
//! A batch is one request to the service and one step of the index, so a crash costs a batch at most. What the
//! service refuses is asked for in smaller batches, at last alone; a chunk that it refuses although it embeds
//! other texts is shortened, and in the end left without a vector.

use super::embedding_service::{
    BATCH_CHUNKS, BATCH_NUMBERS, EmbeddingFailure, EmbeddingService, Manner,
};
use super::quantized_vector::Vector;
use super::vector_tables::{Unembedded, VectorSet};
use crate::contract::Fault;
use crate::ports::{Database, Platform};
use crate::retrieval::index::{CHUNK_WORK, STEP_CHUNKS, Tables, Writing};
use crate::retrieval::pace::Pace;

/// About the most bytes of a batch's text.
const BATCH_BYTES: usize = 200_000;

/// The batches that are made before others have their turn.
const BATCHES: usize = 64;

/// A chunk is not shortened below this many bytes.
const LEAST_BYTES: usize = 256;

/// A text that every service embeds unless it embeds none.
const PROBE: &str = "text";

/// How an embedding ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Embedded {
    /// All chunks have their vectors, but for those that the service refused.
    All,
    /// There is more to do.
    Some,
    /// The service failed.
    Failed {
        /// How long it asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
        /// For the operator's log.
        why: String,
    },
}

/// The embedding of one workspace.
pub(in crate::retrieval) struct Embedder<'a, D, P, F> {
    pub(in crate::retrieval) tables: &'a Tables<D>,
    /// The era in which it began.
    pub(in crate::retrieval) era: u64,
    pub(in crate::retrieval) platform: &'a P,
    pub(in crate::retrieval) pace: &'a mut Pace<F>,
    pub(in crate::retrieval) manner: &'a Manner,
}

impl<D: Database, P: Platform, F: AsyncFn()> Embedder<'_, D, P, F> {
    /// Embeds what has no vectors yet, by each of the services, and then forgets the vectors of all others.
    pub(in crate::retrieval) async fn embed(
        &mut self,
        services: &[EmbeddingService<'_>],
    ) -> Result<Embedded, Fault> {
        if !self.tables.exist()? {
            return Ok(Embedded::All);
        }
        // What an earlier instance was about to write would hold up all that comes behind it.
        Writing::new(self.tables, self.pace).sweep_leftovers().await?;
        let (mut batches, mut failure) = (0, None);
        for service in services {
            loop {
                if batches == BATCHES {
                    return Ok(Embedded::Some);
                }
                batches += 1;
                match self.batch(service).await? {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(failed) => {
                        failure.get_or_insert((&service.embeddings.model, failed));
                        break;
                    }
                }
            }
        }
        if let Some((model, failure)) = failure {
            let retry_after_ms = failure.retry_after_ms();
            return Ok(Embedded::Failed { retry_after_ms, why: format!("{model}: {failure}") });
        }
        self.forget_others(services).await?;
        Ok(Embedded::All)
    }

    /// Embeds the next chunks; whether there were any.
    async fn batch(
        &mut self,
        service: &EmbeddingService<'_>,
    ) -> Result<Result<bool, EmbeddingFailure>, Fault> {
        self.pace.before(STEP_CHUNKS * CHUNK_WORK).await;
        if self.tables.era() != self.era {
            return Ok(Ok(false));
        }
        let set = self.tables.step(self.era, || self.tables.vector_set(service.embeddings))?;
        let most = self.manner.batch.get().min(BATCH_NUMBERS / set.dimensions.max(1));
        let chunks = self.tables.unembedded(&set, most, BATCH_BYTES)?;
        if chunks.is_empty() {
            return Ok(Ok(false));
        }
        let most = self.manner.text.get();
        let vectors = match self.vectors(service, &set, &chunks, most).await {
            Ok(vectors) => vectors,
            Err(failure) if !failure.may_be_the_texts() => return Ok(Err(failure)),
            Err(failure) => match self.smaller(service, &set, &chunks, failure).await {
                Ok(Some(vectors)) => vectors,
                Ok(None) => return Ok(Ok(true)),
                Err(failure) => return Ok(Err(failure)),
            },
        };
        self.pace.before(STEP_CHUNKS * CHUNK_WORK).await;
        self.tables.step(self.era, || self.tables.keep_vectors(&set, &chunks, &vectors))?;
        let batch = self.manner.batch.get().max(chunks.len() * 2);
        self.manner.batch.set(batch.min(BATCH_CHUNKS));
        Ok(Ok(true))
    }

    /// The vectors of documents' paths and the texts of chunks, `most` bytes of each.
    async fn vectors(
        &mut self,
        service: &EmbeddingService<'_>,
        set: &VectorSet,
        chunks: &[Unembedded],
        most: usize,
    ) -> Result<Vec<Vector>, EmbeddingFailure> {
        let inputs: Vec<String> = chunks.iter().map(|chunk| input(chunk, most)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let model = (set.model.as_str(), set.dimensions);
        let Self { tables, era, platform, pace, manner } = self;
        let may_repeat = || tables.era() == *era;
        service.embed(*platform, pace, manner, model, &inputs, &may_repeat).await
    }

    /// Sees to it that less is asked for, after the service refused some chunks. Returns no vector for one that
    /// it does not take in any length, and `None` where it is asked again.
    async fn smaller(
        &mut self,
        service: &EmbeddingService<'_>,
        set: &VectorSet,
        chunks: &[Unembedded],
        refused: EmbeddingFailure,
    ) -> Result<Option<Vec<Vector>>, EmbeddingFailure> {
        let [chunk] = chunks else {
            self.manner.batch.set(chunks.len() / 2);
            return Ok(None);
        };
        let model = (set.model.as_str(), set.dimensions);
        let Self { tables, era, platform, pace, manner } = self;
        let is_there = || tables.era() == *era;
        if !is_there()
            || service.embed(*platform, pace, manner, model, &[PROBE], &is_there).await.is_err()
        {
            return Err(refused);
        }
        let known = chunk.text.len().min(self.manner.text.get());
        let mut bytes = known;
        // What was erased meanwhile is sent no more.
        while self.tables.era() == self.era {
            // The first time it is as long as before: the service may have been ill, and be well again.
            match self.vectors(service, set, chunks, bytes).await {
                Ok(vectors) => {
                    if bytes < known {
                        self.manner.text.set(bytes);
                    }
                    return Ok(Some(vectors));
                }
                Err(failure) if !failure.may_be_the_texts() => return Err(failure),
                Err(_) => bytes /= 2,
            }
            if bytes < LEAST_BYTES {
                return Ok(Some(vec![Vector::none()]));
            }
        }
        Err(refused)
    }

    /// Deletes the vectors of models that no service is for.
    async fn forget_others(&mut self, services: &[EmbeddingService<'_>]) -> Result<(), Fault> {
        if self.tables.era() != self.era {
            return Ok(());
        }
        for set in self.tables.vector_sets()? {
            let mut is_gone = services.iter().any(|service| set.is_by(service.embeddings));
            while !is_gone {
                self.pace.before(STEP_CHUNKS * CHUNK_WORK).await;
                is_gone = self.tables.step(self.era, || self.tables.forget_set(set.id))?;
            }
        }
        Ok(())
    }
}

/// What is embedded of a chunk.
fn input(chunk: &Unembedded, most: usize) -> String {
    let end = chunk.text.floor_char_boundary(most);
    format!("{}\n{}", chunk.path, chunk.text.get(..end).unwrap_or(&chunk.text))
}
