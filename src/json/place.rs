//! A place in a document, as a JSON Pointer and as a name for messages.
//!
//! It is a chain of borrowed steps, rendered only when a problem is reported there, so that walking
//! a large valid document costs nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A place in a document.
#[derive(Clone, Copy, Debug)]
pub enum Place<'p> {
    /// The document itself.
    Root,
    /// A member of the object at a place.
    Member(&'p Place<'p>, &'p str),
    /// An element of the array at a place.
    Element(&'p Place<'p>, usize),
    /// JSON inside the string at a place. A pointer cannot reach into it, so what lies below has
    /// the string's own pointer, and is named from the label on, such as `tools[2].name`.
    Embedded(&'p Place<'p>, &'static str),
}

impl Place<'_> {
    /// The JSON Pointer, RFC 6901. A member name longer than `longest` characters is cut and ends
    /// in `…`.
    #[must_use]
    pub fn pointer(&self, longest: usize) -> String {
        let mut pointer = String::new();
        self.write_pointer(longest, &mut pointer);
        pointer
    }

    /// The name for messages, such as `InputArtifacts[0].FileName`, with names cut likewise; empty
    /// for the document itself.
    #[must_use]
    pub fn label(&self, longest: usize) -> String {
        let mut label = String::new();
        self.write_label(longest, &mut label);
        label
    }

    fn is_embedded(&self) -> bool {
        match self {
            Self::Root => false,
            Self::Member(parent, _) | Self::Element(parent, _) => parent.is_embedded(),
            Self::Embedded(..) => true,
        }
    }

    fn write_pointer(&self, longest: usize, pointer: &mut String) {
        match self {
            Self::Root => {}
            Self::Member(parent, name) => {
                parent.write_pointer(longest, pointer);
                if !parent.is_embedded() {
                    pointer.push('/');
                    pointer.push_str(&clipped(name, longest).replace('~', "~0").replace('/', "~1"));
                }
            }
            Self::Element(parent, index) => {
                parent.write_pointer(longest, pointer);
                if !parent.is_embedded() {
                    // Writing to a String cannot fail.
                    let _ = write!(pointer, "/{index}");
                }
            }
            Self::Embedded(parent, _) => parent.write_pointer(longest, pointer),
        }
    }

    fn write_label(&self, longest: usize, label: &mut String) {
        match self {
            Self::Root => {}
            Self::Member(parent, name) => {
                parent.write_label(longest, label);
                if !label.is_empty() {
                    label.push('.');
                }
                label.push_str(&clipped(name, longest));
            }
            Self::Element(parent, index) => {
                parent.write_label(longest, label);
                // Writing to a String cannot fail.
                let _ = write!(label, "[{index}]");
            }
            Self::Embedded(_, name) => label.push_str(name),
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
        assert_eq!(member.pointer(64), "/a~1b~0c/3/é");
        assert_eq!(member.label(64), "a/b~c[3].é");
        assert_eq!((Place::Root.pointer(64), Place::Root.label(64)), Default::default());
    }

    #[test]
    fn below_an_embedded_text_the_pointer_stays_at_the_text() {
        let text = Place::Member(&Place::Root, "ToolsJson");
        let tools = Place::Embedded(&text, "tools");
        let tool = Place::Element(&tools, 2);
        let name = Place::Member(&tool, "name");
        assert_eq!(name.pointer(64), "/ToolsJson");
        assert_eq!(name.label(64), "tools[2].name");
    }

    #[test]
    fn a_long_name_is_cut() {
        let name = "é".repeat(1000);
        let place = Place::Member(&Place::Root, &name);
        assert_eq!(place.label(64), format!("{}…", "é".repeat(64)));
        assert_eq!(place.pointer(usize::MAX), format!("/{name}"));
    }
}
