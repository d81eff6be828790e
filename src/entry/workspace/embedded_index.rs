//! A workspace's index together with the alarm in which its chunks are embedded, and the embedding of a search's
//! question (interface §7).
//!
//! The object's alarm does the work: it outlives the request that changed the documents, and an instance that
//! crashed. A service that failed is left alone for a while. The index itself is private here, so documents cannot
//! change without the alarm.

use std::rc::Rc;

use serde_json::json;

use super::embedding_wake_up::{ChangeGuard, EmbeddingWakeUp};
use crate::catalog::Embeddings;
use crate::contract::{Result, Warning};
use crate::entry::request_context::IsolateSettings;
use crate::object::Alarm;
use crate::ports::{Database, Platform};
use crate::retrieval::{
    ChunkIndex, EmbeddedQuestion, EmbeddingOutcome, EmbeddingService, Question, QuestionVector,
    budget_of,
};

/// The code of a warning.
const EMBEDDINGS_FAILED: &str = "embeddings_failed";

/// A workspace's index, whose chunks are embedded in the background.
pub(super) struct EmbeddedIndex<P, D> {
    platform: Rc<P>,
    index: ChunkIndex<D>,
    wake_up: EmbeddingWakeUp,
}

impl<P: Platform, D: Database> EmbeddedIndex<P, D> {
    /// The index in a database. Nothing is read or written yet.
    pub(super) fn new(platform: Rc<P>, database: D) -> Self {
        Self { platform, index: ChunkIndex::new(database), wake_up: EmbeddingWakeUp::default() }
    }

    /// Runs a write of documents, which returns also whether there may be chunks to embed, or vectors to delete. The alarm
    /// is set before, so that embedding survives a crash of this instance, and rings at once after such a change.
    pub(super) async fn write<T>(
        &self,
        source: &IsolateSettings,
        write: impl AsyncFnOnce(&ChunkIndex<D>) -> Result<(T, bool)>,
    ) -> Result<T> {
        let guard = self.begin_change(source).await?;
        let written = write(&self.index).await;
        // A write that failed may have left chunks that the alarm sweeps.
        if guard.is_some() && written.as_ref().map_or(true, |(_, changed)| *changed) {
            self.wake_up.set_in(self.platform.as_ref(), 0)?;
        }
        Ok(written?.0)
    }

    /// The index, for what reads it. Whatever changes it goes through [`EmbeddedIndex::write`].
    pub(super) fn chunks(&self) -> &ChunkIndex<D> {
        &self.index
    }

    /// Deletes the index, its alarm, and the storage that they took.
    pub(super) async fn erase(&self) -> Result<()> {
        self.index.erase()?;
        // Frees the space of the erased tables. No other request ran in between.
        self.platform.free_storage().await?;
        self.index.forget();
        self.wake_up.reset();
        Ok(())
    }

    pub(super) fn alarm(&self) -> &Alarm {
        &self.wake_up.alarm
    }

    /// Embeds chunks, and sets the alarm for what is left of them; `alarm_interval_ms` is `TURN_ALARM_MS`.
    pub(super) async fn embed(
        &self,
        source: &IsolateSettings,
        alarm_interval_ms: u64,
    ) -> Result<()> {
        let platform = self.platform.as_ref();
        if self.wake_up.is_backing_off(platform) {
            // The alarm was set before the service failed, by a change that came while it was asked.
            return self.wake_up.set_in(platform, 0);
        }
        let deployment = source.deployment(platform).unwrap_or_default();
        let Ok(catalog) = source.catalog(platform).await else {
            return self.wake_up.set_in(platform, alarm_interval_ms);
        };
        let jurisdiction = platform.jurisdiction();
        if jurisdiction.is_some_and(|needed| !catalog.default_resides(needed)) {
            // The next upsert or search that is permitted goes on.
            return Ok(());
        }
        let service =
            |embeddings| EmbeddingService { embeddings, base_url: deployment.base_url.as_str() };
        let services: Vec<_> = catalog.embeddings(jurisdiction).into_iter().map(service).collect();
        let budget = &mut budget_of(platform);
        let (retry_after_ms, reason) = match self.index.embed(budget, platform, &services).await {
            Ok(EmbeddingOutcome::Complete) => {
                self.wake_up.backoff.note(false);
                // While documents change, the alarm stays set: this instance may be lost before they are stored.
                let has_changes = self.wake_up.changes.get() > 0;
                return if has_changes {
                    self.wake_up.set_in(platform, alarm_interval_ms)
                } else {
                    Ok(())
                };
            }
            Ok(EmbeddingOutcome::Partial) => return self.wake_up.set_in(platform, 0),
            Ok(EmbeddingOutcome::Failed { retry_after_ms, reason }) => (retry_after_ms, reason),
            Err(fault) => (None, fault.message),
        };
        let wait_ms = self.wake_up.failed(platform, retry_after_ms, alarm_interval_ms);
        platform.log(json!({
            "event": "embedding_failed", "level": "error", "failure": reason, "retry_ms": wait_ms,
        }));
        self.wake_up.set_in(platform, wait_ms)
    }

