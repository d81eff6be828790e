//! The findings in a catalog document: its faults, in an operator's words and in document order, and
//! the secrets that it names.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use super::names::quoted;
use crate::json::{Kind, NearestName, Node, Problem, Report, for_each_member};

/// One thing wrong with a catalog document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}: {message}", if .path.is_empty() { "the catalog" } else { .path.as_str() })]
#[serde(rename_all = "PascalCase")]
pub struct CatalogFault {
    /// JSON Pointer (RFC 6901) into the document; empty for the document itself. For a missing member
    /// it is the place where the member would stand.
    pub path: String,
    /// The fault and its remedy, for the operator.
    pub message: String,
}

/// A secret that a catalog names. Its value is never in a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSecret {
    /// The secret's name.
    pub name: String,
    /// JSON Pointer (RFC 6901) to the value that names it.
    pub path: String,
}

/// What the readers have found in a document so far.
#[derive(Default)]
pub(super) struct Findings {
    /// Each with the position of what is wrong.
    faults: Vec<(usize, CatalogFault)>,
    secrets: Vec<NeededSecret>,
    /// The positions of values whose member is repeated.
    repeated: BTreeSet<usize>,
}

/// The texts of a list, each of which may stand there once.
pub(super) type Seen<'d> = BTreeSet<Cow<'d, str>>;

impl Findings {
    /// Starts with the repeated members of all objects in the document.
    pub(super) fn of(document: Node<'_, '_>) -> Self {
        let mut findings = Self::default();
        findings.refuse_repeated_members(document);
        findings
    }

    /// Records that a value is wrong. The message says what it must be.
    pub(super) fn fault(&mut self, at: Node<'_, '_>, message: impl Into<String>) {
        let fault = CatalogFault { path: pointer(at), message: message.into() };
        self.faults.push((position(at), fault));
    }

    /// Whether an earlier member of the same object has the same name.
    pub(super) fn is_repeated(&self, member: Node<'_, '_>) -> bool {
        self.repeated.contains(&position(member))
    }

    /// Records a text that an earlier value of its list already holds. Messages call it `kind`.
    pub(super) fn unique<'d>(&mut self, node: Node<'d, '_>, kind: &str, seen: &mut Seen<'d>) {
        if let Some(text) = node.as_text().and_then(|text| seen.replace(text)) {
            self.fault(node, format!("the {kind} {} is already taken above", quoted(&text)));
        }
    }

    /// Records that a value names a secret.
    pub(super) fn secret(&mut self, at: Node<'_, '_>, name: &str) {
        self.secrets.push(NeededSecret { name: name.to_owned(), path: pointer(at) });
    }

    /// All faults in document order, an object's own before those of its members, and all secrets.
    pub(super) fn in_document_order(mut self) -> (Vec<CatalogFault>, Vec<NeededSecret>) {
        self.faults.sort_by_key(|(position, _)| *position);
        (self.faults.into_iter().map(|(_, fault)| fault).collect(), self.secrets)
    }

    fn refuse_repeated_members(&mut self, node: Node<'_, '_>) {
        match node.kind() {
            Kind::Object => {
                let mut seen = BTreeSet::new();
                // The object's reader reports a name that is not valid Unicode.
                let _ = for_each_member(node.json, |name, json| {
                    let member = node.member(&name, json);
                    if seen.contains(&name) {
                        self.repeated.insert(position(member));
                        let shown = quoted(&name);
                        self.fault(member, format!("the member {shown} is repeated; keep one"));
                    }
                    self.refuse_repeated_members(member);
                    seen.insert(name);
                });
            }
            Kind::Array => {
                node.elements(self, |node, found| found.refuse_repeated_members(node));
            }
            _ => {}
        }
    }
}

impl Report for Findings {
    const NULL_IS_ABSENT: bool = false;

    fn add(&mut self, at: Node<'_, '_>, problem: Problem<'_>) {
        match problem {
            // `Findings::of` has reported every repeated member already.
            Problem::Repeated => {}
            Problem::Unknown { .. } if self.is_repeated(at) => {}
            Problem::Unknown { name, nearest, known } => {
                let remedy = match nearest {
                    Some(NearestName { name, is_likely: true }) => {
                        format!("did you mean {name:?}?")
                    }
                    _ => format!("the members here are {}", known.join(", ")),
                };
                self.fault(at, format!("unknown member {}; {remedy}", quoted(name)));
            }
            Problem::Missing(name) => {
                // At the position of its object, and at the place of the member.
                let absent = at.member(name, at.json);
                self.fault(absent, format!("the member {name:?} is missing; add it"));
            }
            Problem::WrongKind(wanted) => {
                self.fault(at, format!("must be {wanted}, not {}", at.kind().with_article()));
            }
            Problem::Forbidden(problem) | Problem::Invalid(problem) => self.fault(at, problem),
        }
    }
}

/// All values are slices of the document's text, so their addresses are their positions in it.
fn position(node: Node<'_, '_>) -> usize {
    node.json.as_ptr().addr()
}

/// A place as a JSON Pointer, with whole names.
fn pointer(node: Node<'_, '_>) -> String {
    node.place.written(usize::MAX).pointer
}
