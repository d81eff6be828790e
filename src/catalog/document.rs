//! Reading a whole catalog document: its members, and the names that must exist in it.
//!
//! One pass records every fault, so that an operator mends a catalog once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::agent_context::agent_context;
use super::definitions::{BuiltInTool, Catalog, ConversationContext, Mode};
use super::fallbacks::check_fallbacks;
use super::findings::{CatalogFault, Findings, NeededSecret};
use super::hosted_tools::hosted_tools;
use super::mcp_servers::mcp_servers;
use super::model_parameters::model_parameters;
use super::modes::modes;
use super::names::{is_context_id, is_version, quoted};
use super::rollout::rollout;
use super::tools::{ServerSide, context_tools, server_tools};
use super::values::{
    checked_text, choice, entries, filled_prose, matching_text, model, reference,
    undeclared_problem,
};
use super::webhooks::{webhook_names, webhooks};
use crate::json::{
    DEPTH_LIMIT, Malformed, Node, ObjectShape, check, for_each_element, for_each_member,
};

const CATALOG: ObjectShape = ObjectShape::new(
    &[
        "$schema",
        "Version",
        "AgentContexts",
        "ConversationContexts",
        "Modes",
        "ServerTools",
        "McpServers",
        "Webhooks",
        "Titles",
    ],
    &["AgentContexts", "ConversationContexts", "Modes"],
);

const CONVERSATION_MEMBERS: &[&str] = &[
    "AgentContextId",
    "BootPrompt",
    "Model",
    "Mode",
    "Tools",
    "HostedTools",
    "ModelParameters",
    "Webhooks",
    "Rollout",
    "Instead",
];

const CONVERSATION_CONTEXT: ObjectShape =
    ObjectShape::new(CONVERSATION_MEMBERS, &["AgentContextId", "BootPrompt"]);

/// One with `Instead`.
const REPLACED_CONTEXT: ObjectShape = ObjectShape::new(CONVERSATION_MEMBERS, &[]);

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
    let mut findings = Findings::of(document);
    let catalog = catalog(document, &mut findings);
    let (faults, secrets) = findings.in_document_order();
    (if faults.is_empty() { Ok(catalog) } else { Err(faults) }, secrets)
}

/// The document's members, which are a catalog if no fault is found.
fn catalog(document: Node<'_, '_>, findings: &mut Findings) -> Catalog {
    let declared = Declared::of(document);
    let mut catalog = Catalog {
        version: None,
        agent_contexts: BTreeMap::new(),
        conversation_contexts: BTreeMap::new(),
        modes: Vec::new(),
        default_mode: Mode::default(),
        server_tools: Vec::new(),
        mcp_servers: Vec::new(),
        webhooks: Vec::new(),
        titles_sessions: true,
    };
    CATALOG.read(document, findings, |name, node, findings| match name {
        "$schema" => drop(node.text(findings)),
        "Version" => {
            let version = matching_text(node, is_version, VERSION_FORM, findings);
            catalog.version = Some(version);
        }
        "AgentContexts" => {
            let read = |_: &str, node: Node<'_, '_>, findings: &mut Findings| {
                agent_context(node, findings)
            };
            catalog.agent_contexts = contexts_by_id(node, "agent", findings, read);
        }
        "ConversationContexts" => {
            let read = |id: &str, node: Node<'_, '_>, findings: &mut Findings| {
                conversation_context(id, node, &declared, findings)
            };
            catalog.conversation_contexts = contexts_by_id(node, "conversation", findings, read);
        }
        "Modes" => {
            (catalog.default_mode, catalog.modes) = modes(node, &declared.server_side, findings);
        }
        "ServerTools" => catalog.server_tools = server_tools(node, findings),
        "Titles" => {
            let choices = [("Instruction", true), ("None", false)];
            catalog.titles_sessions = choice(node, choices, findings);
        }
        "McpServers" => catalog.mcp_servers = mcp_servers(node, findings),
        "Webhooks" => catalog.webhooks = webhooks(node, findings),
        _ => {}
    });
    check_fallbacks(document, &catalog.agent_contexts, findings);
    catalog
}

