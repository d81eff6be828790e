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

/// Reads the documents in a body. `pause` stands before each step.
///
/// # Errors
/// Everything that is wrong with the body.
pub async fn parse_comparison(
    body: &[u8],
    mut pause: impl AsyncFnMut(),
) -> Result<ListedDocuments, Vec<Fault>> {
    let (mut elements, mut mark) = (None, 0);
    let mut reader = Reader::default();
    BODY.read(Node::root(object_text(body)?), &mut reader, |_, node, reader| {
        let most = limits::COMPARED_DOCUMENTS;
        elements = reader.full_list(most, "document", |_, node| Some(node.json), node);
        // The faults of the documents stand before those of members that follow the list.
        mark = reader.mark();
    });
    let (mut documents, mut of_documents) = (ListedDocuments::new(), Reader::default());
    let list = Place::Member(&Place::Root, "Documents");
    let mut left = 0;
    for (at, json) in elements.iter().flatten().copied().enumerate() {
        if left == 0 {
            pause().await;
            left = STEP_BYTES;
        }
        left = left.saturating_sub(json.len());
        let node = Node { json, place: Place::Element(&list, at) };
        read_document(node, &mut documents, &mut of_documents);
    }
    reader.insert(mark, of_documents);
    reader.settle(elements.map(|_| documents))
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
