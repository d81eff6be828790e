//! A place in a document, as a JSON Pointer and as a label for messages.
//!
//! A place is a chain of borrowed steps. It is written out only for a report, so a valid document
//! costs no pointers.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A place in a document.
#[derive(Clone, Copy, Debug)]
pub enum Place<'p> {
    Root,
    /// A member of the object at a place.
    Member(&'p Place<'p>, &'p str),
    /// An element of the array at a place.
    Element(&'p Place<'p>, usize),
    /// JSON inside the string at a place. A pointer cannot reach into it, so all places below have
    /// the string's own pointer, and labels that begin with this one, such as `tools[2].name`.
    Embedded(&'p Place<'p>, &'static str),
}

/// A place in writing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The JSON Pointer, RFC 6901.
    pub pointer: String,
    /// The label for messages, such as `InputArtifacts[0].FileName`; empty for the document itself.
    pub label: String,
    is_embedded: bool,
}

impl Place<'_> {
    /// The name of the member that is so many steps above this place.
    pub fn name_above(&self, steps: usize) -> Option<&str> {
        match (self, steps) {
            (Self::Member(_, name), 0) => Some(name),
            (
                Self::Member(parent, _) | Self::Element(parent, _) | Self::Embedded(parent, _),
                1..,
            ) => parent.name_above(steps - 1),
            (Self::Root | Self::Element(..) | Self::Embedded(..), _) => None,
        }
    }

    /// The place in writing. A member name longer than `longest` characters is cut and ends in `…`.
    pub fn location(&self, longest: usize) -> Location {
        match self {
            Self::Root => Location::default(),
            Self::Member(parent, name) => {
                let mut written = parent.location(longest);
                let name = clipped(name, longest);
                if !written.label.is_empty() {
                    written.label.push('.');
                }
                written.label.push_str(&name);
                written.step(&name.replace('~', "~0").replace('/', "~1"));
                written
            }
            Self::Element(parent, index) => {
                let mut written = parent.location(longest);
                // Writing to a String cannot fail.
                let _ = write!(written.label, "[{index}]");
                written.step(&index.to_string());
                written
            }
            Self::Embedded(parent, name) => {
                let pointer = parent.location(longest).pointer;
                Location { pointer, label: (*name).to_owned(), is_embedded: true }
            }
        }
    }
}

impl Location {
    fn step(&mut self, escaped: &str) {
        if !self.is_embedded {
            self.pointer.push('/');
            self.pointer.push_str(escaped);
        }
    }
}

/// The name, cut to `longest` characters.
fn clipped(name: &str, longest: usize) -> Cow<'_, str> {
    match name.char_indices().nth(longest).and_then(|(end, _)| name.get(..end)) {
        None => name.into(),
        Some(cut) => format!("{cut}…").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_an_escaped_pointer_and_a_dotted_label() {
        let list = Place::Member(&Place::Root, "a/b~c");
        let element = Place::Element(&list, 3);
        let member = Place::Member(&element, "é");
        let written = member.location(64);
        assert_eq!(written.pointer, "/a~1b~0c/3/é");
        assert_eq!(written.label, "a/b~c[3].é");
        assert_eq!(Place::Root.location(64), Location::default());
    }

    #[test]
    fn below_an_embedded_text_the_pointer_stays_at_the_text() {
        let text = Place::Member(&Place::Root, "ToolsJson");
        let tools = Place::Embedded(&text, "tools");
        let tool = Place::Element(&tools, 2);
        let name = Place::Member(&tool, "name");
        let written = name.location(64);
        assert_eq!(
            (written.pointer.as_str(), written.label.as_str()),
            ("/ToolsJson", "tools[2].name")
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        let name = "é".repeat(1000);
        let place = Place::Member(&Place::Root, &name);
        assert_eq!(place.location(64).label, format!("{}…", "é".repeat(64)));
        assert_eq!(place.location(usize::MAX).pointer, format!("/{name}"));
    }
}
