//! Reading `Embeddings` (interface §7): the service that turns chunks and questions into vectors.

use std::ops::RangeInclusive;

use super::definitions::HeaderTemplate;
use super::findings::{Findings, Recipient};
use super::http_endpoint::{TIMEOUT_MS, base_url, headers, hold_secret, refuse_open_secret};
use super::values::{each_once, integer, model, named, thousandths};
use crate::encoding::Jurisdiction;
use crate::json::{Node, declared_object};

/// The numbers of a vector.
const DIMENSIONS: RangeInclusive<u32> = 1..=4_096;

/// For one request, in milliseconds: a turn waits for the vector of its question.
const DEFAULT_TIMEOUT_MS: u64 = 10_000;

/// The weight of vectors against words, in thousandths: a little less, since a name that a question spells out is seldom
/// chance.
const DEFAULT_WEIGHT: u32 = 430;

declared_object! {
    /// The service that embeds chunks and questions: POST {BaseUrl}/embeddings. The rankings by words and by vectors
    /// are fused. A workspace keeps vectors for each Model with its Dimensions that the catalog names.
    #[derive(Eq)]
    pub struct Embeddings by Findings {
        "Model" required => model: String = model(),
        /// The numbers of a vector. Another one, as another Model, has all chunks embedded again; until then the
        /// vectors that are there serve.
        "Dimensions" required => dimensions: usize = dimensions(),
        /// {BaseUrl}/embeddings is called. Absent: the agent context's BaseUrl, with its key, Headers and Query.
        "BaseUrl" => base_url: Option<String> = base_url("embeddings"),
        /// Headers of every request, as those of a model service.
        "Headers" => headers: Vec<HeaderTemplate> = headers(Recipient::ModelService),
        "TimeoutMs" => timeout_ms: u64 = integer(TIMEOUT_MS) or DEFAULT_TIMEOUT_MS,
        /// The part of a chunk's score that its place by vectors makes; words make the rest. 0: words alone, 1: vectors
        /// alone.
        "Weight" => weight: u32 = thousandths() or DEFAULT_WEIGHT,
        /// The jurisdictions in which the service at BaseUrl is. Without a BaseUrl it is the agent context's.
        "Residence" => residence: Vec<Jurisdiction> = residence(),
    } with {
        /// The name of the secret that holds the agent context's key, if the document has no `BaseUrl`. A header
        /// with a key takes its place.
        pub api_key_secret: Option<String>,
        /// Names and values of every request's query: the agent context's if the document has no `BaseUrl`, else
        /// none.
        pub query: Vec<(String, String)>,
    }
}

/// Reads the jurisdictions in which a service is.
pub(super) fn residence(node: Node<'_, '_>, findings: &mut Findings) -> Vec<Jurisdiction> {
    each_once(node, "jurisdiction", findings, named).0
}

fn dimensions(node: Node<'_, '_>, findings: &mut Findings) -> usize {
    integer(node, DIMENSIONS, findings) as usize
}

pub(super) fn embeddings(node: Node<'_, '_>, findings: &mut Findings) -> Embeddings {
    let embeddings = Embeddings::read(node, findings);
    refuse_open_secret(node, "BaseUrl", hold_secret(&embeddings.headers), findings);
    if embeddings.base_url.is_none()
        && let Some(stated) = node.find("Residence")
    {
        let problem = "is that of a \"BaseUrl\" beside it; without one the agent context's \"Residence\" holds: remove it";
        findings.fault(stated, problem);
    }
    embeddings
}

impl Embeddings {
    /// Whether its vectors are of that model and length.
    pub fn makes(&self, model: &str, dimensions: usize) -> bool {
        self.model == model && self.dimensions == dimensions
    }
}
