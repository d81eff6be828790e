//! What a catalog document may say: its members, their rules, and the names that must exist.
//!
//! Reads the whole document in one pass and records every fault, so that an operator mends a catalog
//! once. Tools are read by [`super::tool_check`], URLs and headers by [`super::http_endpoint`].

use std::collections::BTreeMap;

use super::document::Node;
use super::names::{is_context_id, is_mode_key, is_secret_name, nearest, quoted};
use super::place::{Faults, Members, Place, read_all, refuse_repeats};
use super::{
    AgentContext, BUILT_IN_TOOLS, Catalog, CatalogFault, Continuation, ConversationContext,
    GENERAL_MODE, HttpTool, Mode, Retrieval, http_endpoint, tool_check,
};

/// The budgets of prose, in bytes. The model service takes texts of ten million characters; these
/// are smaller because a text is paid for again with every call that carries it.
///
/// Every call of a session pays for the boot prompt, some 65,000 tokens at the most.
const BOOT_PROMPT_BYTES: usize = 256 * 1024;
/// Goes out with every call beside the boot prompt and what the call is about.
const INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// A person reads it before an answer.
const WELCOME_MESSAGE_BYTES: usize = 16 * 1024;
/// What the model chooses by, of a mode or a tool; it goes out beside many others.
pub(super) const CHOICE_BYTES: usize = 16 * 1024;
/// Most tools in one list: the model service takes 128, and `agent_change_mode` is one of them.
const MOST_TOOLS: usize = 127;
/// Longest display name, in characters.
const DISPLAY_NAME_CHARACTERS: usize = 128;
/// Longest model name, in bytes.
const MODEL_NAME_BYTES: usize = 256;

/// Retrieval's bounds (interface §7).
pub(super) const DEFAULT_LIMIT: u32 = 8;
const MOST_CHUNKS: u32 = 100;
pub(super) const DEFAULT_MAX_BYTES: u32 = 24_576;
const MOST_BYTES: u32 = 1_048_576;

/// Names the document declares, also where the declaration itself has other faults, so that one
/// mistake is reported once.
struct Declared<'d> {
    agent_contexts: Vec<&'d str>,
    modes: Vec<&'d str>,
    tools: Vec<&'d str>,
}

/// Reads and checks a document. The error is never empty.
pub(super) fn read(text: &str) -> Result<Catalog, Vec<CatalogFault>> {
    let document = Node::parse(text).map_err(|error| {
        vec![CatalogFault { path: String::new(), message: format!("is not JSON: {error}") }]
    })?;
    let faults = Faults::default();
    let root = Place::root(&document, &faults);
    root.refuse_repeated_members();
    let catalog = catalog(&root);
    let faults = faults.in_document_order();
    match catalog {
        Some(catalog) if faults.is_empty() => Ok(catalog),
        _ => Err(faults),
    }
}

fn catalog(root: &Place<'_>) -> Option<Catalog> {
    let declared = Declared::of(root.node);
    let members = root.members(&[
        "$schema",
        "AgentContexts",
        "ConversationContexts",
        "Modes",
        "ServerTools",
    ])?;
    let schema = members.optional("$schema", Place::text);
    let agent_contexts = members
        .required("AgentContexts", |contexts| contexts_by_id(contexts, "agent", agent_context));
    let conversation_contexts = members.required("ConversationContexts", |contexts| {
        contexts_by_id(contexts, "conversation", |context| conversation_context(context, &declared))
    });
    let modes = members.required("Modes", |places| modes(places, &declared));
    let server_tools = members.optional("ServerTools", tool_check::server_tools);

    schema?;
    let (modes, default_mode) = modes?;
    Some(Catalog {
        agent_contexts: agent_contexts?,
        conversation_contexts: conversation_contexts?,
        modes,
        default_mode,
        server_tools: server_tools?.unwrap_or_default(),
    })
}

impl<'d> Declared<'d> {
    fn of(root: &'d Node) -> Self {
        let items = |list| root.member(list).map(Node::items).unwrap_or_default();
        let names = |list, member| {
            items(list).iter().filter_map(move |item: &Node| item.member(member)?.as_text())
        };
        let contexts = root.member("AgentContexts").map(Node::members).unwrap_or_default();
        Self {
            agent_contexts: contexts.iter().map(|(id, _)| id.as_str()).collect(),
            modes: names("Modes", "Key").collect(),
            tools: names("ServerTools", "Name").chain(BUILT_IN_TOOLS).collect(),
        }
    }
}

