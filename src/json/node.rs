//! One value of a document.

use std::borrow::Cow;

use super::place::Place;
use super::string_text::text_of;
use super::walk::first_member;

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub struct Node<'d, 'p> {
    /// Its JSON, a slice of the document without white space around it.
    pub json: &'d str,
    pub place: Place<'p>,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        first_member(self.json, name).map(|json| self.member(name, json))
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

    /// Whether it is what serialisers write for a member that is not set: `null`, `false`, or a list without elements.
    pub fn is_unset(&self) -> bool {
        self.json == "null" || self.json == "false" || self.is_empty_array()
    }

    /// Whether it is a list without elements.
    pub fn is_empty_array(&self) -> bool {
        self.json.strip_prefix('[').is_some_and(|rest| rest.trim_ascii_start().starts_with(']'))
    }

    /// The text, if it is a string of valid Unicode.
    pub fn as_text(&self) -> Option<Cow<'d, str>> {
        text_of(self.json)
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
