//! Reading one value of the catalog as the kind that its member must have: prose, a name, a number, a
//! word.
//!
//! Each reader records what is wrong with its value. What a reader returns for a wrong value does not matter,
//! because a document with a fault gives no catalog.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;

use super::findings::{DeclaredNames, Findings, Seen};
use super::names::quoted;
use crate::encoding::ClosedList;
use crate::json::{Kind, NearestName, Node, Problem, Problems, for_each_element, nearest_name};

/// The longest description by which the model chooses a mode or a tool, in bytes.
///
/// The model service takes texts of ten million characters. The limits here are lower, because every
/// call that carries a text pays for it again.
pub(super) const CHOICE_BYTES: usize = 16 * 1024;

/// The most tools in one list: the model service takes 128, and `agent_change_mode` is one of them.
const MOST_TOOLS: usize = 127;

/// A text in which `problem` finds nothing wrong. A message never repeats the text itself, which may
/// be a misplaced secret.
pub(super) fn checked_text(
    node: Node<'_, '_>,
    findings: &mut Findings,
    problem: impl FnOnce(&str) -> Option<String>,
) -> String {
    let Some(text) = node.text(findings) else { return String::new() };
    if let Some(problem) = problem(&text) {
        findings.fault(node, problem);
        return String::new();
    }
    text.into_owned()
}

/// Prose of at most `most` bytes; it may be empty.
pub(super) fn prose(node: Node<'_, '_>, most: usize, findings: &mut Findings) -> String {
    checked_text(node, findings, |text| too_long(text, most))
}

/// Prose of at most `most` bytes that is not blank.
pub(super) fn filled_prose(node: Node<'_, '_>, most: usize, findings: &mut Findings) -> String {
    checked_text(node, findings, |text| {
        let blank = || is_blank(text).then(|| "must not be blank".to_owned());
        too_long(text, most).or_else(blank)
    })
}

fn too_long(text: &str, most: usize) -> Option<String> {
    (text.len() > most).then(|| format!("is {} bytes long; the most is {most}", text.len()))
}

/// Whether the text shows nothing. U+FEFF counts as space, as in the schema's regular expressions.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || character == '\u{feff}')
}

/// A text that a grammar accepts.
pub(super) fn matching_text(
    node: Node<'_, '_>,
    grammar: fn(&str) -> bool,
    remedy: &str,
    findings: &mut Findings,
) -> String {
    checked_text(node, findings, |text| (!grammar(text)).then(|| remedy.to_owned()))
}

/// A value of any shape that other readers of JSON can read, too.
pub(super) fn readable<T: DeserializeOwned>(
    node: Node<'_, '_>,
    findings: &mut Findings,
) -> Option<T> {
    let read = serde_json::from_str(node.json).ok();
    if read.is_none() {
        // A part of a JSON document is unreadable for no other reason.
        findings.fault(node, "holds a number out of range, or text that is not valid Unicode");
    }
    read
}

