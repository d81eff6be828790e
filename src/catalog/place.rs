//! Reading a document while remembering where: a node, its JSON Pointer, and where faults go.
//!
//! Every reader answers `Option`: `None` means that a fault has been recorded, so that reading goes
//! on elsewhere and all faults of a document are found in one pass. What values are allowed is for
//! [`super::check`] and its neighbours; here are only shapes.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::CatalogFault;
use super::document::Node;
use super::names::{nearest, quoted};

/// One value of the document and its address.
#[derive(Clone)]
pub(super) struct Place<'d> {
    pub(super) node: &'d Node,
    pointer: String,
    /// Index at each level: comparing two of these compares positions in the document.
    order: Vec<usize>,
    faults: &'d Faults,
}

/// The faults found so far.
#[derive(Default)]
pub(super) struct Faults {
    recorded: RefCell<Vec<(Vec<usize>, CatalogFault)>>,
}

/// An object whose members are all known.
pub(super) struct Members<'d> {
    place: Place<'d>,
}

impl Faults {
    /// All faults, in document order: an object's own before those of its members.
    pub(super) fn in_document_order(self) -> Vec<CatalogFault> {
        let mut recorded = self.recorded.into_inner();
        recorded.sort_by(|(left, _), (right, _)| left.cmp(right));
        recorded.into_iter().map(|(_, fault)| fault).collect()
    }
}

impl<'d> Place<'d> {
    /// The whole document.
    pub(super) fn root(node: &'d Node, faults: &'d Faults) -> Self {
        Self { node, pointer: String::new(), order: Vec::new(), faults }
    }

    /// Where this value stands, as a JSON Pointer.
    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Records that this value is wrong. The message says what it must be.
    pub(super) fn fault(&self, message: impl Into<String>) {
        self.record(self.pointer.clone(), message.into());
    }

    /// An object with these members and no others; an unknown one is a fault that names the nearest.
    pub(super) fn members(&self, known: &[&'static str]) -> Option<Members<'d>> {
        for (name, place) in self.entries()? {
            if !known.contains(&name) {
                let remedy = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean {near:?}?"),
                    None => format!("the members here are {}", known.join(", ")),
                };
                place.fault(format!("unknown member {}; {remedy}", quoted(name)));
            }
        }
        Some(Members { place: self.clone() })
    }

    /// An object whose member names are data: each name once, in document order.
    pub(super) fn entries(&self) -> Option<Vec<(&'d str, Self)>> {
        let Node::Object(members) = self.node else {
            return self.wrong_kind("an object");
        };
        let mut seen = HashSet::new();
        let mut entries = Vec::new();
        for (index, (name, node)) in members.iter().enumerate() {
            if seen.insert(name) {
                entries.push((name.as_str(), self.child(index, name, node)));
            }
        }
        Some(entries)
    }

    /// A member's place, when this is an object that has it.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        let members = self.node.members().iter().enumerate();
        members
            .into_iter()
            .find(|(_, (member, _))| member == name)
            .map(|(index, (member, node))| self.child(index, member, node))
    }

    /// An array's items.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let Node::Array(items) = self.node else {
            return self.wrong_kind("an array");
        };
        let item = |(index, node)| self.child(index, &index.to_string(), node);
        Some(items.iter().enumerate().map(item).collect())
    }

    /// A string.
    pub(super) fn text(&self) -> Option<&'d str> {
        match self.node.as_text() {
            Some(text) => Some(text),
            None => self.wrong_kind("a string"),
        }
    }

    /// A boolean.
    pub(super) fn flag(&self) -> Option<bool> {
        match self.node {
            Node::Boolean(flag) => Some(*flag),
            _ => self.wrong_kind("true or false"),
        }
    }

    /// An integer within bounds.
    pub(super) fn integer(&self, bounds: RangeInclusive<u64>) -> Option<u64> {
        let Node::Number(number) = self.node else {
            return self.wrong_kind("an integer");
        };
        let within = number.as_u64().filter(|value| bounds.contains(value));
        if within.is_none() {
            let (least, most) = bounds.into_inner();
            self.fault(format!("must be an integer from {least} to {most}"));
        }
        within
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Option<T> {
        let word = self.text()?;
        let found = choices.iter().find_map(|(choice, value)| (*choice == word).then_some(*value));
        if found.is_none() {
            let words: Vec<String> =
                choices.iter().map(|(choice, _)| format!("{choice:?}")).collect();
            self.fault(format!("must be {}", words.join(" or ")));
        }
        found
    }

    /// Records that this value is of the wrong JSON type.
    pub(super) fn wrong_kind<T>(&self, wanted: &str) -> Option<T> {
        self.fault(format!("must be {wanted}, not {}", self.node.kind()));
        None
    }

    /// Records every member that stands twice in one object, here and below.
    pub(super) fn refuse_repeated_members(&self) {
        let mut seen = HashSet::new();
        for (index, (name, node)) in self.node.members().iter().enumerate() {
            let member = self.child(index, name, node);
            if !seen.insert(name) {
                member.fault(format!("the member {} is repeated; keep one", quoted(name)));
            }
            member.refuse_repeated_members();
        }
        for (index, node) in self.node.items().iter().enumerate() {
            self.child(index, &index.to_string(), node).refuse_repeated_members();
        }
    }

    fn child(&self, index: usize, segment: &str, node: &'d Node) -> Self {
        let mut order = self.order.clone();
        order.push(index);
        Self { node, pointer: self.pointer_to(segment), order, faults: self.faults }
    }

    /// RFC 6901: `~` and `/` are escaped.
    fn pointer_to(&self, segment: &str) -> String {
        format!("{}/{}", self.pointer, segment.replace('~', "~0").replace('/', "~1"))
    }

    fn record(&self, path: String, message: String) {
        self.faults
            .recorded
            .borrow_mut()
            .push((self.order.clone(), CatalogFault { path, message }));
    }
}

impl<'d> Members<'d> {
    /// A member that must be there.
    pub(super) fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Place<'d>) -> Option<T>,
    ) -> Option<T> {
        match self.find(name) {
            Some(member) => read(&member),
            None => {
                let pointer = self.place.pointer_to(name);
                self.place.record(pointer, format!("the member {name:?} is missing; add it"));
                None
            }
        }
    }

    /// A member that may be absent: `Some(None)` then, and `None` only after a fault.
    pub(super) fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Place<'d>) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.find(name) {
            Some(member) => read(&member).map(Some),
            None => Some(None),
        }
    }

    /// A member's place, when it is there.
    pub(super) fn find(&self, name: &str) -> Option<Place<'d>> {
        self.place.member(name)
    }
}

/// Reads all, also after a fault, and answers only when none failed.
pub(super) fn read_all<I, T>(
    places: impl IntoIterator<Item = I>,
    read: impl FnMut(I) -> Option<T>,
) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = places.into_iter().map(read).collect();
    read.into_iter().collect()
}

/// Records each text that an earlier place already holds, as a second `what`.
pub(super) fn refuse_repeats<'d>(what: &str, places: impl IntoIterator<Item = Place<'d>>) {
    let mut seen = HashSet::new();
    for place in places {
        if let Some(text) = place.node.as_text()
            && !seen.insert(text)
        {
            place.fault(format!("the {what} {} is already taken above", quoted(text)));
        }
    }
}
