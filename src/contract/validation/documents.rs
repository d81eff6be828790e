//! Reading the body of `PUT /workspaces/{WorkspaceId}/documents` (the interface, section 7).
//!
//! It owns the rules of a document's members.

use serde_json::value::RawValue;

use super::artifact_path::relative_path_problem;
use super::json_object::{ObjectShape, for_each_member};
use super::json_value::{invalid, list, text};
use super::place::Place;
use super::violations::Violations;
use super::well_formed;
use crate::contract::document::{Document, Properties};
use crate::contract::fault::Fault;
use crate::contract::limits;

const BODY: ObjectShape = ObjectShape { required: &["Documents"], optional: &[], forbidden: &[] };

const DOCUMENT: ObjectShape = ObjectShape {
    required: &["Path", "Contents"],
    optional: &["Language", "Properties"],
    forbidden: &[],
};

/// Reads the body.
///
/// # Errors
/// Every violation, in document order: `malformed_json` alone, or any of `missing_field`,
/// `invalid_field`, `unknown_field`.
pub fn parse_documents(body: &[u8]) -> Result<Vec<Document>, Vec<Fault>> {
    let body = well_formed::object_text(body)?;
    let mut violations = Violations::new();
    let mut documents = None;
    BODY.read(body, &Place::Body, &mut violations, |_, value, place, found| {
        documents = document_list(value, place, found);
    });
    violations.settle(documents)
}

/// What is wrong with the path of a document, or nothing.
#[must_use]
pub fn document_path_problem(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if matches!(name.trim(), "" | ".") {
        return Some("must name a file");
    }
    if path.chars().count() > limits::PATH {
        return Some("must be at most 1024 characters long");
    }
    relative_path_problem(path)
}

fn document_list(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<Vec<Document>> {
    let mut count = 0_usize;
    let mut paths: Vec<String> = Vec::new();
    let documents = list(limits::DOCUMENTS, value, place, violations, |value, place, found| {
        count += 1;
        let document = document(value, place, found)?;
        if paths.contains(&document.path) {
            let place = Place::Member(place, "Path");
            invalid(found, &place, "names a document that stands above it; send each once");
        }
        paths.push(document.path.clone());
        Some(document)
    })?;
    if count == 0 {
        invalid(violations, place, "must hold at least one document");
    }
    Some(documents)
}

fn document(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Option<Document> {
    let (mut path, mut contents) = (None, None);
    let (mut language, mut properties) = (None, None);
    DOCUMENT.read(value.get(), place, violations, |name, value, at, found| match name {
        "Path" => {
            path =
                text(limits::PATH, value, at, found).filter(|path| {
                    match document_path_problem(path) {
                        Some(problem) => {
                            invalid(found, at, problem);
                            false
                        }
                        None => true,
                    }
                });
        }
        "Contents" => contents = text(limits::DOCUMENT_CONTENTS, value, at, found),
        "Language" => {
            let given = text(limits::DOCUMENT_LANGUAGE, value, at, found);
            language = given.filter(|language| !language.is_empty());
        }
        _ => properties = Some(property_map(value, at, found)),
    });
    Some(Document {
        path: path?,
        contents: contents?,
        language,
        properties: properties.unwrap_or_default(),
    })
}

fn property_map(value: &RawValue, place: &Place<'_>, violations: &mut Violations) -> Properties {
    let mut properties = Properties::new();
    if !value.get().starts_with('{') {
        invalid(violations, place, "must be an object of strings or arrays of strings");
        return properties;
    }
    let (mut keys, mut room) = (0_usize, limits::PROPERTY_VALUES);
    let walked = for_each_member(value.get(), |name, value| {
        keys += 1;
        if keys > limits::PROPERTIES || violations.overflowed() {
            return;
        }
        let place = Place::Member(place, &name);
        if matches!(name.as_ref(), "Path" | "Language") {
            return invalid(violations, &place, "is the document's own; use its member instead");
        }
        if name.is_empty() {
            return invalid(violations, &place, "must have a name");
        }
        if name.chars().count() > limits::PROPERTY_TEXT {
            return invalid(violations, &place, "must have a name of at most 1024 characters");
        }
        let Some(values) = property_values(value, &place, &mut room, violations) else { return };
        let above = properties.partition_point(|(known, _)| known.as_str() < name.as_ref());
        if properties.get(above).is_some_and(|(known, _)| *known == name) {
            invalid(violations, &place, "stands more than once in its object; send it once");
        } else {
            properties.insert(above, (name.clone().into_owned(), values));
        }
    });
    if walked.is_err() {
        // The body is JSON, so it can only be an escape for half a character.
        invalid(
            violations,
            place,
            "has a name that is not valid Unicode; escape no lone surrogates",
        );
    }
    if keys > limits::PROPERTIES {
        invalid(violations, place, "must hold no more than 64 properties");
    }
    properties
}

/// One string, or an array of them.
fn property_values(
    value: &RawValue,
    place: &Place<'_>,
    room: &mut usize,
    violations: &mut Violations,
) -> Option<Vec<String>> {
    let mut count = 0_usize;
    let mut one = |value: &RawValue, place: &Place<'_>, found: &mut Violations| {
        count += 1;
        if count > *room {
            return None;
        }
        text(limits::PROPERTY_TEXT, value, place, found)
    };
    let values = match value.get().as_bytes().first() {
        Some(b'"') => one(value, place, violations).map(|text| vec![text]),
        Some(b'[') => list(usize::MAX, value, place, violations, one),
        _ => {
            invalid(violations, place, "must be a string or an array of strings");
            return None;
        }
    };
    if count == 0 {
        invalid(violations, place, "must hold at least one value");
    }
    if count > *room {
        invalid(violations, place, "must leave the document at no more than 256 values in all");
    }
    *room = room.saturating_sub(count);
    values
}
