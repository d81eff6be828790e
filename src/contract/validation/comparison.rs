//! Reading the body of `POST /workspaces/{WorkspaceId}/compare` (interface §7).
//!
//! A body lists so many documents that it is read step by step: other requests run between two steps.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::body::object_text;
use super::reader::Reader;
use super::request_object::request_object;
use crate::contract::{Fault, limits};
use crate::encoding::is_sha256;
use crate::json::{Node, ObjectShape, Place};

/// The documents that a client has, by their paths, each with the SHA-256 of its contents in UTF-8,
/// lower-case hex.
pub type ListedDocuments = BTreeMap<String, String>;

const BODY: ObjectShape = ObjectShape::new(&["Documents"], &["Documents"]);

request_object! {
    fn listed_document(reader, node) -> (String, String) as DOCUMENT {
        "Path" required -> path = document_path(),
        "Sha256" required -> sha256 = checked_text(usize::MAX, sha256_problem),
    } => (path, sha256)
}

/// The bytes of the list that one step reads.
const STEP_BYTES: usize = 64 * 1024;

/// A body on its way to the documents that it lists.
pub struct ComparisonReading<'b> {
    /// The list's elements, JSON; `None` if `Documents` is no list.
    elements: Option<Vec<&'b str>>,
    /// The number of elements that have been read.
    read: usize,
    documents: ListedDocuments,
    of_documents: Reader,
    of_body: Reader,
    /// The number of the body's faults that stand before the faults of its documents.
    mark: usize,
}

impl<'b> ComparisonReading<'b> {
    /// Finds the documents in a body. None of them has been read yet.
    pub fn of(body: &'b [u8]) -> Result<Self, Vec<Fault>> {
        let body = object_text(body)?;
        let (mut elements, mut mark) = (None, 0);
        let mut of_body = Reader::default();
        BODY.read(Node::root(body), &mut of_body, |_, node, reader| {
            let most = limits::COMPARED_DOCUMENTS;
            elements = reader.full_list(most, "document", |_, node| Some(node.json), node);
            mark = reader.mark();
        });
        let (documents, of_documents) = Default::default();
        Ok(Self { elements, read: 0, documents, of_documents, of_body, mark })
    }

    /// Reads on, and returns the documents or all faults when the end is reached.
    pub fn advance(&mut self) -> Option<Result<ListedDocuments, Vec<Fault>>> {
        let mut bytes = 0;
        let elements = self.elements.as_deref().unwrap_or_default();
        while let Some(json) = elements.get(self.read) {
            if bytes > STEP_BYTES {
                return None;
            }
            bytes += json.len();
            let list = Place::Member(&Place::Root, "Documents");
            let node = Node { json, place: Place::Element(&list, self.read) };
            read_document(node, &mut self.documents, &mut self.of_documents);
            self.read += 1;
        }
        let mut reader = std::mem::take(&mut self.of_body);
        reader.insert(self.mark, std::mem::take(&mut self.of_documents));
        let documents = std::mem::take(&mut self.documents);
        Some(reader.settle(self.elements.take().map(|_| documents)))
    }
}

fn read_document(node: Node<'_, '_>, documents: &mut ListedDocuments, reader: &mut Reader) {
    let Some((path, sha256)) = reader.listed_document(node) else { return };
    match documents.entry(path) {
        Entry::Vacant(free) => drop(free.insert(sha256)),
        Entry::Occupied(above) => reader.repeated_document(above.key(), "list each once", node),
    }
}

fn sha256_problem(text: &str) -> Option<&'static str> {
    (!is_sha256(text))
        .then_some("must be the SHA-256 of the contents in UTF-8: 64 lower-case hex digits")
}