fn contexts_by_id<T>(
    contexts: &Place<'_>,
    kind: &str,
    read: impl Fn(&Place<'_>) -> Option<T>,
) -> Option<BTreeMap<String, T>> {
    let entries = contexts.entries()?;
    if entries.is_empty() {
        contexts.fault(format!("must hold at least one {kind} context"));
        return None;
    }
    let contexts = read_all(entries, |(id, place)| {
        if !is_context_id(id) {
            place.fault("the id must be 1 to 128 of A-Z a-z 0-9 . _ : -");
        }
        Some((id.to_owned(), read(&place)?))
    })?;
    Some(contexts.into_iter().collect())
}

fn agent_context(place: &Place<'_>) -> Option<AgentContext> {
    let members = place.members(&[
        "BaseUrl",
        "ApiKeySecret",
        "Model",
        "Continuation",
        "ResendTools",
        "DeleteStored",
        "Retrieval",
    ])?;
    let base_url = members.optional("BaseUrl", http_endpoint::base_url);
    let api_key_secret = members.optional("ApiKeySecret", secret_name);
    let model = members.optional("Model", model);
    let continuation = members.optional("Continuation", |place| {
        place.choice(&[("stored", Continuation::Stored), ("replay", Continuation::Replay)])
    });
    let resend_tools = members.optional("ResendTools", Place::flag);
    let delete_stored = members.optional("DeleteStored", Place::flag);
    let retrieval = members.optional("Retrieval", retrieval);
    Some(AgentContext {
        base_url: base_url?,
        api_key_secret: api_key_secret?,
        model: model?,
        continuation: continuation?.unwrap_or(Continuation::Stored),
        resend_tools: resend_tools?.unwrap_or(true),
        delete_stored: delete_stored?.unwrap_or(false),
        retrieval: retrieval?.unwrap_or_default(),
    })
}

fn retrieval(place: &Place<'_>) -> Option<Retrieval> {
    const SHAPES: &str = "must be {\"Index\": {}}, {\"Http\": {…}} or \"None\"";
    if let Some(word) = place.node.as_text() {
        if word == "None" {
            return Some(Retrieval::None);
        }
        place.fault(SHAPES);
        return None;
    }
    let members = place.members(&["Index", "Http"])?;
    match (members.find("Index"), members.find("Http")) {
        (Some(index), None) => {
            let (limit, max_bytes) = bounds(&index.members(&["Limit", "MaxBytes"])?)?;
            Some(Retrieval::Index { limit, max_bytes })
        }
        (None, Some(http)) => {
            let members = http.members(&["Url", "Headers", "TimeoutMs", "Limit", "MaxBytes"])?;
            let endpoint = http_endpoint::read(&members);
            let bounds = bounds(&members);
            let HttpTool { url, headers, timeout_ms } = endpoint?;
            let (limit, max_bytes) = bounds?;
            Some(Retrieval::Http { url, headers, timeout_ms, limit, max_bytes })
        }
        _ => {
            place.fault(SHAPES);
            None
        }
    }
}

/// `Limit` and `MaxBytes`.
fn bounds(members: &Members<'_>) -> Option<(u32, u32)> {
    let bound = |name, default, most| {
        let read = members.optional(name, |place| place.integer(1..=u64::from(most)))?;
        read.map_or(Some(default), |value| u32::try_from(value).ok())
    };
    let limit = bound("Limit", DEFAULT_LIMIT, MOST_CHUNKS);
    let max_bytes = bound("MaxBytes", DEFAULT_MAX_BYTES, MOST_BYTES);
    Some((limit?, max_bytes?))
}

fn conversation_context(place: &Place<'_>, declared: &Declared<'_>) -> Option<ConversationContext> {
    let members = place.members(&["AgentContextId", "BootPrompt", "Model", "Mode", "Tools"])?;
    let agent_context_id = members.required("AgentContextId", |place| {
        reference(place, "agent context", &declared.agent_contexts)
    });
    let boot_prompt =
        members.required("BootPrompt", |place| stated_prose(place, BOOT_PROMPT_BYTES));
    let model = members.optional("Model", model);
    let mode = members.optional("Mode", |place| reference(place, "mode", &declared.modes));
    let tools = members.optional("Tools", tool_check::function_tools);
    Some(ConversationContext {
        agent_context_id: agent_context_id?,
        boot_prompt: boot_prompt?,
        model: model?,
        mode: mode?,
        tools: tools?.unwrap_or_default(),
    })
}

/// The modes, and which of them is the default.
fn modes(place: &Place<'_>, declared: &Declared<'_>) -> Option<(Vec<Mode>, Mode)> {
    let places = place.items()?;
    if places.is_empty() {
        place.fault("must hold at least one mode");
        return None;
    }
    let modes = read_all(&places, |place| mode(place, declared));
    refuse_repeats("key", places.iter().filter_map(|mode| mode.member("Key")));
    let defaults = places
        .iter()
        .filter_map(|mode| mode.member("IsDefault"))
        .filter(|place| *place.node == Node::Boolean(true));
    for second in defaults.skip(1) {
        second.fault("another mode above is the default already; mark one");
    }
    let modes = modes?;
    let default = modes
        .iter()
        .find(|mode| mode.is_default)
        .or_else(|| modes.iter().find(|mode| mode.key == GENERAL_MODE))
        .or_else(|| modes.first())?
        .clone();
    Some((modes, default))
}

fn mode(place: &Place<'_>, declared: &Declared<'_>) -> Option<Mode> {
    let members = place.members(&[
        "Key",
        "DisplayName",
        "WhenToUse",
        "WelcomeMessage",
        "Instructions",
        "Tools",
        "IsDefault",
    ])?;
    let key = members
        .required("Key", |place| named(place, is_mode_key, "must be 1 to 64 of A-Z a-z 0-9 _ . -"));
    let display_name = members.required("DisplayName", display_name);
    let when_to_use = members.optional("WhenToUse", |place| prose(place, CHOICE_BYTES));
    let welcome_message =
        members.optional("WelcomeMessage", |place| prose(place, WELCOME_MESSAGE_BYTES));
    let instructions = members.optional("Instructions", |place| prose(place, INSTRUCTIONS_BYTES));
    let tools = members.optional("Tools", |place| {
        let places = tool_list(place)?;
        refuse_repeats("tool", places.iter().cloned());
        read_all(&places, |place| reference(place, "server tool", &declared.tools))
    });
    let is_default = members.optional("IsDefault", Place::flag);
    Some(Mode {
        key: key?,
        display_name: display_name?,
        when_to_use: when_to_use?.unwrap_or_default(),
        welcome_message: welcome_message?.unwrap_or_default(),
        instructions: instructions?.unwrap_or_default(),
        tools: tools?.unwrap_or_default(),
        is_default: is_default?.unwrap_or(false),
    })
}

/// The items of a list of tools that is offered as a whole.
pub(super) fn tool_list<'d>(place: &Place<'d>) -> Option<Vec<Place<'d>>> {
    let places = place.items()?;
    if places.len() > MOST_TOOLS {
        place.fault(format!("holds {} tools; the most is {MOST_TOOLS}", places.len()));
        return None;
    }
    Some(places)
}

