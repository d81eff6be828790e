//! Reading a whole catalog document: its members, and the names that must exist in it.
//!
//! One pass records every fault, so that an operator mends a catalog once.

use std::collections::BTreeMap;

use super::agent_context::{AgentContext, agent_context};
use super::definitions::{BuiltInTool, HostedTool};
use super::findings::{CatalogFault, DeclaredNames, Findings, NeededSecret};
use super::hosted_tools::hosted_tools;
use super::mcp_servers::{McpServer, key_problem, mcp_server};
use super::model_parameters::{ModelParameters, model_parameters};
use super::modes::{Mode, default_mode, modes};
use super::names::{is_context_id, is_version, quoted};
use super::rollout::{Rollout, rollout};
use super::tools::{ContextTools, ServerTool, context_tools, server_tools};
use super::values::{
    checked_text, choice, filled_prose, matching_text, model, reference, undeclared_problem,
};
use super::webhooks::{Webhook, name_problem, webhook_names};
use super::written_once::WrittenOnce;
use crate::json::{
    DEPTH_LIMIT, Malformed, Node, check, declared_object, for_each_element, for_each_member,
    named_values,
};

declared_object! {
    /// What an operator configures: model services, conversation profiles, modes and server tools. A document that this
    /// schema accepts can still be refused: names must exist where they are referred to, keys must be unique, URLs and
    /// ${SECRET_NAME} placeholders must be well formed, and strict tools must close their schemas.
    pub struct Catalog by Findings {
        /// Where an editor finds this schema. Ignored by the service.
        "$schema" = text(),
        /// What this document is called in the records of the turns that run under it.
        "Version" => version: Option<String> = matching_text(is_version, VERSION_FORM),
        /// Model services by id.
        "AgentContexts" required => agent_contexts = contexts_by_id("agent", agent_context),
        /// Reasoning profiles by id.
        "ConversationContexts" required => conversation_contexts =
            contexts_by_id("conversation", conversation_context),
        /// The modes of the agent, in the order in which they are listed. Keys are unique; at most one is the default.
        /// Without a mark, `general` is the default, else the first.
        "Modes" required => modes: Vec<Mode> = modes(),
        /// Tools the server runs by an HTTP call. The built-in tools agent_change_mode and agent_list_modes need no
        /// entry and cannot be redefined; nor can agent_approve_tool, by which clients are asked for approval.
        "ServerTools" => server_tools: Vec<ServerTool> = server_tools(),
        /// Servers of tools that are asked by the Model Context Protocol (Streamable HTTP), by key. The model sees a
        /// tool as key__tool.
        "McpServers" => mcp_servers = named_values(key_problem, mcp_server),
        /// Receivers of signed messages about turns that end or wait (Standard Webhooks 1.0), by name. A conversation
        /// context says which ones hear of its turns.
        "Webhooks" => webhooks = named_values(name_problem, Webhook::read),
        /// Where the titles in the list of a user's sessions come from. Instruction: the first line of the
        /// first instruction that has words. None: clients alone set titles.
        "Titles" => titles_sessions: bool = choice([("Instruction", true), ("None", false)]) or true,
    } with {
        pub(super) agent_contexts: BTreeMap<String, AgentContext>,
        pub(super) conversation_contexts: BTreeMap<String, ConversationContext>,
        pub(super) mcp_servers: Vec<(String, McpServer)>,
        pub(super) webhooks: Vec<(String, Webhook)>,
        /// The mode marked `IsDefault`, else `general`, else the first.
        pub default_mode: Mode,
        /// The definition of `agent_change_mode`, which names all modes.
        pub change_mode_definition: WrittenOnce,
    }
}

declared_object! {
    /// The reasoning profile of a conversation.
    pub struct ConversationContext by Findings {
        /// An id of AgentContexts.
        "AgentContextId" required => agent_context_id: String =
            reference("agent context", |declared| &declared.agent_contexts),
        /// The system message of a session's first call. At most 262144 bytes of UTF-8, not blank.
        "BootPrompt" required => boot_prompt: String = filled_prose(BOOT_PROMPT_BYTES),
        /// Goes before the agent context's model.
        "Model" => model: Option<String> = model(),
        /// The key of the mode its sessions start in. Absent: general, else the default mode.
        "Mode" => mode: Option<String> = reference("mode", |declared| &declared.modes),
        /// Client tools of sessions that never received any, whose names are unique; and tools of MCP servers that
        /// every turn offers, as server/tool or server/*.
        "Tools" => tools: ContextTools = context_tools(),
        "HostedTools" => hosted_tools: Vec<HostedTool> = hosted_tools(),
        "ModelParameters" => model_parameters: ModelParameters = model_parameters(),
        /// Names of Webhooks that hear of the turns of its sessions.
        "Webhooks" => webhooks: Vec<String> = webhook_names(),
        /// Shares of the new sessions that ask for this context begin under others.
        "Rollout" => rollout: Option<Rollout> = rollout(),
        /// The id of a ConversationContext without Instead: sessions of this one go on under that one from their next
        /// user turn on, and new ones begin there. The other members are for turns that have begun; they may be left
        /// out.
        "Instead" => instead: Option<String> = instead(),
    }
}

