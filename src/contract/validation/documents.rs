//! Reading the body of `PUT /workspaces/{WorkspaceId}/documents` (interface §7).
//!
//! It owns a document's typed form, in which one text and an array of one are the same, and the rules of its members.

use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{Fault, limits};
use crate::json::{Kind, Node, Problems, for_each_member};

request_object! {
    fn documents(reader, node) -> Vec<Document> as BODY {
        "Documents" required -> documents = document_list(),
    } => documents
}

request_object! {
    /// A document for a workspace's index.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Document as DOCUMENT, fn document(reader, node) {
        /// Its path relative to the workspace's root, which is its name in the index.
        "Path" required => path: String = document_path(),
        /// Its whole text, possibly empty.
        "Contents" required => contents: String = text(limits::DOCUMENT_CONTENTS),
        /// A language hint; never empty.
        "Language" => language: Option<String> = optional_text(limits::DOCUMENT_LANGUAGE),
        /// Further keys for the conditions of a scope.
        "Properties" => properties: Properties = property_map() or Properties::new(),
    }
}

/// A document's properties: each key once, in alphabetical order, with one or more values.
pub type Properties = Vec<(String, Vec<String>)>;

/// Reads the body.
pub fn parse_documents(body: &[u8]) -> Result<Vec<Document>, Vec<Fault>> {
    Reader::read_body(body, Reader::documents)
}

impl Reader {
    fn document_list(&mut self, node: Node<'_, '_>) -> Option<Vec<Document>> {
        let mut paths: Vec<String> = Vec::new();
        let document = |reader: &mut Self, node: Node<'_, '_>| {
            let document = reader.document(node)?;
            if paths.contains(&document.path) {
                reader.repeated_document(&document.path, "send each once", node);
            }
            paths.push(document.path.clone());
            Some(document)
        };
        self.full_list(limits::DOCUMENTS, "document", document, node)
    }

    fn property_map(&mut self, node: Node<'_, '_>) -> Option<Properties> {
        if !node.is_object() {
            return self.refuse(node, "must be an object of strings or arrays of strings");
        }
        let mut properties = Properties::new();
        let (mark, mut keys, mut bytes) = (self.mark(), 0_usize, 0_usize);
        let mut room = limits::PROPERTY_VALUES;
        let walked = for_each_member(node.json, |name, json| {
            keys += 1;
            if keys > limits::PROPERTIES || self.is_full() {
                return;
            }
            let node = node.member(&name, json);
            if matches!(name.as_ref(), "Path" | "Language") {
                return self.invalid(node, "is the document's own; use its member instead");
            }
            if name.is_empty() {
                return self.invalid(node, "must have a name");
            }
            if name.chars().count() > limits::PROPERTY_TEXT {
                return self.invalid(node, "must have a name of at most 1024 characters");
            }
            if !matches!(node.kind(), Kind::String | Kind::Array) {
                return self.invalid(node, "must be a string or an array of strings");
            }
            let Some(values) = property_values(node, &mut room, self) else { return };
            bytes += name.len() + values.iter().map(String::len).sum::<usize>();
            let above = properties.partition_point(|(known, _)| known.as_str() < name.as_ref());
            if properties.get(above).is_some_and(|(known, _)| *known == name) {
                self.invalid(node, "stands more than once in its object; send it once");
            } else {
                properties.insert(above, (name.clone().into_owned(), values));
            }
        });
        if walked.is_err() {
            // In a JSON body the error can only be an escape for half a character.
            self.invalid(node, "has a name that is not valid Unicode; escape no lone surrogates");
        }
        if keys > limits::PROPERTIES {
            self.invalid_before(mark, node, "must hold no more than 64 properties");
        }
        if bytes > limits::PROPERTY_BYTES {
            let problem = format!(
                "must hold at most {} bytes of names and values in all, not {bytes}; put long texts into Contents",
                limits::PROPERTY_BYTES
            );
            self.invalid_before(mark, node, &problem);
        }
        Some(properties)
    }
}

/// A text or an array of one or more, within what the document's other values leave: without this
/// bound, a body of empty strings would cost several times its size.
fn property_values(
    node: Node<'_, '_>,
    room: &mut usize,
    reader: &mut Reader,
) -> Option<Vec<String>> {
    let (mark, mut count) = (reader.mark(), 0_usize);
    let mut text = |node: Node<'_, '_>, reader: &mut Reader| {
        count += 1;
        (count <= *room).then(|| reader.text(limits::PROPERTY_TEXT, node)).flatten()
    };
    let values = if node.kind() == Kind::String {
        text(node, reader).map(|text| vec![text])
    } else {
        reader.full_list(usize::MAX, "value", |reader, node| text(node, reader), node)
    };
    if count > *room {
        let most = limits::PROPERTY_VALUES;
        let problem = format!("must leave the document at no more than {most} values in all");
        reader.invalid_before(mark, node, &problem);
    }
    *room = room.saturating_sub(count);
    values
}
