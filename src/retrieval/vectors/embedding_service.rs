//! A service that turns texts into vectors, by `POST {BaseUrl}/embeddings` (interface §7).
//!
//! Services differ in what they take: some refuse the member `encoding_format`, some `dimensions` as well. So these
//! go with the first request, and are left out where the service refuses them and its vectors fit without.

use std::cell::{Cell, RefCell};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::quantized_vector::Vector;
use crate::catalog::Embeddings;
use crate::json::{first_member, for_each_element};
use crate::outbound::{SecretHeaders, Service, ServiceFailure, address, post_to};
use crate::ports::Platform;
use crate::retrieval::pace::Pace;

/// The most chunks of a batch, and the most numbers of their vectors: an isolate may embed many workspaces at once,
/// and has 128 MB for all.
pub(super) const BATCH_CHUNKS: usize = 128;
pub(super) const BATCH_NUMBERS: usize = 128 * 1024;

/// The longest response, in bytes, each number in at most 32 characters.
const MAX_RESPONSE_BYTES: usize = 32 * BATCH_NUMBERS;

/// The nanoseconds in which a number of a response is read.
const NUMBER_NS: usize = 50;

/// A service of the catalog's.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingService<'a> {
    /// As the catalog has it.
    pub embeddings: &'a Embeddings,
    /// Where requests go when the catalog names no place.
    pub base_url: &'a str,
}

/// What this instance has learned of the services.
#[derive(Debug)]
pub(in crate::retrieval) struct Manner {
    /// The most chunks of the next batch.
    pub(in crate::retrieval) batch: Cell<usize>,
    /// The most bytes of a chunk's text.
    pub(in crate::retrieval) text: Cell<usize>,
    /// The models, with their lengths, whose services refuse some members, and how many are left out for them.
    left_out: RefCell<Vec<(String, usize, usize)>>,
}

impl Default for Manner {
    fn default() -> Self {
        let (batch, text) = (Cell::new(BATCH_CHUNKS), Cell::new(usize::MAX));
        Self { batch, text, left_out: RefCell::default() }
    }
}

/// Why there are no vectors. The text is for the operator's log.
#[derive(Debug, thiserror::Error)]
pub(in crate::retrieval) enum EmbeddingFailure {
    #[error("{0}")]
    Service(#[from] ServiceFailure),
    #[error("its answer holds no vector for each text")]
    NoVectors,
    #[error("its vectors have {0} numbers, and the catalog says {1}")]
    OtherLength(usize, usize),
}

impl EmbeddingFailure {
    /// Whether fewer or shorter texts may help. Some services answer texts that are too long with 500.
    pub(in crate::retrieval) fn may_be_the_texts(&self) -> bool {
        match self {
            Self::Service(
                ServiceFailure::TimedOut(_) | ServiceFailure::NotJson | ServiceFailure::TooLarge(_),
            )
            | Self::NoVectors => true,
            Self::Service(ServiceFailure::Status { status, .. }) => {
                matches!(status, 400 | 413 | 422 | 500)
            }
            _ => false,
        }
    }

    /// How long the service asks to wait, in milliseconds.
    pub(in crate::retrieval) fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Service(ServiceFailure::Status { retry_after_ms, .. }) => *retry_after_ms,
            _ => None,
        }
    }
}

