//! Reading one value of the catalog as what its member must be: prose, a name, a number, a word.
//!
//! Each reader gives the value, or records why there is none and gives nothing.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::findings::Findings;
use super::names::quoted;
use crate::json::{
    Kind, NearestName, Node, Problem, Report, for_each_element, for_each_member, nearest_name,
};

/// What the model chooses by, of a mode or a tool, in bytes; it goes out beside many others.
///
/// The model service takes texts of ten million characters. The budgets of prose are smaller
/// because a text is paid for again with every call that carries it.
pub(super) const CHOICE_BYTES: usize = 16 * 1024;

/// Most tools in one list: the model service takes 128, and `agent_change_mode` is one of them.
const MOST_TOOLS: usize = 127;

/// Prose of at most so many bytes, that may be empty.
pub(super) fn prose(node: Node<'_, '_>, most: usize, found: &mut Findings) -> Option<String> {
    let text = node.text(found)?;
    if text.len() > most {
        found.fault(node, format!("is {} bytes long; the most is {most}", text.len()));
        return None;
    }
    Some(text.into_owned())
}

/// Prose of at most so many bytes, that says something.
pub(super) fn stated_prose(
    node: Node<'_, '_>,
    most: usize,
    found: &mut Findings,
) -> Option<String> {
    let text = prose(node, most, found)?;
    if is_blank(&text) {
        found.fault(node, "must not be blank");
        return None;
    }
    Some(text)
}

/// Nothing to see. U+FEFF counts as space, as it does in the schema's regular expressions.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character == '\u{feff}')
}

/// A text of a given grammar. The text itself may be a misplaced secret and is not repeated.
pub(super) fn named(
    node: Node<'_, '_>,
    grammar: impl Fn(&str) -> bool,
    remedy: &str,
    found: &mut Findings,
) -> Option<String> {
    let text = node.text(found)?;
    if !grammar(&text) {
        found.fault(node, remedy);
        return None;
    }
    Some(text.into_owned())
}

/// The name of a model, as its service spells it.
pub(super) fn model(node: Node<'_, '_>, found: &mut Findings) -> Option<String> {
    let fits = |text: &str| {
        (1..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let remedy = "must be a model's name: 1 to 256 visible ASCII characters, no spaces";
    named(node, fits, remedy, found)
}

/// A name that must be among those that the document declares.
pub(super) fn reference(
    node: Node<'_, '_>,
    kind: &str,
    declared: &[Cow<'_, str>],
    found: &mut Findings,
) -> Option<String> {
    let name = node.text(found)?;
    // Where nothing is declared, that is the fault, and it is recorded at the list.
    if declared.is_empty() || declared.contains(&name) {
        return Some(name.into_owned());
    }
    let remedy = match nearest_name(&name, declared.iter().map(Cow::as_ref)) {
        Some(NearestName { name, is_likely: true }) => format!("did you mean {}?", quoted(name)),
        _ => "declare it or remove it here".to_owned(),
    };
    found.fault(node, format!("the catalog has no {kind} {}; {remedy}", quoted(&name)));
    None
}

/// An integer within bounds.
pub(super) fn integer(
    node: Node<'_, '_>,
    bounds: RangeInclusive<u64>,
    found: &mut Findings,
) -> Option<u64> {
    if node.kind() != Kind::Number {
        found.add(node, Problem::WrongKind("an integer"));
        return None;
    }
    let within = node.json.parse().ok().filter(|value| bounds.contains(value));
    if within.is_none() {
        let (least, most) = bounds.into_inner();
        found.fault(node, format!("must be an integer from {least} to {most}"));
    }
    within
}

/// One of a few words.
pub(super) fn choice<T: Copy>(
    node: Node<'_, '_>,
    choices: &[(&'static str, T)],
    found: &mut Findings,
) -> Option<T> {
    let word = node.text(found)?;
    let chosen = choices.iter().find_map(|(choice, value)| (*choice == word).then_some(*value));
    if chosen.is_none() {
        let words: Vec<String> = choices.iter().map(|(choice, _)| format!("{choice:?}")).collect();
        found.fault(node, format!("must be {}", words.join(" or ")));
    }
    chosen
}

/// Each item of a list of tools that is offered as a whole; of one that is too long, none.
pub(super) fn tool_list<'d>(
    node: Node<'d, '_>,
    found: &mut Findings,
    item: impl FnMut(Node<'d, '_>, &mut Findings),
) {
    let mut count = 0_usize;
    let counted = for_each_element(node.json, |_| count += 1);
    if counted.is_ok() && count > MOST_TOOLS {
        found.fault(node, format!("holds {count} tools; the most is {MOST_TOOLS}"));
    } else {
        node.elements(found, item);
    }
}

/// Each member of an object whose names are data, each name once; gives their number.
pub(super) fn entries<'d>(
    node: Node<'d, '_>,
    found: &mut Findings,
    mut entry: impl FnMut(&str, Node<'d, '_>, &mut Findings),
) -> Option<usize> {
    if !node.is_object() {
        found.add(node, Problem::WrongKind("an object"));
        return None;
    }
    let mut count = 0_usize;
    let walked = for_each_member(node.json, |name, json| {
        let member = node.member(&name, json);
        if !found.is_repeated(member) {
            count += 1;
            entry(&name, member, found);
        }
    });
    if walked.is_err() {
        found.fault(node, "has a name that is not valid Unicode; escape no lone surrogates");
    }
    Some(count)
}
