//! Reading an agent context: which model service is called and how, and where chunks come from
//! (interface §6, §7).

use std::ops::RangeInclusive;

use super::definitions::{
    AgentContext, Budget, Compaction, CompactionBy, Continuation, HttpService, Retrieval,
    RetrievalSource,
};
use super::embeddings::embeddings;
use super::fallbacks::fallbacks;
use super::findings::{Findings, Recipient};
use super::http_endpoint::{
    base_url, hold_secret, model_service_headers, query, refuse_open_secret,
};
use super::model_parameters::{ModelParameters, model_parameters};
use super::names::is_secret_name;
use super::residence::residence;
use super::tools::file_hosts;
use super::values::{choice, filled_prose, flag, integer, matching_text, model};
use crate::json::{Node, ObjectShape};

const AGENT_CONTEXT: ObjectShape = ObjectShape::new(
    &[
        "BaseUrl",
        "ApiKeySecret",
        "Model",
        "Continuation",
        "Background",
        "ResendTools",
        "DeleteStored",
        "Retrieval",
        "Headers",
        "Query",
        "PromptCacheKey",
        "SafetyIdentifier",
        "ModelParameters",
        "Compaction",
        "Budget",
        "MaxIterations",
        "RetentionDays",
        "FileHosts",
        "Residence",
        "Fallbacks",
        "OfferHostedTools",
    ],
    &[],
);

const COMPACTION: ObjectShape = ObjectShape::new(&["By", "Threshold", "Prompt"], &[]);
const BUDGET: ObjectShape = ObjectShape::new(
    &["TurnTokens", "SessionTokens", "UserTokensPerDay", "UserTokensPerMonth", "Lease"],
    &[],
);

const RETRIEVAL: ObjectShape = ObjectShape::new(&["Index", "Http"], &[]);
const INDEX: ObjectShape = ObjectShape::new(&["Limit", "MaxBytes", "Embeddings"], &[]);
const HTTP: ObjectShape =
    ObjectShape::new(&["Url", "Headers", "TimeoutMs", "Limit", "MaxBytes"], &["Url"]);

/// Chunks of a turn.
const LIMIT: RangeInclusive<u32> = 1..=100;
/// Bytes of a turn's chunks.
const MAX_BYTES: RangeInclusive<u32> = 1..=1_048_576;
/// Tokens of a call's input. The model service takes no lower threshold.
const THRESHOLD: RangeInclusive<u32> = 1_000..=100_000_000;
/// Tokens of a turn or a session.
const BUDGET_TOKENS: RangeInclusive<u32> = 1..=u32::MAX;
const ITERATIONS: RangeInclusive<u32> = 1..=1_000;
/// A hundred years.
const DAYS: RangeInclusive<u32> = 1..=36_500;
/// In bytes, as a mode's instructions.
const COMPACTION_PROMPT_BYTES: usize = 64 * 1024;

/// Reads an agent context.
pub(super) fn agent_context(node: Node<'_, '_>, findings: &mut Findings) -> AgentContext {
    let mut context = AgentContext {
        base_url: None,
        api_key_secret: None,
        model: None,
        continuation: Continuation::Stored,
        background: false,
        resend_tools: true,
        delete_stored: false,
        fallbacks: Vec::new(),
        offer_hosted_tools: true,
        retrieval: Retrieval::default(),
        headers: Vec::new(),
        query: Vec::new(),
        prompt_cache_key: true,
        safety_identifier: false,
        model_parameters: ModelParameters::default(),
        compaction: Compaction::default(),
        budget: Budget::default(),
        max_iterations: None,
        retention_days: None,
        file_hosts: Vec::new(),
        residence: Vec::new(),
    };
    AGENT_CONTEXT.read(node, findings, |name, node, findings| match name {
        "BaseUrl" => context.base_url = Some(base_url(node, "responses", findings)),
        "ApiKeySecret" => {
            context.api_key_secret = Some(secret_name(node, Recipient::ModelService, findings))
        }
        "Model" => context.model = Some(model(node, findings)),
        "Continuation" => {
            let choices = [("stored", Continuation::Stored), ("replay", Continuation::Replay)];
            context.continuation = choice(node, choices, findings);
        }
        "Background" => {
            context.background = choice(node, [("Never", false), ("Always", true)], findings);
        }
        "ResendTools" => context.resend_tools = flag(node, findings),
        "DeleteStored" => context.delete_stored = flag(node, findings),
        "Retrieval" => context.retrieval = retrieval(node, findings),
        "Headers" => context.headers = model_service_headers(node, findings),
        "Query" => context.query = query(node, findings),
        "PromptCacheKey" => {
            context.prompt_cache_key = choice(node, [("Session", true), ("None", false)], findings);
        }
        "SafetyIdentifier" => {
            context.safety_identifier = choice(node, [("None", false), ("User", true)], findings);
        }
        "ModelParameters" => context.model_parameters = model_parameters(node, findings),
        "Compaction" => context.compaction = compaction(node, findings),
        "Budget" => context.budget = budget(node, findings),
        "MaxIterations" => context.max_iterations = Some(integer(node, ITERATIONS, findings)),
        "RetentionDays" => context.retention_days = Some(integer(node, DAYS, findings)),
        "FileHosts" => context.file_hosts = file_hosts(node, findings),
        "Residence" => context.residence = residence(node, findings),
        "Fallbacks" => context.fallbacks = fallbacks(node, findings),
        "OfferHostedTools" => context.offer_hosted_tools = flag(node, findings),
        _ => {}
    });
    if context.background && context.continuation == Continuation::Replay {
        let problem = "\"Background\": \"Always\" needs \"Continuation\": \"stored\": with \"replay\" the service \
                       keeps nothing that could be read on; change one of them";
        findings.fault(node.member("Background", node.json), problem);
    }
    let sends_secret = context.api_key_secret.is_some() || hold_secret(&context.headers);
    let lends = context.retrieval.embeddings.as_ref().is_some_and(|embeddings| {
        embeddings.base_url.is_none() && hold_secret(&embeddings.headers)
    });
    refuse_open_secret(node, "BaseUrl", sends_secret || lends, findings);
    context.lend_to_embeddings();
    context
}

