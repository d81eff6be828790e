//! Reading an agent context: which model service is called, and where chunks come from
//! (interface §6, §7).

use std::ops::RangeInclusive;

use super::definitions::{AgentContext, Continuation, HttpTool, Retrieval};
use super::findings::Findings;
use super::http_endpoint::{Endpoint, base_url};
use super::names::is_secret_name;
use super::values::{choice, integer, model, named};
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
const LIMIT: RangeInclusive<u64> = 1..=100;
const DEFAULT_LIMIT: u32 = 8;
/// Bytes of chunk text given to a turn.
const MAX_BYTES: RangeInclusive<u64> = 1..=1_048_576;
const DEFAULT_MAX_BYTES: u32 = 24_576;

/// Reads an agent context.
pub(super) fn agent_context(node: Node<'_, '_>, found: &mut Findings) -> Option<AgentContext> {
    let (mut url, mut api_key_secret, mut named_model) = (None, None, None);
    let (mut continuation, mut resend_tools, mut delete_stored) = (None, None, None);
    let mut source = None;
    AGENT_CONTEXT.read(node, found, |name, node, found| match name {
        "BaseUrl" => url = base_url(node, found),
        "ApiKeySecret" => api_key_secret = secret_name(node, found),
        "Model" => named_model = model(node, found),
        "Continuation" => {
            let choices = [("stored", Continuation::Stored), ("replay", Continuation::Replay)];
            continuation = choice(node, &choices, found);
        }
        "ResendTools" => resend_tools = node.flag(found),
        "DeleteStored" => delete_stored = node.flag(found),
        _ => source = retrieval(node, found),
    });
    Some(AgentContext {
        base_url: url,
        api_key_secret,
        model: named_model,
        continuation: continuation.unwrap_or(Continuation::Stored),
        resend_tools: resend_tools.unwrap_or(true),
        delete_stored: delete_stored.unwrap_or(false),
        retrieval: source.unwrap_or_default(),
    })
}

impl Default for Retrieval {
    fn default() -> Self {
        Self::Index { limit: DEFAULT_LIMIT, max_bytes: DEFAULT_MAX_BYTES }
    }
}

fn retrieval(node: Node<'_, '_>, found: &mut Findings) -> Option<Retrieval> {
    const SHAPES: &str = "must be {\"Index\": {}}, {\"Http\": {…}} or \"None\"";
    if let Some(word) = node.as_text() {
        if word != "None" {
            found.fault(node, SHAPES);
        }
        return Some(Retrieval::None);
    }
    // Reports unknown members only; which of the two members is there is decided below.
    RETRIEVAL.read(node, found, |_, _, _| {});
    match (node.find("Index"), node.find("Http")) {
        (Some(index), None) => {
            let mut budget = Budget::default();
            INDEX.read(index, found, |name, node, found| budget.take(name, node, found));
            Some(Retrieval::Index { limit: budget.limit, max_bytes: budget.max_bytes })
        }
        (None, Some(http)) => {
            let (mut endpoint, mut budget) = (Endpoint::default(), Budget::default());
            HTTP.read(http, found, |name, node, found| match name {
                "Limit" | "MaxBytes" => budget.take(name, node, found),
                _ => endpoint.take(name, node, found),
            });
            let HttpTool { url, headers, timeout_ms } = endpoint.finish()?;
            let Budget { limit, max_bytes } = budget;
            Some(Retrieval::Http { url, headers, timeout_ms, limit, max_bytes })
        }
        _ => {
            if node.is_object() {
                found.fault(node, SHAPES);
            }
            None
        }
    }
}

/// `Limit` and `MaxBytes`.
struct Budget {
    limit: u32,
    max_bytes: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, max_bytes: DEFAULT_MAX_BYTES }
    }
}

impl Budget {
    fn take(&mut self, member: &str, node: Node<'_, '_>, found: &mut Findings) {
        let (bound, bounds) = match member {
            "Limit" => (&mut self.limit, LIMIT),
            _ => (&mut self.max_bytes, MAX_BYTES),
        };
        let given = integer(node, bounds, found);
        *bound = given.and_then(|given| u32::try_from(given).ok()).unwrap_or(*bound);
    }
}

fn secret_name(node: Node<'_, '_>, found: &mut Findings) -> Option<String> {
    let remedy = "must be the name of a secret (letters, digits and _, not starting with a digit), \
                  never the key itself";
    let name = named(node, is_secret_name, remedy, found)?;
    found.secrets(node, [name.as_str()].into_iter());
    Some(name)
}
