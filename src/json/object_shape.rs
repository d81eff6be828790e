//! The members that an object may have, and reading an object by them.
//!
//! It owns the rules about unknown, forbidden, repeated and missing members, and does not know the
//! meaning of any.

use super::nearest_name::nearest_name;
use super::node::Node;
use super::problems::{Problem, Problems};
use super::walk::for_each_member;

/// The members an object may have.
#[derive(Clone, Copy, Debug)]
pub struct ObjectShape {
    known: &'static [&'static str],
    required: &'static [&'static str],
    forbidden: &'static [ForbiddenMembers],
}

/// Known names that an object must not hold.
#[derive(Clone, Copy, Debug)]
pub struct ForbiddenMembers {
    pub names: &'static [&'static str],
    /// The reason and the remedy; it follows the member's name in the message.
    pub problem: &'static str,
    /// Whether the values that serialisers write for a member that is not set count as absent
    /// ([`Node::is_unset`]).
    pub unset_is_absent: bool,
}

impl ObjectShape {
    /// An object that may have these members, at most 32, and must have the `required` among them.
    pub const fn new(known: &'static [&'static str], required: &'static [&'static str]) -> Self {
        Self { known, required, forbidden: &[] }
    }

    /// The same shape, with names that it forbids. A known name is never forbidden.
    pub const fn forbidding(self, forbidden: &'static [ForbiddenMembers]) -> Self {
        Self { forbidden, ..self }
    }

    /// The names of the members.
    pub const fn names(self) -> &'static [&'static str] {
        self.known
    }

    /// Whether an object must have this member.
    fn requires(&self, name: &str) -> bool {
        self.required.contains(&name)
    }

    /// The same shape, with no member that must be there.
    pub const fn without_required(self) -> Self {
        Self { required: &[], ..self }
    }

    /// Reads an object: calls `member` once with every known member that is present, and reports all
    /// others. Reports come in document order, those of `member` included; missing members come
    /// last.
    pub fn read<'d, R: Problems>(
        &self,
        object: Node<'d, '_>,
        report: &mut R,
        mut member: impl FnMut(&'static str, Node<'d, '_>, &mut R),
    ) {
        // The reference lets the walk be compiled once instead of once for each shape.
        self.walk(object, report, &mut member);
    }

    fn walk<'d, R: Problems>(
        &self,
        object: Node<'d, '_>,
        report: &mut R,
        member: &mut dyn FnMut(&'static str, Node<'d, '_>, &mut R),
    ) {
        if !object.is_object() {
            return report.add(object, Problem::WrongKind("an object"));
        }
        // One bit for each known name.
        let mut seen = 0_u32;
        let walked = for_each_member(object.json, |name, json| {
            if report.is_full() {
                return;
            }
            let node = object.member(&name, json);
            let is_null = json == "null";
            if let Some((known, bit)) = self.known(&name) {
                let is_absent = is_null && R::NULL_IS_ABSENT && !self.requires(known);
                if seen & bit != 0 {
                    report.add(node, Problem::Repeated);
                } else if !is_absent {
                    member(known, node, report);
                }
                seen |= bit;
            } else if let Some(forbidden) = self.forbidden(&name) {
                if !(forbidden.unset_is_absent && node.is_unset()) {
                    report.add(node, Problem::Forbidden(forbidden.problem));
                }
            } else {
                let nearest = nearest_name(&name, self.known.iter().copied());
                report.add(node, Problem::Unknown { name: &name, nearest, known: self.known });
            }
        });
        if walked.is_err() {
            // The document is JSON, so the error can only be an escape for half a character.
            let problem = "has a member name that is not valid Unicode; escape no lone surrogates";
            report.add(object, Problem::Invalid(problem));
        }
        for name in self.required {
            if self.known(name).is_some_and(|(_, bit)| seen & bit == 0) {
                report.add(object, Problem::Missing(name));
            }
        }
    }

    /// The known name and its bit.
    fn known(&self, name: &str) -> Option<(&'static str, u32)> {
        let bits = (0..u32::BITS).map(|shift| 1 << shift);
        self.known.iter().copied().zip(bits).find(|(known, _)| *known == name)
    }

    fn forbidden(&self, name: &str) -> Option<&'static ForbiddenMembers> {
        self.forbidden.iter().find(|forbidden| forbidden.names.contains(&name))
    }
}