const VERSION_FORM: &str = "must be 1 to 64 of A-Z a-z 0-9 . _ : -";

/// In bytes: at most some 65,000 tokens, for which every call of a session pays.
const BOOT_PROMPT_BYTES: usize = 256 * 1024;

impl Catalog {
    /// The document of the catalog that the product brings along.
    pub const BUILTIN: &'static str = include_str!("builtin.json");

    /// Reads and checks a whole document.
    ///
    /// # Errors
    /// Every fault of the document, in document order; never an empty list.
    pub fn parse(text: &str) -> Result<Self, Vec<CatalogFault>> {
        read(text).0
    }

    /// Reads the catalog that the product brings along, which has no faults.
    pub fn builtin() -> Result<Self, Vec<CatalogFault>> {
        Self::parse(Self::BUILTIN)
    }
}

/// Every place at which a document names a secret, in document order, also in a document with faults;
/// none in a text that is not JSON. Malformed names are left out: [`Catalog::parse`] reports them.
pub fn needed_secrets(text: &str) -> Vec<NeededSecret> {
    read(text).1
}

fn read(text: &str) -> (Result<Catalog, Vec<CatalogFault>>, Vec<NeededSecret>) {
    // Some editors write a byte order mark before UTF-8; RFC 8259 permits to skip it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Err(malformed) = check(text) {
        let message = match malformed {
            Malformed::NotJson(error) => format!("is not JSON: {error}"),
            Malformed::TooDeep { line, column } => format!(
                "is nested more than {DEPTH_LIMIT} levels deep at line {line} column {column}"
            ),
        };
        return (Err(vec![CatalogFault { path: String::new(), message }]), Vec::new());
    }
    let document = Node::root(text);
    let mut findings = Findings::of(document, declared_names(document));
    let mut catalog = Catalog::read(document, &mut findings);
    catalog.default_mode = default_mode(&catalog.modes);
    let (faults, secrets) = findings.in_document_order();
    (if faults.is_empty() { Ok(catalog) } else { Err(faults) }, secrets)
}

fn declared_names(document: Node<'_, '_>) -> DeclaredNames {
    // Anything but an object or a list declares nothing; its reader reports the fault.
    let keys = |object, is_meant: fn(Node<'_, '_>) -> bool| {
        let mut names = Vec::new();
        if let Some(object) = document.find(object) {
            let _ = for_each_member(object.json, |key, json| {
                names.extend(is_meant(object.member(&key, json)).then(|| key.to_string()));
            });
        }
        names
    };
    let names = |list, name| {
        let mut names = Vec::new();
        if let Some(list) = document.find(list) {
            let _ = for_each_element(list.json, |json| {
                let item = list.element(0, json);
                names.extend(item.find(name).and_then(|name| name.as_text()).map(String::from));
            });
        }
        names
    };
    let built_in = BuiltInTool::ALL.iter().map(|tool| tool.as_str().to_owned());
    DeclaredNames {
        agent_contexts: keys("AgentContexts", |_| true),
        contexts_with_model: keys("AgentContexts", |context| context.find("Model").is_some()),
        conversation_contexts: keys("ConversationContexts", |_| true),
        replaced_contexts: keys("ConversationContexts", |context| {
            context.find("Instead").is_some()
        }),
        modes: names("Modes", "Key"),
        tools: names("ServerTools", "Name").into_iter().chain(built_in).collect(),
        mcp_servers: keys("McpServers", |_| true),
        webhooks: keys("Webhooks", |_| true),
    }
}

fn text(node: Node<'_, '_>, findings: &mut Findings) {
    node.text(findings);
}

fn contexts_by_id<T>(
    node: Node<'_, '_>,
    kind: &str,
    read: fn(Node<'_, '_>, &mut Findings) -> T,
    findings: &mut Findings,
) -> BTreeMap<String, T> {
    let mut contexts = BTreeMap::new();
    let count = node.entries(findings, |id, node, findings| {
        if !is_context_id(id) {
            findings.fault(node, "the id must be 1 to 128 of A-Z a-z 0-9 . _ : -");
        }
        contexts.insert(id.to_owned(), read(node, findings));
    });
    if count == Some(0) {
        findings.fault(node, format!("must hold at least one {kind} context"));
    }
    contexts
}

fn conversation_context(node: Node<'_, '_>, findings: &mut Findings) -> ConversationContext {
    match node.find("Instead") {
        // The other members are for turns that have begun.
        Some(_) => {
            let shape = ConversationContext::SHAPE.without_required();
            ConversationContext::read_as(shape, node, findings)
        }
        None => ConversationContext::read(node, findings),
    }
}

/// The context that stands instead of the one whose member this is.
fn instead(node: Node<'_, '_>, findings: &mut Findings) -> String {
    let declared = findings.declared();
    checked_text(node, findings, |target| {
        if node.place.name_above(1) == Some(target) {
            return Some("is the context itself; name another one".to_owned());
        }
        if declared.replaced_contexts.iter().any(|replaced| replaced == target) {
            let target = quoted(target);
            return Some(format!(
                "the context {target} has an \"Instead\" of its own; name one without"
            ));
        }
        undeclared_problem("conversation context", target, &declared.conversation_contexts)
    })
}
