//! Reading an agent context: which model service is called, and where chunks come from
//! (interface §6, §7).

use std::ops::RangeInclusive;

use super::definitions::{AgentContext, Continuation, HttpService, Retrieval, RetrievalSource};
use super::findings::{Findings, Recipient};
use super::http_endpoint::base_url;
use super::names::is_secret_name;
use super::values::{choice, flag, integer, model, named};
use crate::json::{Node, ObjectShape};

const AGENT_CONTEXT: ObjectShape = ObjectShape::new(
    &[
        "BaseUrl",
        "ApiKeySecret",
        "Model",
        "Continuation",
        "ResendTools",
        "DeleteStored",
        "Retrieval",
    ],
    &[],
);

const RETRIEVAL: ObjectShape = ObjectShape::new(&["Index", "Http"], &[]);
const INDEX: ObjectShape = ObjectShape::new(&["Limit", "MaxBytes"], &[]);
const HTTP: ObjectShape =
    ObjectShape::new(&["Url", "Headers", "TimeoutMs", "Limit", "MaxBytes"], &["Url"]);

/// Chunks given to a turn.
const LIMIT: RangeInclusive<u32> = 1..=100;
/// Bytes of chunk text given to a turn.
const MAX_BYTES: RangeInclusive<u32> = 1..=1_048_576;

/// Reads an agent context.
pub(super) fn agent_context(node: Node<'_, '_>, found: &mut Findings) -> AgentContext {
    let mut context = AgentContext {
        base_url: None,
        api_key_secret: None,
        model: None,
        continuation: Continuation::Stored,
        resend_tools: true,
        delete_stored: false,
        retrieval: Retrieval::default(),
    };
    AGENT_CONTEXT.read(node, found, |name, node, found| match name {
        "BaseUrl" => context.base_url = Some(base_url(node, found)),
        "ApiKeySecret" => context.api_key_secret = Some(secret_name(node, found)),
        "Model" => context.model = Some(model(node, found)),
        "Continuation" => {
            let choices = [("stored", Continuation::Stored), ("replay", Continuation::Replay)];
            context.continuation = choice(node, choices, found);
        }
        "ResendTools" => context.resend_tools = flag(node, found),
        "DeleteStored" => context.delete_stored = flag(node, found),
        _ => context.retrieval = retrieval(node, found),
    });
    context
}

fn retrieval(node: Node<'_, '_>, found: &mut Findings) -> Retrieval {
    const SHAPES: &str = "must be {\"Index\": {}}, {\"Http\": {…}} or \"None\"";
    let mut retrieval = Retrieval::default();
    if let Some(word) = node.as_text() {
        if word != "None" {
            found.fault(node, SHAPES);
        }
        return Retrieval { source: RetrievalSource::None, ..retrieval };
    }
    // Reports unknown members only; the match below reads the known ones.
    RETRIEVAL.read(node, found, |_, _, _| {});
    match (node.find("Index"), node.find("Http")) {
        (Some(index), None) => {
            INDEX.read(index, found, |name, node, found| retrieval.take(name, node, found));
        }
        (None, Some(http)) => {
            let mut service = HttpService::default();
            HTTP.read(http, found, |name, node, found| match name {
                "Limit" | "MaxBytes" => retrieval.take(name, node, found),
                _ => service.take(name, node, found),
            });
            retrieval.source = RetrievalSource::Http(service);
        }
        _ if node.is_object() => found.fault(node, SHAPES),
        _ => {}
    }
    retrieval
}

impl Retrieval {
    /// Reads `Limit` or `MaxBytes`.
    fn take(&mut self, member: &str, node: Node<'_, '_>, found: &mut Findings) {
        match member {
            "Limit" => self.limit = integer(node, LIMIT, found),
            _ => self.max_bytes = integer(node, MAX_BYTES, found),
        }
    }
}

fn secret_name(node: Node<'_, '_>, found: &mut Findings) -> String {
    let remedy = "must be the name of a secret (letters, digits and _, not starting with a digit), \
                  never the key itself";
    let name = named(node, is_secret_name, remedy, found);
    if !name.is_empty() {
        found.secret(node, &name, Recipient::ModelService);
    }
    name
}