/// Prose of at most so many bytes, that may be empty.
pub(super) fn prose(place: &Place<'_>, most: usize) -> Option<String> {
    let text = place.text()?;
    if text.len() > most {
        place.fault(format!("is {} bytes long; the most is {most}", text.len()));
        return None;
    }
    Some(text.to_owned())
}

/// Prose of at most so many bytes, that says something.
pub(super) fn stated_prose(place: &Place<'_>, most: usize) -> Option<String> {
    let text = prose(place, most)?;
    if is_blank(&text) {
        place.fault("must not be blank");
        return None;
    }
    Some(text)
}

/// A text of a given grammar. The text itself may be a misplaced secret and is not repeated.
pub(super) fn named(
    place: &Place<'_>,
    grammar: impl Fn(&str) -> bool,
    remedy: &str,
) -> Option<String> {
    let text = place.text()?;
    if !grammar(text) {
        place.fault(remedy);
        return None;
    }
    Some(text.to_owned())
}

fn reference(place: &Place<'_>, kind: &str, declared: &[&str]) -> Option<String> {
    let name = place.text()?;
    // Where nothing is declared, that is the fault, and it is recorded at the list.
    if declared.is_empty() || declared.contains(&name) {
        return Some(name.to_owned());
    }
    let remedy = match nearest(name, declared.iter().copied()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => "declare it or remove it here".to_owned(),
    };
    place.fault(format!("the catalog has no {kind} {}; {remedy}", quoted(name)));
    None
}

fn display_name(place: &Place<'_>) -> Option<String> {
    let fits = |text: &str| {
        !is_blank(text)
            && text.chars().count() <= DISPLAY_NAME_CHARACTERS
            && !text.chars().any(char::is_control)
    };
    named(place, fits, "must be one line of 1 to 128 characters, not blank")
}

fn model(place: &Place<'_>) -> Option<String> {
    let fits = |text: &str| {
        !text.is_empty()
            && text.len() <= MODEL_NAME_BYTES
            && text.bytes().all(|b| b.is_ascii_graphic())
    };
    named(place, fits, "must be a model's name: 1 to 256 visible ASCII characters, no spaces")
}

fn secret_name(place: &Place<'_>) -> Option<String> {
    named(
        place,
        is_secret_name,
        "must be the name of a secret (letters, digits and _, not starting with a digit), \
         never the key itself",
    )
}

/// Nothing to see. U+FEFF counts as space, as it does in the schema's regular expressions.
fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character == '\u{feff}')
}
