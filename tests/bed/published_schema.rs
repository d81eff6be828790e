//! The schema that the model service has published for requests, where it is at hand. The rules of
//! [`ModelService`](super::ModelService) hold everywhere.

// A note that nothing was compared is part of a test's result.
#![allow(clippy::print_stdout)]

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{LazyLock, Mutex};

use serde_json::Value;

use super::streams::shared;

static SCHEMA: LazyLock<Option<jsonschema::Validator>> = LazyLock::new(|| {
    let path = shared("openai/create-response.schema.json");
    let Ok(schema) = std::fs::read(&path) else {
        println!("skipped: the request schema is not at {}", path.display());
        return None;
    };
    let mut schema: Value = serde_json::from_slice(&schema).unwrap();
    // A keyword of an older draft, which the current one refuses.
    schema["$defs"]["CompoundFilter"].as_object_mut().unwrap().remove("$recursiveAnchor");
    Some(jsonschema::validator_for(&schema).unwrap())
});

/// The hashes of bodies that the schema permits: tests of crashes send the same ones over and over.
static PERMITTED: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);

/// Fails when the schema refuses a request's body.
pub fn assert_published(body: &str) {
    let Some(schema) = SCHEMA.as_ref() else { return };
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    if PERMITTED.lock().unwrap().contains(&hasher.finish()) {
        return;
    }
    let read: Value = serde_json::from_str(body).unwrap();
    let faults: Vec<String> = schema.iter_errors(&read).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new(), "the published schema refuses {body}");
    PERMITTED.lock().unwrap().insert(hasher.finish());
}
