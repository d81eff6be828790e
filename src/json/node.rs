//! One value of a document, and reading it by the rule of its member.

use std::borrow::Cow;

use super::place::Place;
use super::report::{Problem, Report};
use super::walk::{Text, first_member, for_each_element};

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub struct Node<'d, 'p> {
    /// Its JSON, a slice of the document without white space around it.
    pub json: &'d str,
    /// Its place.
    pub place: Place<'p>,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are JSON's own")]
pub enum Kind {
    Object,
    Array,
    String,
    Boolean,
    Number,
    Null,
}

impl<'d, 'p> Node<'d, 'p> {
    /// The whole document.
    pub fn root(document: &'d str) -> Self {
        Self { json: document.trim_ascii(), place: Place::Root }
    }

    /// The value of this object's member `name`.
    pub fn member<'n>(&'n self, name: &'n str, json: &'d str) -> Node<'d, 'n> {
        Node { json, place: Place::Member(&self.place, name) }
    }

    /// The value of this array's element at `index`.
    pub fn element<'n>(&'n self, index: usize, json: &'d str) -> Node<'d, 'n> {
        Node { json, place: Place::Element(&self.place, index) }
    }

    /// The first member `name`, if the value is an object that has one.
    pub fn find<'n>(&'n self, name: &'n str) -> Option<Node<'d, 'n>> {
        first_member(self.json.as_bytes(), name).map(|json| self.member(name, json))
    }

    /// The kind of the value.
    pub fn kind(&self) -> Kind {
        match self.json.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.kind() == Kind::Object
    }

    /// The text, if it is a string of valid Unicode.
    pub fn as_text(&self) -> Option<Cow<'d, str>> {
        serde_json::from_str(self.json).ok().map(|Text(text)| text)
    }

    /// The text; a violation when the value is not a string of valid Unicode.
    pub fn text<R: Report>(&self, found: &mut R) -> Option<Cow<'d, str>> {
        let text = self.as_text();
        if self.kind() != Kind::String {
            found.add(*self, Problem::WrongKind("a string"));
        } else if text.is_none() {
            // The document is JSON, so the error can only be an escape for half a character.
            found.add(*self, Problem::Invalid("is not valid Unicode; escape no lone surrogates"));
        }
        text
    }

    /// The boolean; a violation when the value is another.
    pub fn flag<R: Report>(&self, found: &mut R) -> Option<bool> {
        match self.json {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                found.add(*self, Problem::WrongKind("true or false"));
                None
            }
        }
    }

    /// Calls `each` with the elements in order, and gives their number; a violation when the value
    /// is not an array.
    pub fn elements<R: Report>(
        &self,
        found: &mut R,
        mut each: impl FnMut(Node<'d, '_>, &mut R),
    ) -> Option<usize> {
        let mut count = 0_usize;
        let walked = for_each_element(self.json, |json| {
            each(self.element(count, json), found);
            count += 1;
        });
        if walked.is_err() {
            found.add(*self, Problem::WrongKind("an array"));
            return None;
        }
        Some(count)
    }
}

impl Kind {
    /// The kind in a message, such as `an object`.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Null => "null",
        }
    }
}
