//! Reading an agent context: which model service is called and how, and where chunks come from
//! (interface §6, §7).

use std::ops::RangeInclusive;

use super::definitions::{Budget, Compaction, CompactionBy, Continuation, HeaderTemplate};
use super::embeddings::{Embeddings, embeddings, residence};
use super::findings::{Findings, Recipient};
use super::http_endpoint::{
    DEFAULT_TIMEOUT_MS, HttpService, TIMEOUT_MS, base_url, headers, hold_secret, query,
    refuse_open_secret, url,
};
use super::model_parameters::{ModelParameters, model_parameters};
use super::names::{is_secret_name, quoted};
use super::tools::file_hosts;
use super::values::{
    checked_text, choice, each_once, filled_prose, flag, integer, matching_text, model,
    undeclared_problem, word,
};
use crate::encoding::Jurisdiction;
use crate::json::{Node, ObjectShape, declared_object};

/// A turn that has asked so many services in vain is not helped by another one.
const MOST_FALLBACKS: usize = 3;
const RETRIEVAL: ObjectShape = ObjectShape::new(&["Index", "Http"], &[]);

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

/// Where a user turn's chunks come from, and how many it gets (interface §7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieval {
    pub source: RetrievalSource,
    /// The most chunks of a turn, 1 to 100. Default 8.
    pub limit: u32,
    /// The most bytes of chunk text of a turn, 1 to 1048576. Default 24576.
    pub max_bytes: u32,
    /// The service that embeds the index's chunks and the questions. Absent: words alone rank.
    pub embeddings: Option<Embeddings>,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self { source: RetrievalSource::Index, limit: 8, max_bytes: 24_576, embeddings: None }
    }
}

/// Where a user turn's chunks come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetrievalSource {
    /// The workspace's own index.
    Index,
    /// The operator's own search service.
    Http(HttpService),
    /// Nowhere: turns see their own artifacts only.
    None,
}

declared_object! {
    /// Which model service a session talks to, and how.
    pub struct AgentContext by Findings {
        /// {BaseUrl}/responses is called. Absent: the deployment's OPENAI_BASE_URL.
        "BaseUrl" => base_url: Option<String> = base_url("responses"),
        /// The name of the secret that holds the service's key, never the key itself. Absent: no key is sent.
        "ApiKeySecret" => api_key_secret: Option<String> = secret_name(Recipient::ModelService),
        /// Used by conversation contexts that name no model. Absent: the deployment's OPENAI_MODEL.
        "Model" => model: Option<String> = model(),
        /// Who remembers the conversation between calls: `stored`, the service (previous_response_id); `replay`, this
        /// product, which then sends the whole conversation each time with store: false.
        "Continuation" => continuation: Continuation =
            choice([("stored", Continuation::Stored), ("replay", Continuation::Replay)]),
        /// Whether the service makes responses in the background: `Always` reads a response on after a crash or a cut
        /// instead of paying for it again. It needs Continuation `stored`.
        "Background" => background: bool = choice([("Never", false), ("Always", true)]),
        /// Whether tools go out with every call. false: only when they changed, for services that keep them.
        "ResendTools" => resend_tools: bool = flag() or true,
        /// Whether responses stored by the service are deleted with their session.
        "DeleteStored" => delete_stored: bool = flag(),
        /// Where a user turn's chunks come from: the workspace's index, the operator's own search service, or nowhere.
        "Retrieval" => retrieval: Retrieval = retrieval(),
        /// Headers of every call of the model service, deletions included. Authorization or api-key here takes the
        /// place of ApiKeySecret. ${SECRET_NAME} in a value is replaced by that secret, which then goes to model
        /// services only; API_KEYS, TICKET_KEYS and FILE_LINK_KEY are refused, and so are the headers by which the
        /// product says how bodies are written.
        "Headers" => headers: Vec<HeaderTemplate> = headers(Recipient::ModelService),
        /// The query of every call's URL; names and values are percent-encoded when they are sent. No secret.
        "Query" => query: Vec<(String, String)> = query(),
        /// Whether calls carry a prompt_cache_key, one for each session; None for services that do not know it.
        "PromptCacheKey" => prompt_cache_key: bool =
            choice([("Session", true), ("None", false)]) or true,
        /// Whether calls of a user's session carry a safety_identifier: SHA-256 of tenant and user. A parameter of that
        /// name among ModelParameters goes before it.
        "SafetyIdentifier" => safety_identifier: bool = choice([("None", false), ("User", true)]),
        "ModelParameters" => model_parameters: ModelParameters = model_parameters(),
        /// What happens to a conversation that grows too long for the model.
        "Compaction" => compaction: Compaction = compaction(),
        /// The tokens (TotalTokens) at which no further model call begins.
        "Budget" => budget: Budget = Budget::read(),
        /// Model calls for one submission. Absent: the deployment's MAX_ITERATIONS.
        "MaxIterations" => max_iterations: Option<u32> = integer(ITERATIONS),
        /// Days after which a session in which no turn has moved erases itself. Absent: never.
        "RetentionDays" => retention_days: Option<u32> = integer(DAYS),
        /// Hosts, without scheme and port: with a ticket or a token, results of a client's tools may hand the model
        /// pictures and files at their addresses. Others are invalid; data: URLs are always taken.
        "FileHosts" => file_hosts: Vec<String> = file_hosts(),
        "Residence" => residence: Vec<Jurisdiction> = residence(),
        /// Other agent contexts, each with a Model, whose services take a call over where this one's is down, out of
        /// quota or too busy, in this order. Their own Fallbacks are not followed.
        "Fallbacks" => fallbacks: Vec<String> = fallbacks(),
        /// Whether this service is offered tools that it runs by itself.
        "OfferHostedTools" => offer_hosted_tools: bool = flag() or true,
    }
}