impl EmbeddingService<'_> {
    /// The vectors of some texts by a model, in the order of the texts. `may_repeat` says whether they may still be
    /// sent in another form.
    pub(in crate::retrieval) async fn embed<P: Platform, F: AsyncFn()>(
        &self,
        platform: &P,
        pace: &mut Pace<F>,
        manner: &Manner,
        (model, dimensions): (&str, usize),
        inputs: &[&str],
        may_repeat: &dyn Fn() -> bool,
    ) -> Result<Vec<Vector>, EmbeddingFailure> {
        let service = self.service(platform)?;
        let is_known =
            |(known, length, _): &&(String, usize, usize)| known == model && *length == dimensions;
        let known = manner.left_out.borrow().iter().find(is_known).map_or(0, |known| known.2);
        let plain = json!({ "model": model, "input": inputs }).to_string();
        let mut left_out = known;
        let answer = loop {
            let members = match left_out {
                0 => format!(r#","dimensions":{dimensions},"encoding_format":"base64"}}"#),
                1 => format!(r#","dimensions":{dimensions}}}"#),
                _ => "}".to_owned(),
            };
            let body = format!("{}{members}", plain.strip_suffix('}').unwrap_or_default());
            let answer =
                post_to(&service, self.embeddings.timeout_ms, body, MAX_RESPONSE_BYTES).await;
            match answer {
                Err(ServiceFailure::Status { status: 400 | 422, .. })
                    if left_out < 2 && may_repeat() =>
                {
                    left_out += 1;
                }
                answer => break answer?,
            }
        };
        let vectors = vectors(pace, &answer, dimensions, inputs.len()).await?;
        // After a refusal that had another reason they would have the model's own length from now on.
        if left_out > known {
            let mut all = manner.left_out.borrow_mut();
            all.retain(|known| !is_known(&known));
            all.push((model.to_owned(), dimensions, left_out));
        }
        Ok(vectors)
    }

    fn service<'p, P: Platform>(&self, platform: &'p P) -> Result<Service<'p, P>, ServiceFailure> {
        let Embeddings { base_url, api_key_secret, headers, query, .. } = self.embeddings;
        let filled = SecretHeaders::expand(platform, headers).map_err(ServiceFailure::Secret)?;
        let filled = filled.with_key(platform, api_key_secret.as_deref());
        let url = address(base_url.as_deref().unwrap_or(self.base_url), &["embeddings"], query);
        Ok(Service::new(platform, url, filled))
    }
}

/// The vectors in `{"data": [{"index", "embedding"}]}`.
async fn vectors<F: AsyncFn()>(
    pace: &mut Pace<F>,
    answer: &str,
    dimensions: usize,
    count: usize,
) -> Result<Vec<Vector>, EmbeddingFailure> {
    let mut items = Vec::new();
    let data = first_member(answer, "data").unwrap_or_default();
    let walked = for_each_element(data, |item| items.push(item));
    if walked.is_err() || items.len() != count {
        return Err(EmbeddingFailure::NoVectors);
    }
    let mut vectors: Vec<Option<Vector>> = Vec::new();
    vectors.resize_with(count, || None);
    for (place, item) in items.into_iter().enumerate() {
        pace.before(dimensions * NUMBER_NS / 1_000).await;
        let index = first_member(item, "index").and_then(|index| index.parse().ok());
        let numbers = first_member(item, "embedding").and_then(numbers);
        let numbers = numbers.ok_or(EmbeddingFailure::NoVectors)?;
        if numbers.len() != dimensions {
            return Err(EmbeddingFailure::OtherLength(numbers.len(), dimensions));
        }
        let slot = vectors.get_mut(index.unwrap_or(place)).ok_or(EmbeddingFailure::NoVectors)?;
        // An ill service gives numbers that have no direction.
        *slot = Some(Vector::of(&numbers)).filter(|vector| !vector.bytes().is_empty());
    }
    vectors.into_iter().collect::<Option<_>>().ok_or(EmbeddingFailure::NoVectors)
}

/// The numbers of an embedding: an array of them, or their bytes in base64, each a little-endian `f32`.
fn numbers(embedding: &str) -> Option<Vec<f32>> {
    if embedding.starts_with('"') {
        let text: String = serde_json::from_str(embedding).ok()?;
        // Some services write the alphabet for URLs.
        let bytes = STANDARD.decode(text.replace('-', "+").replace('_', "/")).ok()?;
        let (numbers, rest) = bytes.as_chunks();
        return rest.is_empty().then(|| numbers.iter().copied().map(f32::from_le_bytes).collect());
    }
    let (mut numbers, mut are_numbers) = (Vec::new(), true);
    let walked = for_each_element(embedding, |number| {
        // Read as JSON, as all numbers here; `null` stands for one that is none.
        match serde_json::from_str::<f64>(number) {
            Ok(number) => numbers.push(number as f32),
            Err(_) => are_numbers = false,
        }
    });
    (walked.is_ok() && are_numbers).then_some(numbers)
}
