//! Reading a variable of the deployment that is JSON. Its first fault is named by its place and never by a value.

use crate::contract::{Fault, Result, TENANT_NAME_RULE, is_tenant_name};
use crate::json::{Malformed, NearestName, Node, Problem, Problems, check, not_json};

/// What stands as the tenant of a key of all tenants, before its request has named one.
pub const ALL_TENANTS: &str = "*";

/// The longest name of a member in a fault, in characters.
const LONGEST_NAME: usize = 64;

/// Reads the text of a variable.
///
/// # Errors
/// `internal`, with the place of the first fault.
pub(super) fn read_variable<T: Default>(
    variable: &'static str,
    text: &str,
    read: impl FnOnce(Node<'_, '_>, &mut FirstFault) -> T,
) -> Result<T> {
    let mut fault = FirstFault { variable, words: None };
    let root = Node::root(text);
    let mut value = T::default();
    match check(text) {
        Err(Malformed::NotJson(error)) => {
            fault.add(root, Problem::Invalid(&format!("is {}", not_json(&error))));
        }
        Err(Malformed::TooDeep { .. }) => {
            fault.add(root, Problem::Invalid("is nested too deeply"));
        }
        Ok(()) => value = read(root, &mut fault),
    }
    match fault.words {
        Some(words) => Err(Fault::internal(words)),
        None => Ok(value),
    }
}

/// The first fault of a variable, in words: its place, and what must be there.
pub(super) struct FirstFault {
    variable: &'static str,
    words: Option<String>,
}

impl Problems for FirstFault {
    const NULL_IS_ABSENT: bool = false;

    fn add(&mut self, at: Node<'_, '_>, problem: Problem<'_>) {
        let words = match problem {
            Problem::Missing(name) => format!("lacks {name}"),
            Problem::Unknown { nearest: Some(NearestName { name, is_likely: true }), .. } => {
                format!("is unknown; did you mean {name}?")
            }
            Problem::Unknown { .. } => "is unknown".to_owned(),
            Problem::Repeated => "stands there twice".to_owned(),
            Problem::WrongKind(kind) => format!("must be {kind}"),
            Problem::Invalid(words) | Problem::Forbidden(words) => words.to_owned(),
        };
        let place = at.place.location(LONGEST_NAME).label;
        let dot = if place.is_empty() || place.starts_with('[') { "" } else { "." };
        let words = format!("The deployment's variable {}{dot}{place} {words}.", self.variable);
        self.words.get_or_insert(words);
    }

    fn is_full(&self) -> bool {
        self.words.is_some()
    }
}

pub(super) fn is_filled(text: &str) -> Option<&'static str> {
    text.is_empty().then_some("must not be empty")
}

/// What is wrong with the name of one tenant.
pub(super) fn tenant_problem(text: &str) -> Option<&'static str> {
    if text == ALL_TENANTS {
        return Some("must name one tenant, and * is none");
    }
    (!is_tenant_name(text)).then_some(TENANT_NAME_RULE)
}

/// A text in which `problem` finds none.
pub(super) fn text(
    node: Node<'_, '_>,
    problem: impl Fn(&str) -> Option<&'static str>,
    fault: &mut FirstFault,
) -> String {
    let Some(text) = node.text(fault) else { return String::new() };
    if let Some(words) = problem(&text) {
        fault.add(node, Problem::Invalid(words));
    }
    text.into_owned()
}

/// A list of such texts.
pub(super) fn any_texts(
    node: Node<'_, '_>,
    problem: fn(&str) -> Option<&'static str>,
    fault: &mut FirstFault,
) -> Vec<String> {
    let mut texts = Vec::new();
    node.elements(fault, |node, fault| texts.push(text(node, problem, fault)));
    texts
}

/// The same with one element at least.
pub(super) fn texts(
    node: Node<'_, '_>,
    problem: fn(&str) -> Option<&'static str>,
    fault: &mut FirstFault,
) -> Vec<String> {
    if node.is_empty_array() {
        fault.add(node, Problem::Invalid("must not be empty"));
    }
    any_texts(node, problem, fault)
}