declared_object! {
    /// What happens to a conversation that grows too long for the model.
    Compaction by Findings {
        /// Own: this product has the model write a summary. Service: the model service compacts from Threshold on.
        /// None: a turn whose input is too long fails.
        "By" => by = word(CompactionBy::ALL),
        /// The tokens of a call's input from which the conversation is compacted. Absent: when the service refuses its
        /// length.
        "Threshold" => threshold = integer(THRESHOLD),
        /// The instructions for the summary, instead of the product's own. At most 65536 bytes of UTF-8, not blank.
        "Prompt" => prompt = filled_prose(COMPACTION_PROMPT_BYTES),
    }
}

declared_object! {
    /// The tokens (TotalTokens) at which no further model call begins.
    Budget by Findings {
        "TurnTokens" => turn_tokens = tokens(),
        "SessionTokens" => session_tokens = tokens(),
        /// Of a user on one day, UTC, in all sessions.
        "UserTokensPerDay" => user_tokens_per_day = tokens(),
        /// Of a user in one month, UTC, in all sessions.
        "UserTokensPerMonth" => user_tokens_per_month = tokens(),
        /// What a session takes of a user's tokens at once. Absent: 50000.
        "Lease" => lease = tokens(),
    }
}

declared_object! {
    /// The workspace's own index.
    Retrieval by Findings {
        "Limit" => limit = integer(LIMIT),
        "MaxBytes" => max_bytes = integer(MAX_BYTES),
        "Embeddings" => embeddings = embeddings(),
    }
}

/// The operator's own search service, and how much of what it finds a turn gets.
#[derive(Default)]
pub(super) struct HttpRetrieval {
    http: HttpService,
    found: Retrieval,
}

declared_object! {
    /// A search service: POST {Query, RagScope, WorkspaceId, Repo, Language, Limit}, answers {Chunks: [{Path,
    /// StartLine, EndLine, Language, Text}]}.
    HttpRetrieval by Findings {
        "Url" required => http.url = url(),
        "Headers" => http.headers = headers(Recipient::OtherService),
        "TimeoutMs" => http.timeout_ms = integer(TIMEOUT_MS) or DEFAULT_TIMEOUT_MS,
        "Limit" => found.limit = integer(LIMIT),
        "MaxBytes" => found.max_bytes = integer(MAX_BYTES),
    }
}

/// Reads an agent context.
pub(super) fn agent_context(node: Node<'_, '_>, findings: &mut Findings) -> AgentContext {
    let mut context = AgentContext::read(node, findings);
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
    let compaction = Compaction::read(node, findings);
    if compaction.by == CompactionBy::Service && compaction.threshold.is_none() {
        let problem = "\"By\": \"Service\" needs a \"Threshold\", the tokens of input from which the \
                       model service compacts; add it";
        findings.fault(node.member("Threshold", node.json), problem);
    }
    compaction
}

fn tokens(node: Node<'_, '_>, findings: &mut Findings) -> u64 {
    integer(node, BUDGET_TOKENS, findings).into()
}

fn retrieval(node: Node<'_, '_>, findings: &mut Findings) -> Retrieval {
    const SHAPES: &str = "must be {\"Index\": {}}, {\"Http\": {…}} or \"None\"";
    if let Some(word) = node.as_text() {
        if word != "None" {
            findings.fault(node, SHAPES);
        }
        return Retrieval { source: RetrievalSource::None, ..Retrieval::default() };
    }
    // Reports unknown members only; the match below reads the known ones.
    RETRIEVAL.read(node, findings, |_, _, _| {});
    match (node.find("Index"), node.find("Http")) {
        (Some(index), None) => Retrieval::read(index, findings),
        (None, Some(node)) => {
            let HttpRetrieval { http, found } = HttpRetrieval::read(node, findings);
            http.check(node, findings);
            Retrieval { source: RetrievalSource::Http(http), ..found }
        }
        _ => {
            if node.is_object() {
                findings.fault(node, SHAPES);
            }
            Retrieval::default()
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

/// Reads the names of fall-backs, each once: other agent contexts of the document, and each with a model.
fn fallbacks(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let declared = findings.declared();
    let problem = |name: &str| {
        if node.place.name_above(1) == Some(name) {
            return Some("is the agent context itself; name another one".to_owned());
        }
        let lacks_model = || {
            let has_model = declared.contexts_with_model.iter().any(|known| known == name);
            let problem = "names no \"Model\", which a fall-back needs; name one there";
            (!has_model).then(|| format!("the agent context {} {problem}", quoted(name)))
        };
        undeclared_problem("agent context", name, &declared.agent_contexts).or_else(lacks_model)
    };
    let (names, count) = each_once(node, "agent context", findings, |node, findings| {
        Some(checked_text(node, findings, problem))
    });
    if count.is_some_and(|count| !(1..=MOST_FALLBACKS).contains(&count)) {
        findings.fault(node, "must name one to three agent contexts; leave it out for none");
    }
    names
}

impl AgentContext {
    /// Without a `BaseUrl` in `Embeddings`, vectors come from the context's model service, by its address, its
    /// key and its headers, to which those of `Embeddings` are added, and from where that is.
    fn lend_to_embeddings(&mut self) {
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
