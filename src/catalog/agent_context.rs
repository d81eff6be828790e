//! Reading an agent context: which model service is called and how, and where chunks come from
//! (interface §6, §7).

use std::ops::RangeInclusive;

use super::definitions::{
    AgentContext, Budget, Compaction, CompactionBy, Continuation, HeaderTemplate, HttpService,
    ModelParameters, Retrieval, RetrievalSource,
};
use super::embeddings::embeddings;
use super::findings::{Findings, Recipient};
use super::http_endpoint::{base_url, model_service_headers, query, refuse_open_secret};
use super::model_parameters::model_parameters;
use super::names::is_secret_name;
use super::values::{choice, flag, integer, model, named, stated_prose};
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
        "Headers",
        "Query",
        "PromptCacheKey",
        "ModelParameters",
        "Compaction",
        "Budget",
        "MaxIterations",
        "RetentionDays",
    ],
    &[],
);

const COMPACTION: ObjectShape = ObjectShape::new(&["By", "Threshold", "Prompt"], &[]);
const BUDGET: ObjectShape = ObjectShape::new(&["TurnTokens", "SessionTokens"], &[]);

const RETRIEVAL: ObjectShape = ObjectShape::new(&["Index", "Http"], &[]);
const INDEX: ObjectShape = ObjectShape::new(&["Limit", "MaxBytes", "Embeddings"], &[]);
const HTTP: ObjectShape =
    ObjectShape::new(&["Url", "Headers", "TimeoutMs", "Limit", "MaxBytes"], &["Url"]);

/// Chunks given to a turn.
const LIMIT: RangeInclusive<u32> = 1..=100;
/// Bytes of chunk text given to a turn.
const MAX_BYTES: RangeInclusive<u32> = 1..=1_048_576;
/// Tokens of a call's input. The model service takes no lower one.
const THRESHOLD: RangeInclusive<u32> = 1_000..=100_000_000;
/// Tokens of a turn or a session.
const BUDGET_TOKENS: RangeInclusive<u32> = 1..=u32::MAX;
const ITERATIONS: RangeInclusive<u32> = 1..=1_000;
/// A hundred years.
const DAYS: RangeInclusive<u32> = 1..=36_500;
/// In bytes, as a mode's instructions.
const COMPACTION_PROMPT_BYTES: usize = 64 * 1024;

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
        headers: Vec::new(),
        query: Vec::new(),
        prompt_cache_key: true,
        model_parameters: ModelParameters::default(),
        compaction: Compaction::default(),
        budget: Budget::default(),
        max_iterations: None,
        retention_days: None,
    };
    AGENT_CONTEXT.read(node, found, |name, node, found| match name {
        "BaseUrl" => context.base_url = Some(base_url(node, "responses", found)),
        "ApiKeySecret" => context.api_key_secret = Some(secret_name(node, found)),
        "Model" => context.model = Some(model(node, found)),
        "Continuation" => {
            let choices = [("stored", Continuation::Stored), ("replay", Continuation::Replay)];
            context.continuation = choice(node, choices, found);
        }
        "ResendTools" => context.resend_tools = flag(node, found),
        "DeleteStored" => context.delete_stored = flag(node, found),
        "Retrieval" => context.retrieval = retrieval(node, found),
        "Headers" => context.headers = model_service_headers(node, found),
        "Query" => context.query = query(node, found),
        "PromptCacheKey" => {
            context.prompt_cache_key = choice(node, [("Session", true), ("None", false)], found);
        }
        "ModelParameters" => context.model_parameters = model_parameters(node, found),
        "Compaction" => context.compaction = compaction(node, found),
        "Budget" => context.budget = budget(node, found),
        "MaxIterations" => context.max_iterations = Some(integer(node, ITERATIONS, found)),
        _ => context.retention_days = Some(integer(node, DAYS, found)),
    });
    let sends_secret =
        context.api_key_secret.is_some() || context.headers.iter().any(HeaderTemplate::is_secret);
    let lends = context.retrieval.embeddings.as_ref().is_some_and(|embeddings| {
        embeddings.base_url.is_none() && embeddings.headers.iter().any(HeaderTemplate::is_secret)
    });
    if (sends_secret || lends)
        && let Some(url) = node.find("BaseUrl")
    {
        refuse_open_secret(url, found);
    }
    context.lend_to_embeddings();
    context
}

fn compaction(node: Node<'_, '_>, found: &mut Findings) -> Compaction {
    let mut compaction = Compaction::default();
    COMPACTION.read(node, found, |name, node, found| match name {
        "By" => {
            let choices = [
                ("Own", CompactionBy::Own),
                ("Service", CompactionBy::Service),
                ("None", CompactionBy::None),
            ];
            compaction.by = choice(node, choices, found);
        }
        "Threshold" => compaction.threshold = Some(integer(node, THRESHOLD, found)),
        _ => compaction.prompt = Some(stated_prose(node, COMPACTION_PROMPT_BYTES, found)),
    });
    if compaction.by == CompactionBy::Service && compaction.threshold.is_none() {
        let problem = "\"By\": \"Service\" needs a \"Threshold\", the tokens of input from which the \
                       model service compacts; add it";
        found.fault(node.member("Threshold", node.json), problem);
    }
    compaction
}

fn budget(node: Node<'_, '_>, found: &mut Findings) -> Budget {
    let mut budget = Budget::default();
    BUDGET.read(node, found, |name, node, found| {
        let tokens = Some(integer(node, BUDGET_TOKENS, found).into());
        match name {
            "TurnTokens" => budget.turn_tokens = tokens,
            _ => budget.session_tokens = tokens,
        }
    });
    budget
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
            service.check(http, found);
            retrieval.source = RetrievalSource::Http(service);
        }
        _ if node.is_object() => found.fault(node, SHAPES),
        _ => {}
    }
    retrieval
}

impl Retrieval {
    /// Reads one of the members `Limit`, `MaxBytes` and `Embeddings`.
    fn take(&mut self, member: &str, node: Node<'_, '_>, found: &mut Findings) {
        match member {
            "Limit" => self.limit = integer(node, LIMIT, found),
            "Embeddings" => self.embeddings = Some(embeddings(node, found)),
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
