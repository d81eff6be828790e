//! Reading the modes (interface §6, AGN-011 §4).

use std::borrow::Cow;

use super::definitions::{GENERAL_MODE, Mode};
use super::findings::{Findings, Unique};
use super::names::is_mode_key;
use super::values::{CHOICE_BYTES, is_blank, named, prose, reference, tool_list};
use crate::json::{Node, ObjectShape};

const MODE: ObjectShape = ObjectShape::new(
    &["Key", "DisplayName", "WhenToUse", "WelcomeMessage", "Instructions", "Tools", "IsDefault"],
    &["Key", "DisplayName"],
);

/// In bytes. They go out with every call beside the boot prompt and what the call is about.
const INSTRUCTIONS_BYTES: usize = 64 * 1024;
/// In bytes. A person reads it before the final text.
const WELCOME_MESSAGE_BYTES: usize = 16 * 1024;
const DISPLAY_NAME_CHARACTERS: usize = 128;

/// The mode in which sessions start, and all modes; their tools are among the `declared` ones.
pub(super) fn modes(
    node: Node<'_, '_>,
    declared: &[Cow<'_, str>],
    found: &mut Findings,
) -> Option<(Mode, Vec<Mode>)> {
    let mut modes = Vec::new();
    let mut keys = Unique::new("key");
    let mut has_default = false;
    let count = node.elements(found, |node, found| {
        modes.extend(mode(node, declared, &mut keys, &mut has_default, found));
    });
    if count == Some(0) {
        found.fault(node, "must hold at least one mode");
    }
    let marked = modes.iter().find(|mode| mode.is_default);
    let general = || modes.iter().find(|mode| mode.key == GENERAL_MODE);
    let default = marked.or_else(general).or_else(|| modes.first())?.clone();
    Some((default, modes))
}

fn mode<'d>(
    node: Node<'d, '_>,
    declared: &[Cow<'_, str>],
    keys: &mut Unique<'d>,
    has_default: &mut bool,
    found: &mut Findings,
) -> Option<Mode> {
    let (mut key, mut name, mut is_default) = (None, None, None);
    let (mut when_to_use, mut welcome_message, mut instructions) = (None, None, None);
    let mut tools = Vec::new();
    MODE.read(node, found, |member, node, found| match member {
        "Key" => {
            key = named(node, is_mode_key, "must be 1 to 64 of A-Z a-z 0-9 _ . -", found);
            keys.check(node, found);
        }
        "DisplayName" => name = display_name(node, found),
        "WhenToUse" => when_to_use = prose(node, CHOICE_BYTES, found),
        "WelcomeMessage" => welcome_message = prose(node, WELCOME_MESSAGE_BYTES, found),
        "Instructions" => instructions = prose(node, INSTRUCTIONS_BYTES, found),
        "Tools" => {
            let mut names = Unique::new("tool");
            tool_list(node, found, |node, found| {
                names.check(node, found);
                tools.extend(reference(node, "server tool", declared, found));
            });
        }
        _ => {
            is_default = node.flag(found);
            let marked = is_default == Some(true);
            if marked && *has_default {
                found.fault(node, "another mode above is the default already; mark one");
            }
            *has_default |= marked;
        }
    });
    Some(Mode {
        key: key?,
        display_name: name?,
        when_to_use: when_to_use.unwrap_or_default(),
        welcome_message: welcome_message.unwrap_or_default(),
        instructions: instructions.unwrap_or_default(),
        tools,
        is_default: is_default.unwrap_or(false),
    })
}

fn display_name(node: Node<'_, '_>, found: &mut Findings) -> Option<String> {
    let fits = |text: &str| {
        !is_blank(text)
            && text.chars().count() <= DISPLAY_NAME_CHARACTERS
            && !text.chars().any(char::is_control)
    };
    named(node, fits, "must be one line of 1 to 128 characters, not blank", found)
}
