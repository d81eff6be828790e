//! Reading the body of `PUT /workspaces/{WorkspaceId}/documents` (interface §7).
//!
//! It owns the rules of a document's members.

use super::artifact_path::relative_path_problem;
use super::body::object_text;
use super::values::{list, optional_text, text};
use super::violations::Violations;
use crate::contract::document::{Document, Properties};
use crate::contract::error_code::ErrorCode;
use crate::contract::fault::Fault;
use crate::contract::limits;
use crate::json::{Node, ObjectShape, Place, Report, for_each_member};

const BODY: ObjectShape = ObjectShape::new(&["Documents"], &["Documents"]);

const DOCUMENT: ObjectShape =
    ObjectShape::new(&["Path", "Contents", "Language", "Properties"], &["Path", "Contents"]);

/// Reads the body.
///
/// # Errors
/// Every violation, in document order: `malformed_json` alone, or any of `missing_field`,
/// `invalid_field`, `unknown_field`.
pub fn parse_documents(body: &[u8]) -> Result<Vec<Document>, Vec<Fault>> {
    let body = object_text(body)?;
    let mut violations = Violations::new();
    let mut documents = None;
    BODY.read(Node::root(body), &mut violations, |_, node, found| {
        documents = document_list(node, found);
    });
    violations.settle(documents)
}

/// What is wrong with the path of a document, or nothing.
fn document_path_problem(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if matches!(name.trim(), "" | ".") {
        return Some("must name a file");
    }
    relative_path_problem(path)
}

fn document_list(node: Node<'_, '_>, found: &mut Violations) -> Option<Vec<Document>> {
    let mut count = 0_usize;
    let mut paths: Vec<String> = Vec::new();
    let documents = list(limits::DOCUMENTS, node, found, |node, found| {
        count += 1;
        let document = document(node, found)?;
        if paths.contains(&document.path) {
            let place = Place::Member(&node.place, "Path");
            let problem = "names a document that stands above it; send each once";
            found.report(ErrorCode::InvalidField, &place, problem);
        }
        paths.push(document.path.clone());
        Some(document)
    })?;
    if count == 0 {
        found.invalid(node, "must hold at least one document");
    }
    Some(documents)
}

fn document(node: Node<'_, '_>, found: &mut Violations) -> Option<Document> {
    let (mut path, mut contents) = (None, None);
    let (mut language, mut properties) = (None, None);
    DOCUMENT.read(node, found, |name, node, found| match name {
        "Path" => {
            path = text(limits::PATH, node, found);
            if let Some(problem) = path.as_deref().and_then(document_path_problem) {
                found.invalid(node, problem);
                path = None;
            }
        }
        "Contents" => contents = text(limits::DOCUMENT_CONTENTS, node, found),
        "Language" => language = optional_text(limits::DOCUMENT_LANGUAGE, node, found),
        _ => properties = Some(property_map(node, found)),
    });
    Some(Document {
        path: path?,
        contents: contents?,
        language,
        properties: properties.unwrap_or_default(),
    })
}

fn property_map(node: Node<'_, '_>, found: &mut Violations) -> Properties {
    let mut properties = Properties::new();
    if !node.is_object() {
        found.invalid(node, "must be an object of strings or arrays of strings");
        return properties;
    }
    let (mut keys, mut room) = (0_usize, limits::PROPERTY_VALUES);
    let walked = for_each_member(node.json, |name, json| {
        keys += 1;
        if keys > limits::PROPERTIES || found.is_full() {
            return;
        }
        let node = node.member(&name, json);
        if matches!(name.as_ref(), "Path" | "Language") {
            return found.invalid(node, "is the document's own; use its member instead");
        }
        if name.is_empty() {
            return found.invalid(node, "must have a name");
        }
        if name.chars().count() > limits::PROPERTY_TEXT {
            return found.invalid(node, "must have a name of at most 1024 characters");
        }
        let Some(values) = property_values(node, &mut room, found) else { return };
        let above = properties.partition_point(|(known, _)| known.as_str() < name.as_ref());
        if properties.get(above).is_some_and(|(known, _)| *known == name) {
            found.invalid(node, "stands more than once in its object; send it once");
        } else {
            properties.insert(above, (name.clone().into_owned(), values));
        }
    });
    if walked.is_err() {
        // The body is JSON, so it can only be an escape for half a character.
        found.invalid(node, "has a name that is not valid Unicode; escape no lone surrogates");
    }
    if keys > limits::PROPERTIES {
        found.invalid(node, "must hold no more than 64 properties");
    }
    properties
}

/// One string, or an array of them; `room` is how many the rest of the document may still hold.
fn property_values(
    node: Node<'_, '_>,
    room: &mut usize,
    found: &mut Violations,
) -> Option<Vec<String>> {
    let mut count = 0_usize;
    let mut one = |node: Node<'_, '_>, found: &mut Violations| {
        count += 1;
        if count > *room {
            return None;
        }
        text(limits::PROPERTY_TEXT, node, found)
    };
    let values = match node.json.as_bytes().first() {
        Some(b'"') => one(node, found).map(|text| vec![text]),
        Some(b'[') => list(usize::MAX, node, found, one),
        _ => {
            found.invalid(node, "must be a string or an array of strings");
            return None;
        }
    };
    if count == 0 {
        found.invalid(node, "must hold at least one value");
    }
    if count > *room {
        found.invalid(node, "must leave the document at no more than 256 values in all");
    }
    *room = room.saturating_sub(count);
    values
}
