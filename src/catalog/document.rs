//! Reading a whole catalog document: its members, and the names that must exist in it.
//!
//! Reads the document in one pass and records every fault, so that an operator mends a catalog once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::agent_context::agent_context;
use super::definitions::{BUILT_IN_TOOLS, Catalog, ConversationContext};
use super::findings::{CatalogFault, Findings, NeededSecret};
use super::modes::modes;
use super::names::is_context_id;
use super::tools::{client_tools, server_tools};
use super::values::{entries, model, reference, stated_prose};
use crate::json::{
    DEPTH_LIMIT, Malformed, Node, ObjectShape, check, for_each_element, for_each_member,
};

const BUILTIN: &str = include_str!("builtin.json");

const CATALOG: ObjectShape = ObjectShape::new(
    &["$schema", "AgentContexts", "ConversationContexts", "Modes", "ServerTools"],
    &["AgentContexts", "ConversationContexts", "Modes"],
);

const CONVERSATION_CONTEXT: ObjectShape = ObjectShape::new(
    &["AgentContextId", "BootPrompt", "Model", "Mode", "Tools"],
    &["AgentContextId", "BootPrompt"],
);

/// In bytes. Every call of a session pays for the boot prompt, some 65,000 tokens at the most.
const BOOT_PROMPT_BYTES: usize = 256 * 1024;

impl Catalog {
    /// Reads and checks a whole document.
    ///
    /// # Errors
    /// Every fault of the document, in document order; never an empty list.
    pub fn parse(text: &str) -> Result<Self, Vec<CatalogFault>> {
        read(text).map_err(|fault| vec![fault])?.0
    }

    /// The catalog the product brings along, through the same door.
    ///
    /// # Errors
    /// As [`Catalog::parse`]; the tests keep it from happening.
    pub fn builtin() -> Result<Self, Vec<CatalogFault>> {
        Self::parse(BUILTIN)
    }
}

/// Every naming of a secret in a document, in document order, however wrong the rest of it is; none
/// in what is not JSON. What is malformed is left out: [`Catalog::parse`] names it.
pub fn needed_secrets(text: &str) -> Vec<NeededSecret> {
    read(text).map(|(_, secrets)| secrets).unwrap_or_default()
}

type Checked = Result<Catalog, Vec<CatalogFault>>;

/// The one fault of a text that is not JSON, or what is made of the document.
fn read(text: &str) -> Result<(Checked, Vec<NeededSecret>), CatalogFault> {
    check(text).map_err(|malformed| {
        let message = match malformed {
            Malformed::NotJson(error) => format!("is not JSON: {error}"),
            Malformed::TooDeep { line, column } => format!(
                "is nested more than {DEPTH_LIMIT} levels deep at line {line} column {column}"
            ),
        };
        CatalogFault { path: String::new(), message }
    })?;
    let document = Node::root(text);
    let mut found = Findings::of(document);
    let catalog = catalog(document, &mut found);
    let (faults, secrets) = found.in_document_order();
    let checked = catalog.filter(|_| faults.is_empty()).ok_or(faults);
    Ok((checked, secrets))
}

fn catalog(document: Node<'_, '_>, found: &mut Findings) -> Option<Catalog> {
    let declared = Declared::of(document);
    let mut agents = BTreeMap::new();
    let mut conversations = BTreeMap::new();
    let (mut default_and_all_modes, mut tools) = (None, Vec::new());
    CATALOG.read(document, found, |name, node, found| match name {
        "$schema" => drop(node.text(found)),
        "AgentContexts" => agents = contexts_by_id(node, "agent", found, agent_context),
        "ConversationContexts" => {
            conversations = contexts_by_id(node, "conversation", found, |node, found| {
                conversation_context(node, &declared, found)
            });
        }
        "Modes" => default_and_all_modes = modes(node, &declared.tools, found),
        _ => tools = server_tools(node, found),
    });
    let (default_mode, modes) = default_and_all_modes?;
    Some(Catalog {
        agent_contexts: agents,
        conversation_contexts: conversations,
        modes,
        default_mode,
        server_tools: tools,
    })
}

/// Names that the document declares, also where the declaration itself has other faults, so that
/// one mistake is reported once.
#[derive(Default)]
struct Declared<'d> {
    agent_contexts: Vec<Cow<'d, str>>,
    modes: Vec<Cow<'d, str>>,
    tools: Vec<Cow<'d, str>>,
}

impl<'d> Declared<'d> {
    fn of(document: Node<'d, '_>) -> Self {
        let mut declared = Self::default();
        if let Some(contexts) = document.find("AgentContexts") {
            // What is not an object declares nothing, and is a fault where it is read.
            let _ = for_each_member(contexts.json, |id, _| declared.agent_contexts.push(id));
        }
        let names = |list, name, declared: &mut Vec<Cow<'d, str>>| {
            let Some(list) = document.find(list) else { return };
            let _ = for_each_element(list.json, |json| {
                let item = list.element(0, json);
                declared.extend(item.find(name).and_then(|name| name.as_text()));
            });
        };
        names("Modes", "Key", &mut declared.modes);
        names("ServerTools", "Name", &mut declared.tools);
        declared.tools.extend(BUILT_IN_TOOLS.map(Cow::from));
        declared
    }
}

fn contexts_by_id<'d, T>(
    node: Node<'d, '_>,
    kind: &str,
    found: &mut Findings,
    mut read: impl FnMut(Node<'d, '_>, &mut Findings) -> Option<T>,
) -> BTreeMap<String, T> {
    let mut contexts = BTreeMap::new();
    let count = entries(node, found, |id, node, found| {
        if !is_context_id(id) {
            found.fault(node, "the id must be 1 to 128 of A-Z a-z 0-9 . _ : -");
        }
        contexts.extend(read(node, found).map(|context| (id.to_owned(), context)));
    });
    if count == Some(0) {
        found.fault(node, format!("must hold at least one {kind} context"));
    }
    contexts
}

fn conversation_context(
    node: Node<'_, '_>,
    declared: &Declared<'_>,
    found: &mut Findings,
) -> Option<ConversationContext> {
    let (mut agent_context_id, mut boot_prompt) = (None, None);
    let (mut named_model, mut mode, mut tools) = (None, None, Vec::new());
    CONVERSATION_CONTEXT.read(node, found, |name, node, found| match name {
        "AgentContextId" => {
            agent_context_id = reference(node, "agent context", &declared.agent_contexts, found);
        }
        "BootPrompt" => boot_prompt = stated_prose(node, BOOT_PROMPT_BYTES, found),
        "Model" => named_model = model(node, found),
        "Mode" => mode = reference(node, "mode", &declared.modes, found),
        _ => tools = client_tools(node, found),
    });
    Some(ConversationContext {
        agent_context_id: agent_context_id?,
        boot_prompt: boot_prompt?,
        model: named_model,
        mode,
        tools,
    })
}
