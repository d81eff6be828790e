//! Reading one JSON value as what its member must be: text, a number, one of a few names, a list or
//! an identifier.
//!
//! Each reader gives the value, or reports why there is none and gives nothing. None repeats a
//! value in its report.

use serde::de::DeserializeOwned;

use super::violations::Violations;
use crate::contract::closed_list::ClosedList;
use crate::contract::fault::Fault;
use crate::json::{Node, Report};

/// The largest integer that every JSON implementation can hold exactly.
const LARGEST_INTEGER: u64 = 1 << 53;

/// A string of at most `longest` characters.
pub(super) fn text(longest: usize, node: Node<'_, '_>, found: &mut Violations) -> Option<String> {
    let text = node.text(found)?;
    // A text has no more characters than bytes, so most are never counted.
    if text.len() > longest && text.chars().count() > longest {
        found.invalid(node, &format!("must be at most {longest} characters long"));
        return None;
    }
    Some(text.into_owned())
}

/// A string that is not empty.
pub(super) fn full_text(
    longest: usize,
    node: Node<'_, '_>,
    found: &mut Violations,
) -> Option<String> {
    let text = text(longest, node, found)?;
    if text.is_empty() {
        found.invalid(node, "must not be empty");
        return None;
    }
    Some(text)
}

/// A string of which an empty one says no more than an absent one.
pub(super) fn optional_text(
    longest: usize,
    node: Node<'_, '_>,
    found: &mut Violations,
) -> Option<String> {
    text(longest, node, found).filter(|text| !text.is_empty())
}

/// An integer from 0 to 2^53, written without fraction or exponent.
pub(super) fn integer(node: Node<'_, '_>, found: &mut Violations) -> Option<u64> {
    // Signs, fractions and texts do not parse.
    let number = node.json.parse().ok().filter(|number| *number <= LARGEST_INTEGER);
    if number.is_none() {
        found.invalid(node, "must be an integer from 0 to 2^53, without fraction or exponent");
    }
    number
}

/// One name of a closed list.
pub(super) fn one_of<T: ClosedList + DeserializeOwned>(
    node: Node<'_, '_>,
    found: &mut Violations,
) -> Option<T> {
    let choice = serde_json::from_str(node.json).ok();
    if choice.is_none() {
        found.invalid(node, &format!("must be one of {}", T::NAMES.join(", ")));
    }
    choice
}

/// An array of at most `most` elements, each read by `element`. Elements that are not given are
/// left out: they have been reported.
pub(super) fn list<'d, T>(
    most: usize,
    node: Node<'d, '_>,
    found: &mut Violations,
    mut element: impl FnMut(Node<'d, '_>, &mut Violations) -> Option<T>,
) -> Option<Vec<T>> {
    let mut list = Vec::new();
    let mut seen = 0_usize;
    let count = node.elements(found, |node, found| {
        seen += 1;
        if seen <= most && !found.is_full() {
            list.extend(element(node, found));
        }
    })?;
    if count > most {
        found.invalid(node, &format!("must hold at most {most} elements, not {count}"));
    }
    Some(list)
}

/// An identifier, which itself says how long it may be.
pub(super) fn identifier<T>(
    parse: fn(&str) -> Result<T, Fault>,
    node: Node<'_, '_>,
    found: &mut Violations,
) -> Option<T> {
    let text = node.text(found)?;
    parse(&text).map_err(|fault| found.refused(fault, &node.place)).ok()
}
