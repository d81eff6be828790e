//! Bodies of the model service: hand-written ones, and recorded ones where they are at hand.

// A note that nothing was compared is part of a test's result.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::reply::Recording;

/// One exchange with a model service.
pub struct Exchange {
    pub name: String,
    /// Which service answered.
    pub dialect: String,
    pub body: Vec<u8>,
    pub expected: Value,
}

impl Exchange {
    /// Its response, for another session.
    pub fn recording(&self) -> Recording {
        let body = String::from_utf8_lossy(&self.body);
        let events = || body.split(['\r', '\n']).filter_map(|line| line.strip_prefix("data:"));
        let events = || events().filter_map(|json| serde_json::from_str::<Value>(json).ok());
        let ends = ["response.completed", "response.incomplete"];
        let ending = |event: &Value| ends.iter().any(|end| event["type"] == *end);
        let mut response = match serde_json::from_str::<Value>(&body) {
            Ok(response) => Some(response),
            Err(_) => events().rfind(ending).map(|mut event| event["response"].take()),
        };
        if response.is_none()
            && let Some(mut begun) = events().find(|event| event["type"] == "response.created")
        {
            // Its end may be readable for the product alone.
            begun["response"]["status"] = "completed".into();
            response = Some(begun["response"].take());
        }
        if let Some(response) = &mut response
            && response["output"].as_array().is_none_or(Vec::is_empty)
        {
            let done = events().filter(|event| event["type"] == "response.output_item.done");
            response["output"] = done.map(|mut event| event["item"].take()).collect();
        }
        if let (Some(response), Some(id)) = (&mut response, self.expected["response_id"].as_str()) {
            // Some recordings have another id in each event.
            response["id"] = id.into();
        }
        let kept = |response: &Value| response["id"].is_string();
        Recording { body: self.body.clone(), response: response.filter(kept) }
    }
}

/// A file or folder beside the project's.
pub(crate) fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name)
}

/// Every recorded exchange, or `None` where the recordings are not at hand.
pub fn recorded_exchanges() -> Option<Vec<Exchange>> {
    let folder = shared("fixtures");
    if !folder.join("manifest.json").is_file() {
        println!("skipped: the recorded exchanges are not at {}", folder.display());
        return None;
    }
    let json =
        |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let manifest = json(&folder.join("manifest.json"));
    let mut exchanges = Vec::new();
    for case in manifest["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let files = folder.join("cases").join(id);
        for exchange in case["exchanges"].as_array().unwrap() {
            let file = |member: &str| files.join(exchange[member].as_str().unwrap());
            exchanges.push(Exchange {
                name: format!("{id} {}", exchange["n"]),
                dialect: case["dialect"].as_str().unwrap().to_owned(),
                body: last_response(std::fs::read(file("response")).unwrap()),
                expected: json(&file("expect")),
            });
        }
    }
    Some(exchanges)
}

/// A recording may hold several responses in a row; the expectation is about the last.
fn last_response(mut body: Vec<u8>) -> Vec<u8> {
    let start = b"event: response.created\n";
    let starts: Vec<usize> = (0..body.len()).filter(|at| body[*at..].starts_with(start)).collect();
    match starts.as_slice() {
        [_, .., last] => body.split_off(*last),
        _ => body,
    }
}

/// The hand-written bodies: name, bytes and the expected reading.
pub fn own_streams() -> Vec<(String, Vec<u8>, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/streams");
    let mut streams: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sse"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let expected = std::fs::read(path.with_extension("expect.json")).unwrap();
            (name, std::fs::read(&path).unwrap(), serde_json::from_slice(&expected).unwrap())
        })
        .collect();
    streams.sort_by(|one, two| one.0.cmp(&two.0));
    assert!(streams.len() >= 15, "the folder lost some of its streams");
    streams
}
