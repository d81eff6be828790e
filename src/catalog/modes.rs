//! Reading the modes (interface §6, AGN-011 §4).

use super::definitions::{GENERAL_MODE, Mode};
use super::findings::{Findings, Seen};
use super::hosted_tools::hosted_tools;
use super::model_parameters::model_parameters;
use super::names::is_mode_key;
use super::tools::ServerSide;
use super::values::{CHOICE_BYTES, flag, is_blank, matching_text, prose, tool_list};
use crate::json::{Node, ObjectShape};

const MODE: ObjectShape = ObjectShape::new(
    &[
        "Key",
        "DisplayName",
        "WhenToUse",
        "WelcomeMessage",
        "Instructions",
        "Tools",
        "HostedTools",
        "ModelParameters",
        "IsDefault",
    ],
    &["Key", "DisplayName"],
);

/// In bytes. Every call sends them, beside the boot prompt and the conversation.
const INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// In bytes. A person reads it before the final text.
const WELCOME_MESSAGE_BYTES: usize = 16 * 1024;
const DISPLAY_NAME_CHARACTERS: usize = 128;

/// The default mode and all modes. Their tools must be among the `declared` ones.
pub(super) fn modes(
    node: Node<'_, '_>,
    declared: &ServerSide<'_>,
    findings: &mut Findings,
) -> (Mode, Vec<Mode>) {
    let mut modes = Vec::new();
    let mut keys = Seen::new();
    let count = node.elements(findings, |node, findings| {
        let mode = mode(node, declared, &mut keys, &modes, findings);
        modes.push(mode);
    });
    if count == Some(0) {
        findings.fault(node, "must hold at least one mode");
    }
    let marked = modes.iter().find(|mode| mode.is_default);
    let general = || modes.iter().find(|mode| mode.key == GENERAL_MODE);
    let default = marked.or_else(general).or_else(|| modes.first()).cloned().unwrap_or_default();
    (default, modes)
}

fn mode<'d>(
    node: Node<'d, '_>,
    declared: &ServerSide<'_>,
    keys: &mut Seen<'d>,
    above: &[Mode],
    findings: &mut Findings,
) -> Mode {
    let mut mode = Mode::default();
    MODE.read(node, findings, |member, node, findings| match member {
        "Key" => {
            mode.key =
                matching_text(node, is_mode_key, "must be 1 to 64 of A-Z a-z 0-9 _ . -", findings);
            findings.unique(node, "key", keys);
        }
        "DisplayName" => {
            let remedy = "must be one line of 1 to 128 characters, not blank";
            mode.display_name = matching_text(node, is_display_name, remedy, findings);
        }
        "WhenToUse" => mode.when_to_use = prose(node, CHOICE_BYTES, findings),
        "WelcomeMessage" => mode.welcome_message = prose(node, WELCOME_MESSAGE_BYTES, findings),
        "Instructions" => mode.instructions = prose(node, INSTRUCTIONS_BYTES, findings),
        "Tools" => {
            let mut names = Seen::new();
            tool_list(node, findings, |node, findings| {
                findings.unique(node, "tool", &mut names);
                mode.tools.push(declared.reference(node, findings));
            });
        }
        "HostedTools" => mode.hosted_tools = hosted_tools(node, findings),
        "ModelParameters" => mode.model_parameters = model_parameters(node, findings),
        "IsDefault" => {
            mode.is_default = flag(node, findings);
            if mode.is_default && above.iter().any(|mode| mode.is_default) {
                findings.fault(node, "another mode above is the default already; mark one");
            }
        }
        _ => {}
    });
    mode
}

fn is_display_name(text: &str) -> bool {
    !is_blank(text)
        && text.chars().count() <= DISPLAY_NAME_CHARACTERS
        && !text.chars().any(char::is_control)
}
