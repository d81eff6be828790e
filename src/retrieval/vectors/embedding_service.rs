//! A service that turns texts into vectors, by `POST {BaseUrl}/embeddings` (interface §7).
//!
//! Services differ in the members that they accept: some refuse `encoding_format`, some `dimensions` as well. The first
//! request has both. Members that the service refuses are omitted if its vectors have the right length without them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::quantized_vector::QuantizedVector;
use super::vector_tables::VectorSet;
use crate::catalog::Embeddings;
use crate::encoding::base64_bytes;
use crate::json::{first_member, for_each_element};
use crate::outbound::{SecretHeaders, Service, ServiceFailure, address, post_to};
use crate::ports::Platform;
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The most chunks of a batch, and the most numbers of their vectors: an isolate may embed many workspaces at once,
/// and has 128 MB for all.
pub(super) const BATCH_CHUNKS: usize = 128;
pub(super) const BATCH_NUMBERS: usize = 128 * 1024;

/// The longest response, in bytes, each number in at most 32 characters.
const MAX_RESPONSE_BYTES: usize = 32 * BATCH_NUMBERS;

/// The work of reading a number of a response.
const NUMBER_WORK: Work = Work::from_ns(50);

/// A service of the catalog's.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingService<'a> {
    /// As the catalog has it.
    pub embeddings: &'a Embeddings,
    /// Where requests go when `embeddings` has no base URL.
    pub base_url: &'a str,
}

/// The limits of services, as this instance has learned them from their refusals.
pub(crate) struct LearnedLimits {
    /// The most chunks of the next batch.
    pub(super) batch_chunks: Cell<usize>,
    /// What else was learned of models, by their names and the lengths of their vectors.
    models: RefCell<BTreeMap<(String, usize), LearnedModel>>,
}

#[derive(Default)]
pub(super) struct LearnedModel {
    /// How many members of a request its service refuses.
    omitted: usize,
    /// Whether the model has embedded anything, a question or a chunk.
    has_embedded: bool,
    /// The bytes of the longest text of a chunk that the model has embedded.
    pub(super) embedded_bytes: usize,
    /// The most bytes of a chunk's text, where longer ones were refused.
    pub(super) text_bytes: Option<usize>,
}

impl Default for LearnedLimits {
    fn default() -> Self {
        Self { batch_chunks: Cell::new(BATCH_CHUNKS), models: RefCell::default() }
    }
}

impl LearnedLimits {
    /// Looks at what was learned of a set's model, or learns more of it.
    pub(super) fn of<T>(&self, set: &VectorSet, look: impl FnOnce(&mut LearnedModel) -> T) -> T {
        let mut models = self.models.borrow_mut();
        look(models.entry((set.model.clone(), set.dimensions)).or_default())
    }
}

/// The body of a request without the last `omitted` members.
fn body(set: &VectorSet, inputs: &[&str], omitted: usize) -> String {
    let members = [
        ("model", json!(set.model)),
        ("input", json!(inputs)),
        ("dimensions", json!(set.dimensions)),
        ("encoding_format", json!("base64")),
    ];
    let body: Value = members.into_iter().take(4 - omitted).collect();
    body.to_string()
}

/// Why there are no vectors. The text is for the operator's log.
#[derive(Debug, thiserror::Error)]
pub(super) enum EmbeddingFailure {
    #[error("{0}")]
    Service(#[from] ServiceFailure),
    #[error("its answer holds no vector for each text")]
    NoVectors,
    #[error("its vectors have {0} numbers, and the catalog says {1}")]
    OtherLength(usize, usize),
}

impl EmbeddingFailure {
    /// Whether fewer or shorter texts may help. Some services answer texts that are too long with 500.
    pub(super) fn may_be_the_texts(&self) -> bool {
        match self {
            // A firewall before the service answers 403 or 406 to words that look like an attack.
            Self::Service(ServiceFailure::Status { status, .. }) => {
                matches!(status, 400 | 403 | 406 | 413 | 422 | 500)
            }
            Self::Service(failure) => matches!(
                failure,
                ServiceFailure::TimedOut(_) | ServiceFailure::NotJson | ServiceFailure::TooLarge(_)
            ),
            Self::NoVectors => true,
            Self::OtherLength(..) => false,
        }
    }

    /// Whether there were too many requests, or too much in one: a service that permits so many tokens a minute refuses a
    /// batch with more of them however long it waits.
    pub(super) fn is_rate_limit(&self) -> bool {
        matches!(self, Self::Service(ServiceFailure::Status { status: 429, .. }))
    }

