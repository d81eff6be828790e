//! Reading the modes (interface §6, AGN-011 §4).

use super::definitions::{GENERAL_MODE, HostedTool};
use super::findings::{Findings, Seen};
use super::hosted_tools::hosted_tools;
use super::model_parameters::{ModelParameters, model_parameters};
use super::names::is_mode_key;
use super::tools::server_side_tool;
use super::values::{CHOICE_BYTES, flag, is_blank, matching_text, prose, tool_list};
use crate::json::{Node, declared_object};

/// In bytes. Every call sends them, beside the boot prompt and the conversation.
const INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// In bytes. A person reads it before the final text.
const WELCOME_MESSAGE_BYTES: usize = 16 * 1024;
const DISPLAY_NAME_CHARACTERS: usize = 128;

/// All modes.
pub(super) fn modes(node: Node<'_, '_>, findings: &mut Findings) -> Vec<Mode> {
    let (mut modes, mut keys) = (Vec::<Mode>::new(), Seen::new());
    let count = node.elements(findings, |node, findings| {
        let mode = Mode::read(node, findings);
        if let Some(key) = node.find("Key") {
            findings.unique(key, "key", &mut keys);
        }
        if mode.is_default
            && modes.iter().any(|mode| mode.is_default)
            && let Some(mark) = node.find("IsDefault")
        {
            findings.fault(mark, "another mode above is the default already; mark one");
        }
        modes.push(mode);
    });
    if count == Some(0) {
        findings.fault(node, "must hold at least one mode");
    }
    modes
}

/// The mode in which a session begins that names none.
pub(super) fn default_mode(modes: &[Mode]) -> Mode {
    let marked = modes.iter().find(|mode| mode.is_default);
    let general = || modes.iter().find(|mode| mode.key == GENERAL_MODE);
    marked.or_else(general).or_else(|| modes.first()).cloned().unwrap_or_default()
}

declared_object! {
    /// A mode of the agent.
    pub struct Mode by Findings {
        /// What the model sees in [MODE: Key]; clients never see it.
        "Key" required => key: String =
            matching_text(is_mode_key, "must be 1 to 64 of A-Z a-z 0-9 _ . -"),
        /// What clients see.
        "DisplayName" required => display_name: String =
            matching_text(is_display_name, "must be one line of 1 to 128 characters, not blank"),
        /// What the model reads to choose this mode.
        "WhenToUse" => when_to_use: String = prose(CHOICE_BYTES),
        /// Stands before the final text of the turn that changed into this mode. At most 16384 bytes of UTF-8.
        "WelcomeMessage" => welcome_message: String = prose(WELCOME_MESSAGE_BYTES),
        /// The mode layer of the prompt, sent with every call while the mode is on. At most 65536 bytes of UTF-8.
        "Instructions" => instructions: String = prose(INSTRUCTIONS_BYTES),
        /// Names of server tools and built-in tools, and tools of MCP servers as server/tool or server/*.
        /// agent_change_mode is offered anyway.
        "Tools" => tools: Vec<String> = tools(),
        "HostedTools" => hosted_tools: Vec<HostedTool> = hosted_tools(),
        "ModelParameters" => model_parameters: ModelParameters = model_parameters(),
        /// Marks the default mode: sessions start in it where their conversation context names no mode and there is
        /// none named general, and it takes the place of a mode that leaves the catalog.
        "IsDefault" => is_default: bool = flag(),
    }
}

/// The names of tools that the server runs, each once.
fn tools(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let (mut tools, mut names) = (Vec::new(), Seen::new());
    tool_list(node, findings, |node, findings| {
        findings.unique(node, "tool", &mut names);
        tools.push(server_side_tool(node, findings));
    });
    tools
}

fn is_display_name(text: &str) -> bool {
    !is_blank(text)
        && text.chars().count() <= DISPLAY_NAME_CHARACTERS
        && !text.chars().any(char::is_control)
}
