//! Reading `Embeddings` (interface §7): the service that turns chunks and questions into vectors.

use std::ops::RangeInclusive;

use super::definitions::{AgentContext, Catalog, DEFAULT_CONTEXT, Embeddings, HeaderTemplate};
use super::findings::{Findings, Recipient};
use super::http_endpoint::{TIMEOUT_MS, base_url, headers, hold_secret, refuse_open_secret};
use super::residence::residence;
use super::values::{integer, model, thousandths};
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
    Embeddings by Findings {
        "Model" required => model = model(),
        /// The numbers of a vector. Another one, as another Model, has all chunks embedded again; until then the
        /// vectors that are there serve.
        "Dimensions" required => dimensions = dimensions(),
        /// {BaseUrl}/embeddings is called. Absent: the agent context's BaseUrl, with its key, Headers and Query.
        "BaseUrl" => base_url = base_url("embeddings"),
        /// Headers of every request, as those of a model service.
        "Headers" => headers = headers(Recipient::ModelService),
        "TimeoutMs" => timeout_ms = integer(TIMEOUT_MS) or DEFAULT_TIMEOUT_MS,
        /// The part of a chunk's score that its place by vectors makes; words make the rest. 0: words alone, 1: vectors
        /// alone.
        "Weight" => weight = thousandths() or DEFAULT_WEIGHT,
        /// The jurisdictions in which the service at BaseUrl is. Without a BaseUrl it is the agent context's.
        "Residence" => residence = residence(),
    }
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

impl AgentContext {
    /// Without a `BaseUrl` in `Embeddings`, vectors come from the context's model service, by its address, its
    /// key and its headers, to which those of `Embeddings` are added, and from where that is.
    pub(super) fn lend_to_embeddings(&mut self) {
        let Some(embeddings) = &mut self.retrieval.embeddings else { return };
        if embeddings.base_url.is_some() {
            return;
        }
        embeddings.base_url.clone_from(&self.base_url);
        embeddings.query.clone_from(&self.query);
        embeddings.residence.clone_from(&self.residence);
        embeddings.api_key_secret.clone_from(&self.api_key_secret);
        for header in &self.headers {
            let has = |own: &HeaderTemplate| own.name.eq_ignore_ascii_case(&header.name);
            if !embeddings.headers.iter().any(has) {
                embeddings.headers.push(header.clone());
            }
        }
    }
}

impl Catalog {
    /// The services by which workspaces are embedded: one for each model with its dimensions, that of the
    /// `default` contexts first. Of a tenant with a jurisdiction, those that are there.
    pub fn embeddings(&self, jurisdiction: Option<Jurisdiction>) -> Vec<&Embeddings> {
        let default = self.goes_on_under(DEFAULT_CONTEXT).map(|(_, context)| context);
        let default = default.and_then(|context| self.agent_context(&context.agent_context_id));
        let mut services: Vec<&Embeddings> = Vec::new();
        for context in default.into_iter().chain(self.agent_contexts.values()) {
            let Some(embeddings) = &context.retrieval.embeddings else { continue };
            if jurisdiction.is_some_and(|needed| !embeddings.resides(needed)) {
                continue;
            }
            if !services.iter().any(|known| known.makes(&embeddings.model, embeddings.dimensions)) {
                services.push(embeddings);
            }
        }
        services
    }
}

impl Embeddings {
    /// Whether its vectors are of that model and length.
    pub fn makes(&self, model: &str, dimensions: usize) -> bool {
        self.model == model && self.dimensions == dimensions
    }
}