/// The names that the document declares. A declaration with other faults counts too, so that one
/// mistake is reported once.
#[derive(Default)]
struct Declared<'d> {
    agent_contexts: Vec<Cow<'d, str>>,
    conversation_contexts: Vec<Cow<'d, str>>,
    /// The conversation contexts that have an `Instead`.
    replaced_contexts: Vec<Cow<'d, str>>,
    modes: Vec<Cow<'d, str>>,
    server_side: ServerSide<'d>,
    webhooks: Vec<Cow<'d, str>>,
}

impl<'d> Declared<'d> {
    fn of(document: Node<'d, '_>) -> Self {
        let mut declared = Self::default();
        let keys = |object, declared: &mut Vec<Cow<'d, str>>| {
            let Some(object) = document.find(object) else { return };
            // Anything but an object declares nothing; its reader reports the fault.
            let _ = for_each_member(object.json, |key, _| declared.push(key));
        };
        keys("AgentContexts", &mut declared.agent_contexts);
        keys("ConversationContexts", &mut declared.conversation_contexts);
        if let Some(contexts) = document.find("ConversationContexts") {
            let _ = for_each_member(contexts.json, |key, json| {
                if contexts.member(&key, json).find("Instead").is_some() {
                    declared.replaced_contexts.push(key);
                }
            });
        }
        keys("McpServers", &mut declared.server_side.mcp_servers);
        keys("Webhooks", &mut declared.webhooks);
        let names = |list, name, declared: &mut Vec<Cow<'d, str>>| {
            let Some(list) = document.find(list) else { return };
            let _ = for_each_element(list.json, |json| {
                let item = list.element(0, json);
                declared.extend(item.find(name).and_then(|name| name.as_text()));
            });
        };
        names("Modes", "Key", &mut declared.modes);
        let tools = &mut declared.server_side.tools;
        names("ServerTools", "Name", tools);
        tools.extend(BuiltInTool::ALL.map(|tool| Cow::from(tool.as_str())));
        declared
    }
}

fn contexts_by_id<T>(
    node: Node<'_, '_>,
    kind: &str,
    findings: &mut Findings,
    read: impl Fn(&str, Node<'_, '_>, &mut Findings) -> T,
) -> BTreeMap<String, T> {
    let mut contexts = BTreeMap::new();
    let count = entries(node, findings, |id, node, findings| {
        if !is_context_id(id) {
            findings.fault(node, "the id must be 1 to 128 of A-Z a-z 0-9 . _ : -");
        }
        contexts.insert(id.to_owned(), read(id, node, findings));
    });
    if count == Some(0) {
        findings.fault(node, format!("must hold at least one {kind} context"));
    }
    contexts
}

fn conversation_context(
    id: &str,
    node: Node<'_, '_>,
    declared: &Declared<'_>,
    findings: &mut Findings,
) -> ConversationContext {
    let (mut context, mut mode) = (ConversationContext::default(), None);
    let is_replaced = node.find("Instead").is_some();
    let shape = if is_replaced { REPLACED_CONTEXT } else { CONVERSATION_CONTEXT };
    shape.read(node, findings, |name, node, findings| match name {
        "AgentContextId" => {
            let contexts = &declared.agent_contexts;
            context.agent_context_id = reference(node, "agent context", contexts, findings);
        }
        "BootPrompt" => context.boot_prompt = filled_prose(node, BOOT_PROMPT_BYTES, findings),
        "Model" => context.model = Some(model(node, findings)),
        "Mode" => mode = Some(reference(node, "mode", &declared.modes, findings)),
        "Tools" => {
            (context.tools, context.mcp_tools) =
                context_tools(node, &declared.server_side, findings);
        }
        "HostedTools" => context.hosted_tools = hosted_tools(node, findings),
        "ModelParameters" => context.model_parameters = model_parameters(node, findings),
        "Webhooks" => context.webhooks = webhook_names(node, &declared.webhooks, findings),
        "Rollout" if is_replaced => {
            findings.fault(node, "cannot stand beside \"Instead\"; remove one of them");
        }
        "Rollout" => {
            let contexts = &declared.conversation_contexts;
            context.rollout = Some(rollout(node, id, contexts, findings));
        }
        "Instead" => context.instead = Some(instead(id, node, declared, findings)),
        _ => {}
    });
    ConversationContext { mode, ..context }
}

/// The context that stands instead of the context `id`.
fn instead(
    id: &str,
    node: Node<'_, '_>,
    declared: &Declared<'_>,
    findings: &mut Findings,
) -> String {
    checked_text(node, findings, |target| {
        if target == id {
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
