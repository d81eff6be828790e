//! Reading one JSON value by the rule of its member: text, a number, a name of a closed list, a list
//! or an identifier.
//!
//! Each method gives the value, or reports a fault and gives nothing. No report repeats a value but the path of a
//! document, by which a client finds it among many.

use super::reader::Reader;
use crate::contract::relative_path::{normal_file_path, quoted_path};
use crate::contract::{IDENTIFIER_RULE, Result, limits};
use crate::encoding::ClosedList;
use crate::json::{DEPTH_LIMIT, Malformed, Node, Problems, check, not_json};

/// The largest integer that every JSON implementation can hold exactly.
const LARGEST_INTEGER: u64 = 1 << 53;

impl Reader {
    /// `true` or `false`.
    pub(super) fn flag(&mut self, node: Node<'_, '_>) -> Option<bool> {
        node.flag(self)
    }

    /// Any value: it is known, and means nothing.
    pub(super) fn ignore(&mut self, _: Node<'_, '_>) {}

    /// A string of at most `longest` characters.
    pub(super) fn text(&mut self, longest: usize, node: Node<'_, '_>) -> Option<String> {
        let text = node.text(self)?;
        match too_long(longest, &text) {
            Some(problem) => self.refuse(node, &problem),
            None => Some(text.into_owned()),
        }
    }

    /// A string that is not empty.
    pub(super) fn full_text(&mut self, longest: usize, node: Node<'_, '_>) -> Option<String> {
        let text = self.text(longest, node)?;
        if text.is_empty() { self.refuse(node, "must not be empty") } else { Some(text) }
    }

    /// A string; an empty one counts as absent.
    pub(super) fn optional_text(&mut self, longest: usize, node: Node<'_, '_>) -> Option<String> {
        self.text(longest, node).filter(|text| !text.is_empty())
    }

    /// A string in which `problem` finds nothing wrong.
    pub(super) fn checked_text(
        &mut self,
        longest: usize,
        problem: fn(&str) -> Option<&'static str>,
        node: Node<'_, '_>,
    ) -> Option<String> {
        let text = self.text(longest, node)?;
        match problem(&text) {
            Some(problem) => self.refuse(node, problem),
            None => Some(text),
        }
    }

    /// A name of letters, digits, `_` and `-`, as the model service takes it.
    pub(super) fn plain_name(&mut self, longest: usize, node: Node<'_, '_>) -> Option<String> {
        let name = self.full_text(longest, node)?;
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
            return Some(name);
        }
        let problem =
            format!("must be 1 to {longest} of the letters A-Z a-z, the digits, _ and - only");
        self.refuse(node, &problem)
    }

    /// Whether a text, that of the string at `node`, is JSON; `wanted` names what the text must hold.
    pub(super) fn holds_json(&mut self, text: &str, wanted: &str, node: Node<'_, '_>) -> bool {
        let problem = match check(text) {
            Ok(()) => return true,
            Err(Malformed::TooDeep { .. }) => {
                format!("must not nest more than {DEPTH_LIMIT} levels deep")
            }
            Err(Malformed::NotJson(error)) => {
                format!("must hold {wanted}; it is {}", not_json(&error))
            }
        };
        self.invalid(node, &problem);
        false
    }

    /// A path in the form that `normal` gives.
    pub(super) fn path(
        &mut self,
        normal: fn(&str) -> Result<String, &'static str>,
        node: Node<'_, '_>,
    ) -> Option<String> {
        let path = self.text(limits::PATH, node)?;
        normal(&path).map_or_else(|problem| self.refuse(node, problem), Some)
    }

    /// The path of a document, in its one form.
    pub(super) fn document_path(&mut self, node: Node<'_, '_>) -> Option<String> {
        let path = node.text(self)?;
        let named = |problem: &str| format!("{} {problem}", quoted_path(&path));
        if let Some(problem) = too_long(limits::PATH, &path) {
            return self.refuse(node, &named(&problem));
        }
        normal_file_path(&path).map_or_else(|problem| self.refuse(node, &named(problem)), Some)
    }

    /// Reports a document whose path stands above it, and what to do about it.
    pub(super) fn repeated_document(&mut self, path: &str, remedy: &str, node: Node<'_, '_>) {
        let named = quoted_path(path);
        let problem = format!("{named} names a document that stands above it; {remedy}");
        self.invalid(node.member("Path", node.json), &problem);
    }

    /// An integer from 0 to 2^53, written without fraction or exponent.
    pub(super) fn integer(&mut self, node: Node<'_, '_>) -> Option<u64> {
        // Signs, fractions and texts do not parse.
        let number = node.json.parse().ok().filter(|number| *number <= LARGEST_INTEGER);
        number.or_else(|| {
            self.refuse(node, "must be an integer from 0 to 2^53, without fraction or exponent")
        })
    }

    /// One name of a closed list.
    pub(super) fn one_of<T: ClosedList>(&mut self, node: Node<'_, '_>) -> Option<T> {
        let choice = node.as_text().and_then(|name| T::of_name(&name));
        choice.or_else(|| self.refuse(node, &format!("must be one of {}", T::NAMES.join(", "))))
    }

    /// An identifier; its type knows its longest form.
    pub(super) fn identifier<T>(
        &mut self,
        parse: fn(&str) -> Result<T>,
        node: Node<'_, '_>,
    ) -> Option<T> {
        let text = node.text(self)?;
        parse(&text).ok().or_else(|| self.refuse(node, IDENTIFIER_RULE))
    }

    /// An array of at most `most` elements, each read by `element`. An element without a value has been
    /// reported, and is left out.
    pub(super) fn list<'d, T>(
        &mut self,
        most: usize,
        mut element: impl FnMut(&mut Self, Node<'d, '_>) -> Option<T>,
        node: Node<'d, '_>,
    ) -> Option<Vec<T>> {
        let mut list = Vec::new();
        let (mark, mut seen) = (self.mark(), 0_usize);
        let count = node.elements(self, |node, reader| {
            seen += 1;
            if seen <= most && !reader.is_full() {
                list.extend(element(reader, node));
            }
        })?;
        if count > most {
            let problem = format!("must hold at most {most} elements, not {count}");
            self.invalid_before(mark, node, &problem);
        }
        Some(list)
    }

    /// The same, with at least one element; `what` names one in the report.
    pub(super) fn full_list<'d, T>(
        &mut self,
        most: usize,
        what: &str,
        mut element: impl FnMut(&mut Self, Node<'d, '_>) -> Option<T>,
        node: Node<'d, '_>,
    ) -> Option<Vec<T>> {
        let mut is_empty = true;
        let element = |reader: &mut Self, node: Node<'d, '_>| {
            is_empty = false;
            element(reader, node)
        };
        let list = self.list(most, element, node)?;
        if is_empty {
            self.invalid(node, &format!("must hold at least one {what}"));
        }
        Some(list)
    }
}

/// What is wrong with a text of more than so many characters.
fn too_long(longest: usize, text: &str) -> Option<String> {
    // A text has no more characters than bytes, so most are never counted.
    let is_too_long = text.len() > longest && text.chars().count() > longest;
    is_too_long.then(|| format!("must be at most {longest} characters long"))
}
