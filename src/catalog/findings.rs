//! What is found in a catalog document: its faults, in an operator's words and in document order,
//! and the secrets it names.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use super::names::quoted;
use crate::json::{Kind, NearestName, Node, Place, Problem, Report, for_each_member};

/// One thing wrong with a catalog document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}: {message}", if .path.is_empty() { "the catalog" } else { .path.as_str() })]
#[serde(rename_all = "PascalCase")]
pub struct CatalogFault {
    /// JSON Pointer (RFC 6901) into the document; empty for the document itself. For a missing member
    /// it is the place where the member would stand.
    pub path: String,
    /// What is wrong and what would be right, for the operator.
    pub message: String,
}

/// A secret that a catalog names. Its value is never in a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSecret {
    /// The secret's name.
    pub name: String,
    /// Where it is named: a JSON Pointer (RFC 6901) into the document.
    pub path: String,
}

/// What is found so far in one document.
pub(super) struct Findings {
    /// Each with the position of what is wrong.
    faults: Vec<(usize, CatalogFault)>,
    secrets: Vec<NeededSecret>,
    /// The positions of values whose member is repeated.
    repeated: BTreeSet<usize>,
}

impl Findings {
    /// Begins with every member that stands twice in its object, anywhere in the document.
    pub(super) fn of(document: Node<'_, '_>) -> Self {
        let mut findings =
            Self { faults: Vec::new(), secrets: Vec::new(), repeated: BTreeSet::new() };
        findings.refuse_repeated_members(document);
        findings
    }

    /// Records that a value is wrong. The message says what it must be.
    pub(super) fn fault(&mut self, at: Node<'_, '_>, message: impl Into<String>) {
        self.record(at, pointer(&at.place), message.into());
    }

    /// Whether an earlier member of the same object has this one's name.
    pub(super) fn is_repeated(&self, member: Node<'_, '_>) -> bool {
        self.repeated.contains(&position(member))
    }

    /// Records that a value names these secrets.
    pub(super) fn secrets<'n>(
        &mut self,
        at: Node<'_, '_>,
        names: impl IntoIterator<Item = &'n str>,
    ) {
        let path = pointer(&at.place);
        self.secrets.extend(
            names
                .into_iter()
                .map(|name| NeededSecret { name: name.to_owned(), path: path.clone() }),
        );
    }

    /// All faults, in document order: an object's own before those of its members; and all secrets.
    pub(super) fn in_document_order(mut self) -> (Vec<CatalogFault>, Vec<NeededSecret>) {
        self.faults.sort_by_key(|(position, _)| *position);
        (self.faults.into_iter().map(|(_, fault)| fault).collect(), self.secrets)
    }

    fn record(&mut self, at: Node<'_, '_>, path: String, message: String) {
        self.faults.push((position(at), CatalogFault { path, message }));
    }

    fn refuse_repeated_members(&mut self, node: Node<'_, '_>) {
        match node.kind() {
            Kind::Object => {
                let mut seen = BTreeSet::new();
                // A name that is not valid Unicode is a fault for whoever reads the object.
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
                let path = pointer(&Place::Member(&at.place, name));
                self.record(at, path, format!("the member {name:?} is missing; add it"));
            }
            Problem::WrongKind(wanted) => {
                self.fault(at, format!("must be {wanted}, not {}", at.kind().with_article()));
            }
            Problem::Forbidden(problem) | Problem::Invalid(problem) => self.fault(at, problem),
        }
    }
}

/// The texts of one list, each of which may stand there once.
pub(super) struct Unique<'d> {
    what: &'static str,
    seen: BTreeSet<Cow<'d, str>>,
}

impl<'d> Unique<'d> {
    /// Of texts that messages call `what`.
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, seen: BTreeSet::new() }
    }

    /// Records a text that an earlier value of the list already holds.
    pub(super) fn check(&mut self, node: Node<'d, '_>, found: &mut Findings) {
        let Some(text) = node.as_text() else { return };
        if self.seen.contains(&text) {
            let what = self.what;
            found.fault(node, format!("the {what} {} is already taken above", quoted(&text)));
        }
        self.seen.insert(text);
    }
}

/// All values are slices of the document's text, so their addresses are their positions in it.
fn position(node: Node<'_, '_>) -> usize {
    node.json.as_ptr().addr()
}

/// A place as a JSON Pointer. Names are not cut: an operator's document is its own bound.
fn pointer(place: &Place<'_>) -> String {
    place.written(usize::MAX).pointer
}