/// The name of a model, as its service spells it.
pub(super) fn model(node: Node<'_, '_>, findings: &mut Findings) -> String {
    let fits = |text: &str| {
        (1..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let remedy = "must be a model's name: 1 to 256 visible ASCII characters, no spaces";
    matching_text(node, fits, remedy, findings)
}

/// A name that must be among those that the document declares.
pub(super) fn reference(
    node: Node<'_, '_>,
    kind: &str,
    declared: fn(&DeclaredNames) -> &[String],
    findings: &mut Findings,
) -> String {
    let names = findings.declared();
    checked_text(node, findings, |name| match declared(&names) {
        // An empty list of declarations has its own fault.
        [] => None,
        declared => undeclared_problem(kind, name, declared),
    })
}

/// The fault of a name that is not among those that the document declares.
pub(super) fn undeclared_problem(kind: &str, name: &str, declared: &[String]) -> Option<String> {
    if declared.iter().any(|known| known == name) {
        return None;
    }
    let remedy = match nearest_name(name, declared.iter().map(String::as_str)) {
        Some(NearestName { name, is_likely: true }) => format!("did you mean {}?", quoted(name)),
        _ => "declare it or remove it here".to_owned(),
    };
    Some(format!("the catalog has no {kind} {}; {remedy}", quoted(name)))
}

/// `true` or `false`.
pub(super) fn flag(node: Node<'_, '_>, findings: &mut Findings) -> bool {
    node.flag(findings) == Some(true)
}

/// An integer within bounds.
pub(super) fn integer(
    node: Node<'_, '_>,
    bounds: RangeInclusive<u32>,
    findings: &mut Findings,
) -> u32 {
    if node.kind() != Kind::Number {
        findings.add(node, Problem::WrongKind("an integer"));
        return 0;
    }
    node.json.parse().ok().filter(|value| bounds.contains(value)).unwrap_or_else(|| {
        let (least, most) = bounds.into_inner();
        findings.fault(node, format!("must be an integer from {least} to {most}"));
        least
    })
}

/// A number from 0 to 1, in thousandths.
pub(super) fn thousandths(node: Node<'_, '_>, findings: &mut Findings) -> u32 {
    if node.kind() != Kind::Number {
        findings.add(node, Problem::WrongKind("a number"));
        return 0;
    }
    let number = node.json.parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.map(|number| (number * 1000.0).round() as u32).unwrap_or_else(|| {
        findings.fault(node, "must be a number from 0 to 1".to_owned());
        0
    })
}

/// A number from 0 to 100 with at most two decimals, in hundredths.
pub(super) fn hundredths(node: Node<'_, '_>, findings: &mut Findings) -> u32 {
    if node.kind() != Kind::Number {
        findings.add(node, Problem::WrongKind("a number"));
        return 0;
    }
    let number = node.json.parse::<f64>().ok().filter(|number| (0.0..=100.0).contains(number));
    let whole = number.map(|number| (number * 100.0).round());
    // The nearest number to one of two decimals is that one.
    let is_exact = number.zip(whole).is_some_and(|(number, whole)| whole / 100.0 == number);
    whole.filter(|_| is_exact).map(|whole| whole as u32).unwrap_or_else(|| {
        findings.fault(node, "must be a number from 0 to 100 with at most two decimals");
        0
    })
}

/// One of a few words, each with what it means.
pub(super) fn choice<T: Copy + Default, const N: usize>(
    node: Node<'_, '_>,
    choices: [(&'static str, T); N],
    findings: &mut Findings,
) -> T {
    let meant = |word: &str| choices.iter().find(|(choice, _)| *choice == word).map(|(_, of)| *of);
    one_of(node, &choices.map(|(word, _)| word), meant, findings).unwrap_or_default()
}

/// One of the words of a closed list, all of which are given.
pub(super) fn word<T: ClosedList + Default>(
    node: Node<'_, '_>,
    _all: &[T],
    findings: &mut Findings,
) -> T {
    named(node, findings).unwrap_or_default()
}

/// One of the names of a closed list.
pub(super) fn named<T: ClosedList>(node: Node<'_, '_>, findings: &mut Findings) -> Option<T> {
    one_of(node, T::NAMES, T::of_name, findings)
}

fn one_of<T>(
    node: Node<'_, '_>,
    words: &[&str],
    meant: impl FnOnce(&str) -> Option<T>,
    findings: &mut Findings,
) -> Option<T> {
    let meant = meant(&node.text(findings)?);
    if meant.is_none() {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        findings.fault(node, format!("must be {}", words.join(" or ")));
    }
    meant
}

/// The items of a list and their number. Each text may stand there once; messages call it `kind`.
pub(super) fn each_once<T>(
    node: Node<'_, '_>,
    kind: &str,
    findings: &mut Findings,
    mut read: impl FnMut(Node<'_, '_>, &mut Findings) -> Option<T>,
) -> (Vec<T>, Option<usize>) {
    let (mut items, mut seen) = (Vec::new(), Seen::new());
    let count = node.elements(findings, |node, findings| {
        items.extend(read(node, findings));
        findings.unique(node, kind, &mut seen);
    });
    (items, count)
}

/// Reads the items of a list of tools that a call offers as a whole. A list that is too long is one
/// fault, and its items are not read.
pub(super) fn tool_list<'d>(
    node: Node<'d, '_>,
    findings: &mut Findings,
    item: impl FnMut(Node<'d, '_>, &mut Findings),
) {
    let mut count = 0_usize;
    let counted = for_each_element(node.json, |_| count += 1);
    if counted.is_ok() && count > MOST_TOOLS {
        findings.fault(node, format!("holds {count} tools; the most is {MOST_TOOLS}"));
    } else {
        node.elements(findings, item);
    }
}
