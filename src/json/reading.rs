//! Reading a value by the rule of its member.
//!
//! Each method gives the value, or reports a problem and gives nothing.

use std::borrow::Cow;

use super::node::{Kind, Node};
use super::problems::{Problem, Problems};
use super::walk::for_each_element;

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
}
