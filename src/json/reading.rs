//! Reading a value by the rule of its member.
//!
//! Each method gives the value, or reports a problem and gives nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::node::{Kind, Node};
use super::problems::{Problem, Problems};
use super::walk::{for_each_element, for_each_member};

impl<'d> Node<'d, '_> {
    /// The text of a string.
    pub fn text<R: Problems>(&self, report: &mut R) -> Option<Cow<'d, str>> {
        let text = self.as_text();
        if self.kind() != Kind::String {
            report.add(*self, Problem::WrongKind("a string"));
        } else if text.is_none() {
            // The document is JSON, so the error can only be an escape for half a character.
            report.add(*self, Problem::Invalid("is not valid Unicode; escape no lone surrogates"));
        }
        text
    }

    /// The boolean; `None`, with a finding, where the value is of another kind.
    pub fn flag<R: Problems>(&self, report: &mut R) -> Option<bool> {
        match self.json {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                report.add(*self, Problem::WrongKind("true or false"));
                None
            }
        }
    }

    /// Calls `each` with the elements in order, and gives their number.
    pub fn elements<R: Problems>(
        &self,
        report: &mut R,
        mut each: impl FnMut(Node<'d, '_>, &mut R),
    ) -> Option<usize> {
        let mut count = 0_usize;
        let walked = for_each_element(self.json, |json| {
            each(self.element(count, json), report);
            count += 1;
        });
        if walked.is_err() {
            report.add(*self, Problem::WrongKind("an array"));
            return None;
        }
        Some(count)
    }

    /// Calls `each` with the members of an object whose names are data, each name once, and gives their number.
    pub fn entries<R: Problems>(
        &self,
        report: &mut R,
        mut each: impl FnMut(&str, Node<'d, '_>, &mut R),
    ) -> Option<usize> {
        if !self.is_object() {
            report.add(*self, Problem::WrongKind("an object"));
            return None;
        }
        let mut names = BTreeSet::new();
        let walked = for_each_member(self.json, |name, json| {
            let member = self.member(&name, json);
            if names.insert(name.clone()) {
                each(&name, member, report);
            } else {
                report.add(member, Problem::Repeated);
            }
        });
        if walked.is_err() {
            let problem = "has a name that is not valid Unicode; escape no lone surrogates";
            report.add(*self, Problem::Invalid(problem));
        }
        Some(names.len())
    }
}

/// The names and values of an object whose names are data, in the document's order. `problem` is what is wrong with a name.
pub fn named_values<R: Problems, T>(
    node: Node<'_, '_>,
    problem: fn(&str) -> Option<&'static str>,
    read: fn(Node<'_, '_>, &mut R) -> T,
    report: &mut R,
) -> Vec<(String, T)> {
    let mut values = Vec::new();
    node.entries(report, |name, node, report| {
        if let Some(problem) = problem(name) {
            report.add(node, Problem::Invalid(problem));
        }
        values.push((name.to_owned(), read(node, report)));
    });
    values
}