    /// Sets the alarm before documents change. The guard that it returns is held while they change; `None` where there
    /// is nothing to embed and nothing to forget.
    async fn begin_change(&self, source: &IsolateSettings) -> Result<Option<ChangeGuard<'_>>> {
        let platform = self.platform.as_ref();
        let jurisdiction = platform.jurisdiction();
        // Documents may change without a catalog; the alarm waits for one.
        let catalog = source.catalog(platform).await;
        let is_wanted =
            catalog.map_or(true, |catalog| !catalog.embeddings(jurisdiction).is_empty());
        if !is_wanted && !self.index.has_vectors()? {
            return Ok(None);
        }
        let alarm_interval_ms = source.alarm_interval_ms(platform);
        self.wake_up.set_in(platform, alarm_interval_ms)?;
        Ok(Some(self.wake_up.begin_change()))
    }

    /// A warning while a service that failed is left alone.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let message = "The embeddings service failed; it is asked again soon.";
        let is_backing_off = self.wake_up.is_backing_off(self.platform.as_ref());
        is_backing_off.then(|| Warning::new(EMBEDDINGS_FAILED, message)).into_iter().collect()
    }

    /// The vector of a question for a turn with that agent context, and a warning where only words can rank.
    pub(super) async fn question_vector(
        &self,
        source: &IsolateSettings,
        agent_context: &str,
        question: &str,
    ) -> Result<(Option<QuestionVector>, Vec<Warning>)> {
        let platform = self.platform.as_ref();
        let Ok(catalog) = source.catalog(platform).await else { return Ok((None, Vec::new())) };
        let agent = catalog.agent_context(agent_context);
        let embeddings = agent.and_then(|agent| agent.retrieval.embeddings.as_ref());
        let jurisdiction = platform.jurisdiction();
        let is_there =
            |embeddings: &&Embeddings| jurisdiction.is_none_or(|needed| embeddings.resides(needed));
        let Some(embeddings) = embeddings.filter(is_there) else {
            return Ok((None, Vec::new()));
        };
        let deployment = source.deployment(platform)?;
        let question = Question {
            text: question,
            service: EmbeddingService { embeddings, base_url: &deployment.base_url },
            catalog: &catalog.embeddings(jurisdiction),
        };
        let budget = &mut budget_of(platform);
        let EmbeddedQuestion { vector, failure, has_pending_chunks } =
            self.index.embed_question(budget, platform, question).await?;
        // An index without chunks gets no warning: its search returns nothing either way.
        let is_by_words = failure.is_some() || (vector.is_none() && has_pending_chunks);
        let (code, message) = match failure.is_some() || self.wake_up.is_backing_off(platform) {
            true => (
                EMBEDDINGS_FAILED,
                "The embeddings could not be used; the chunks were found by their words alone.",
            ),
            false => (
                "embeddings_pending",
                "The workspace is being embedded; the chunks were found by their words alone.",
            ),
        };
        let warning = is_by_words.then(|| Warning::new(code, message));
        if let Some(failure) = failure {
            platform.log(json!({
                "event": "embedding_failed", "level": "error", "failure": failure,
            }));
        }
        if has_pending_chunks {
            self.wake_up.set_in(platform, 0)?;
        }
        Ok((vector, warning.into_iter().collect()))
    }
}