    /// How long the service asks to wait, in milliseconds.
    pub(super) fn retry_after_ms(&self) -> Option<u64> {
        let Self::Service(ServiceFailure::Status { retry_after_ms, .. }) = self else {
            return None;
        };
        *retry_after_ms
    }
}

impl EmbeddingService<'_> {
    /// The vectors of texts for a set, in the order of the texts. `is_wanted` says whether they may still be sent, for a
    /// request that has to be repeated in another form.
    pub(super) async fn embed<P: Platform, F: AsyncFn()>(
        &self,
        platform: &P,
        budget: &mut WorkBudget<F>,
        limits: &LearnedLimits,
        set: &VectorSet,
        inputs: &[&str],
        is_wanted: impl Fn() -> bool,
    ) -> Result<Vec<QuantizedVector>, EmbeddingFailure> {
        let service = self.service(platform)?;
        let mut omitted = limits.of(set, |known| known.omitted);
        let response = loop {
            let body = body(set, inputs, omitted);
            let (timeout_ms, own) = (self.embeddings.timeout_ms, Vec::new());
            let response = post_to(&service, timeout_ms, own, body, MAX_RESPONSE_BYTES).await;
            let is_refused = match response {
                Err(ServiceFailure::Status { status: 400 | 422, .. }) => true,
                // LiteLLM refuses members so. Of a model that has embedded in this form it is a fault.
                Err(ServiceFailure::Status { status: 500, .. }) => {
                    !limits.of(set, |known| known.has_embedded)
                }
                _ => false,
            };
            if omitted == 2 || !is_refused || !is_wanted() {
                break response?;
            }
            omitted += 1;
        };
        let vectors = read_vectors(budget, &response, set.dimensions, inputs.len()).await?;
        // Remember omitted members only after success: the refusal may have had another cause.
        limits.of(set, |known| (known.omitted, known.has_embedded) = (omitted, true));
        Ok(vectors)
    }

    fn service<'p, P: Platform>(&self, platform: &'p P) -> Result<Service<'p, P>, ServiceFailure> {
        let Embeddings { base_url, api_key_secret, headers, query, .. } = self.embeddings;
        let url = address(base_url.as_deref().unwrap_or(self.base_url), &["embeddings"], query);
        let user = platform.user().map(|user| user.as_str());
        let key = api_key_secret.as_deref();
        let filled = SecretHeaders::of(platform, user, &url, headers, key);
        Ok(Service::new(platform, url, filled.map_err(ServiceFailure::Secret)?))
    }
}

/// The vectors in `{"data": [{"index", "embedding"}]}`.
async fn read_vectors<F: AsyncFn()>(
    budget: &mut WorkBudget<F>,
    response: &str,
    dimensions: usize,
    count: usize,
) -> Result<Vec<QuantizedVector>, EmbeddingFailure> {
    let (mut items, mut listed) = (Vec::new(), 0);
    let data = first_member(response, "data").unwrap_or_default();
    let walked = for_each_element(data, |item| {
        listed += 1;
        if listed <= count {
            items.push(item);
        }
    });
    if walked.is_err() || listed != count {
        return Err(EmbeddingFailure::NoVectors);
    }
    let is_numbered = items.iter().any(|item| first_member(item, "index").is_some());
    let mut vectors: Vec<Option<QuantizedVector>> = vec![None; count];
    for (place, item) in items.into_iter().enumerate() {
        budget.spend(NUMBER_WORK.times(dimensions)).await;
        // A vector of another text would be found for the wrong words, and nobody would see why.
        let index = match is_numbered {
            // Services that write protocol buffers as JSON leave out a 0. The other places show whether it is one.
            true => first_member(item, "index").unwrap_or("0").parse().ok(),
            false => Some(place),
        };
        let slot = index.and_then(|index: usize| vectors.get_mut(index));
        let slot = slot.filter(|slot| slot.is_none()).ok_or(EmbeddingFailure::NoVectors)?;
        let numbers = first_member(item, "embedding").and_then(numbers);
        let numbers = numbers.ok_or(EmbeddingFailure::NoVectors)?;
        if numbers.len() != dimensions {
            return Err(EmbeddingFailure::OtherLength(numbers.len(), dimensions));
        }
        // The numbers of a faulty service may have no direction.
        *slot = Some(QuantizedVector::of(&numbers)).filter(|vector| !vector.bytes().is_empty());
    }
    vectors.into_iter().collect::<Option<_>>().ok_or(EmbeddingFailure::NoVectors)
}

/// The numbers of an embedding: an array of them, or their bytes in base64, each a little-endian `f32`.
fn numbers(embedding: &str) -> Option<Vec<f32>> {
    if embedding.starts_with('"') {
        let text: String = serde_json::from_str(embedding).ok()?;
        // Some services use the base64 alphabet for URLs.
        let bytes = base64_bytes(&text.replace('-', "+").replace('_', "/"))?;
        let (numbers, rest) = bytes.as_chunks();
        return rest.is_empty().then(|| numbers.iter().copied().map(f32::from_le_bytes).collect());
    }
    serde_json::from_str(embedding).ok()
}
