//! A place in a request, as a JSON Pointer and as a name for messages.
//!
//! It is a chain of borrowed steps, rendered only when a violation is reported there, so that
//! walking a large valid body costs nothing.

use std::fmt::Write as _;

/// The longest member name that is repeated back; a longer one is cut and ends in `…`.
const NAME_LIMIT: usize = 64;

/// A place in a request.
#[derive(Clone, Copy, Debug)]
pub enum Place<'p> {
    /// The body itself.
    Body,
    /// A member of the object at a place.
    Member(&'p Place<'p>, &'p str),
    /// An element of the array at a place.
    Element(&'p Place<'p>, usize),
    /// JSON inside the string at a place. A pointer cannot reach into it, so what lies below has
    /// the string's own pointer, and is named from the label on, such as `tools[2].name`.
    Embedded(&'p Place<'p>, &'static str),
}

impl Place<'_> {
    /// The JSON Pointer, RFC 6901.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.write_pointer(&mut pointer);
        pointer
    }

    /// The name for messages, such as `InputArtifacts[0].FileName`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = String::new();
        self.write_label(&mut label);
        if label.is_empty() {
            label.push_str("The body");
        }
        label
    }

    fn is_embedded(&self) -> bool {
        match self {
            Self::Body => false,
            Self::Member(parent, _) | Self::Element(parent, _) => parent.is_embedded(),
            Self::Embedded(..) => true,
        }
    }

    fn write_pointer(&self, pointer: &mut String) {
        match self {
            Self::Body => {}
            Self::Member(parent, name) => {
                parent.write_pointer(pointer);
                if !parent.is_embedded() {
                    pointer.push('/');
                    pointer.push_str(&clipped(name).replace('~', "~0").replace('/', "~1"));
                }
            }
            Self::Element(parent, index) => {
                parent.write_pointer(pointer);
                if !parent.is_embedded() {
                    // Writing to a String cannot fail.
                    let _ = write!(pointer, "/{index}");
                }
            }
            Self::Embedded(parent, _) => parent.write_pointer(pointer),
        }
    }

    fn write_label(&self, label: &mut String) {
        match self {
            Self::Body => {}
            Self::Member(parent, name) => {
                parent.write_label(label);
                if !label.is_empty() {
                    label.push('.');
                }
                label.push_str(&clipped(name));
            }
            Self::Element(parent, index) => {
                parent.write_label(label);
                // Writing to a String cannot fail.
                let _ = write!(label, "[{index}]");
            }
            Self::Embedded(_, name) => label.push_str(name),
        }
    }
}

/// A member name of bounded length: a report must not grow with the body.
fn clipped(name: &str) -> String {
    match name.char_indices().nth(NAME_LIMIT) {
        None => name.to_owned(),
        Some(_) => name.chars().take(NAME_LIMIT).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_an_escaped_pointer_and_a_dotted_label() {
        let list = Place::Member(&Place::Body, "a/b~c");
        let element = Place::Element(&list, 3);
        let member = Place::Member(&element, "é");
        assert_eq!(member.pointer(), "/a~1b~0c/3/é");
        assert_eq!(member.label(), "a/b~c[3].é");
        assert_eq!(
            (Place::Body.pointer(), Place::Body.label()),
            (String::new(), "The body".to_owned())
        );
    }

    #[test]
    fn below_an_embedded_text_the_pointer_stays_at_the_text() {
        let text = Place::Member(&Place::Body, "ToolsJson");
        let tools = Place::Embedded(&text, "tools");
        let tool = Place::Element(&tools, 2);
        let name = Place::Member(&tool, "name");
        assert_eq!(name.pointer(), "/ToolsJson");
        assert_eq!(name.label(), "tools[2].name");
    }

    #[test]
    fn a_long_name_is_cut() {
        let name = "é".repeat(1000);
        let place = Place::Member(&Place::Body, &name);
        assert_eq!(place.label(), format!("{}…", "é".repeat(64)));
    }
}