fn compaction(node: Node<'_, '_>, findings: &mut Findings) -> Compaction {
    let mut compaction = Compaction::default();
    COMPACTION.read(node, findings, |name, node, findings| match name {
        "By" => {
            let choices = [
                ("Own", CompactionBy::Own),
                ("Service", CompactionBy::Service),
                ("None", CompactionBy::None),
            ];
            compaction.by = choice(node, choices, findings);
        }
        "Threshold" => compaction.threshold = Some(integer(node, THRESHOLD, findings)),
        "Prompt" => compaction.prompt = Some(filled_prose(node, COMPACTION_PROMPT_BYTES, findings)),
        _ => {}
    });
    if compaction.by == CompactionBy::Service && compaction.threshold.is_none() {
        let problem = "\"By\": \"Service\" needs a \"Threshold\", the tokens of input from which the \
                       model service compacts; add it";
        findings.fault(node.member("Threshold", node.json), problem);
    }
    compaction
}

fn budget(node: Node<'_, '_>, findings: &mut Findings) -> Budget {
    let mut budget = Budget::default();
    BUDGET.read(node, findings, |name, node, findings| {
        let tokens = Some(integer(node, BUDGET_TOKENS, findings).into());
        match name {
            "TurnTokens" => budget.turn_tokens = tokens,
            "SessionTokens" => budget.session_tokens = tokens,
            "UserTokensPerDay" => budget.user_tokens_per_day = tokens,
            "UserTokensPerMonth" => budget.user_tokens_per_month = tokens,
            "Lease" => budget.lease = tokens,
            _ => {}
        }
    });
    budget
}

fn retrieval(node: Node<'_, '_>, findings: &mut Findings) -> Retrieval {
    const SHAPES: &str = "must be {\"Index\": {}}, {\"Http\": {…}} or \"None\"";
    let mut retrieval = Retrieval::default();
    if let Some(word) = node.as_text() {
        if word != "None" {
            findings.fault(node, SHAPES);
        }
        return Retrieval { source: RetrievalSource::None, ..retrieval };
    }
    // Reports unknown members only; the match below reads the known ones.
    RETRIEVAL.read(node, findings, |_, _, _| {});
    match (node.find("Index"), node.find("Http")) {
        (Some(index), None) => {
            INDEX
                .read(index, findings, |name, node, findings| retrieval.take(name, node, findings));
        }
        (None, Some(http)) => {
            let mut service = HttpService::default();
            HTTP.read(http, findings, |name, node, findings| match name {
                "Limit" | "MaxBytes" => retrieval.take(name, node, findings),
                "Url" | "Headers" | "TimeoutMs" => service.take(name, node, findings),
                _ => {}
            });
            service.check(http, findings);
            retrieval.source = RetrievalSource::Http(service);
        }
        _ if node.is_object() => findings.fault(node, SHAPES),
        _ => {}
    }
    retrieval
}

impl Retrieval {
    /// Reads one of the members `Limit`, `MaxBytes` and `Embeddings`.
    fn take(&mut self, member: &str, node: Node<'_, '_>, findings: &mut Findings) {
        match member {
            "Limit" => self.limit = integer(node, LIMIT, findings),
            "Embeddings" => self.embeddings = Some(embeddings(node, findings)),
            "MaxBytes" => self.max_bytes = integer(node, MAX_BYTES, findings),
            _ => {}
        }
    }
}

/// What the deployment calls a key whose value is in no catalog, and who gets it.
pub(super) fn secret_name(
    node: Node<'_, '_>,
    recipient: Recipient,
    findings: &mut Findings,
) -> String {
    let remedy = "must be the name of a secret (letters, digits and _, not starting with a digit), \
                  never the key itself";
    let name = matching_text(node, is_secret_name, remedy, findings);
    if !name.is_empty() {
        findings.secret(node, &name, recipient);
    }
    name
}
