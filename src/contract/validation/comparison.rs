//! Reading the body of `POST /workspaces/{WorkspaceId}/compare` (interface §7).

use super::body::object_text;
use super::documents::document_path_problem;
use super::reader::Reader;
use crate::contract::document::ListedDocuments;
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;
use crate::contract::limits;
use crate::encoding::is_sha256;
use crate::json::{Node, ObjectShape, Place};

const BODY: ObjectShape = ObjectShape::new(&["Documents"], &["Documents"]);

const DOCUMENT: ObjectShape = ObjectShape::new(&["Path", "Sha256"], &["Path", "Sha256"]);

/// Reads the body.
pub fn parse_comparison(body: &[u8]) -> Result<ListedDocuments, Vec<Fault>> {
    let body = object_text(body)?;
    let mut reader = Reader::default();
    let mut documents = None;
    BODY.read(Node::root(body), &mut reader, |_, node, reader| {
        documents = document_list(node, reader);
    });
    reader.settle(documents)
}

fn document_list(node: Node<'_, '_>, reader: &mut Reader) -> Option<ListedDocuments> {
    let mut documents = ListedDocuments::new();
    reader.full_list(limits::COMPARED_DOCUMENTS, "document", node, |node, reader| {
        let (path, sha256) = document(node, reader)?;
        if documents.insert(path, sha256).is_some() {
            let place = Place::Member(&node.place, "Path");
            let problem = "names a document that stands above it; list each once";
            reader.report(ErrorCode::InvalidField, &place, problem);
        }
        Some(())
    })?;
    Some(documents)
}

fn document(node: Node<'_, '_>, reader: &mut Reader) -> Option<(String, String)> {
    let (mut path, mut sha256) = (None, None);
    DOCUMENT.read(node, reader, |name, node, reader| match name {
        "Path" => path = reader.checked_text(limits::PATH, document_path_problem, node),
        _ => sha256 = reader.checked_text(usize::MAX, sha256_problem, node),
    });
    Some((path?, sha256?))
}

fn sha256_problem(text: &str) -> Option<&'static str> {
    (!is_sha256(text))
        .then_some("must be the SHA-256 of the contents in UTF-8: 64 lower-case hex digits")
}
