//! The embeddings of a workspace (interface §7): what is embedded and when, searches by vectors, and the loss of the
//! service, of a model in the catalog or of the instance.

mod crashes;
mod failures;
mod interleavings;
mod models;
mod vector_search;

use std::collections::BTreeMap;

use aptix_edge::ports::Database;
use bed::*;
use serde_json::{Value, json};

const DIMENSIONS: usize = 64;

/// A model of the catalog's.
fn by(model: &str) -> Value {
    json!({ "Model": model, "Dimensions": DIMENSIONS })
}

/// Configures the embeddings of the default agent context.
fn configure(bed: &Bed, embeddings: Value) {
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Index": { "Embeddings": embeddings } });
    });
}

/// A workspace `w` with these documents, embedded by the model `m`.
fn embedded(documents: &[(&str, &str)]) -> Bed {
    let bed = Bed::new();
    configure(&bed, by("m"));
    put(&bed, documents);
    bed.ring_all("w");
    bed
}

fn body_of(documents: &[(&str, &str)]) -> String {
    let document = |(path, contents): &(&str, &str)| json!({ "Path": path, "Contents": contents });
    json!({ "Documents": documents.iter().map(document).collect::<Vec<_>>() }).to_string()
}

fn put(bed: &Bed, documents: &[(&str, &str)]) {
    bed.asked("PUT", "/workspaces/w/documents", &body_of(documents)).result();
}

/// The paths that a search finds, best first, and the codes of its warnings.
fn found(bed: &Bed, search: Value) -> (Vec<String>, Vec<String>) {
    let heard = bed.asked("POST", "/workspaces/w/search", &search.to_string());
    let texts = |list: &Value, member: &str| -> Vec<String> {
        let list = list.as_array().unwrap();
        list.iter().map(|one| one[member].as_str().unwrap().to_owned()).collect()
    };
    (texts(&heard.result()["Chunks"], "Path"), texts(&heard.body["Warnings"], "ErrorCode"))
}

/// The chunks of the workspace, and how many of them are embedded.
fn counts(bed: &Bed) -> (u64, Option<u64>) {
    let heard = bed.asked("GET", "/workspaces/w", "");
    (heard.result()["Chunks"].as_u64().unwrap(), heard.result()["EmbeddedChunks"].as_u64())
}

/// The number of rows in a table of the workspace; none when there is no such table.
fn rows(bed: &Bed, table: &str) -> usize {
    bed.workspace("w").disk.read(&format!("SELECT 1 FROM {table}")).len()
}

/// A function of the source, by a number: ten lines without words of other functions.
fn function(name: usize) -> String {
    format!("fn f{name}() {{\n{}}}\n\n", format!("    step_{name}();\n").repeat(10))
}

/// So many documents of one function each, as paths and texts.
fn functions(count: usize) -> Vec<(String, String)> {
    (0..count).map(|name| (format!("{name}.rs"), function(name))).collect()
}

fn borrowed(documents: &[(String, String)]) -> Vec<(&str, &str)> {
    documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect()
}

fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let dot = |one: &[f32], other: &[f32]| -> f64 {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
    };
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

/// The stored vectors of the one model with so many dimensions, by the ids of their chunks.
fn vectors(bed: &Bed, model: &str, dimensions: usize) -> BTreeMap<u64, Vec<f32>> {
    let database = bed.workspace("w").disk.database();
    let mut vectors = BTreeMap::new();
    let statement =
        "SELECT first_chunk, vectors FROM vectors JOIN vector_sets AS s ON s.id = vector_set
        WHERE s.model = ? AND s.dimensions = ?";
    let bounds = [model.into(), dimensions.into()];
    let mut expand = |first: u64, bytes: &[u8]| {
        // Each is four bytes and its numbers.
        assert_eq!(bytes.len() % (4 + dimensions), 0, "a vector is cut");
        for (id, vector) in (first..).zip(bytes.chunks(4 + dimensions)) {
            let numbers = vector[4..].iter().map(|byte| f32::from(*byte as i8)).collect();
            assert!(vectors.insert(id, numbers).is_none(), "chunk {id} has two vectors");
        }
    };
    database.each_bytes(statement, &bounds, &mut expand).unwrap();
    vectors
}

/// Asserts that the vectors of the workspace are those of these models: each chunk has its own by each model,
/// but the chunks in whose text `without` says so, and there are no others.
fn assert_embedded(bed: &Bed, models: &[(&str, usize)], without: fn(&str) -> bool) {
    let disk = &bed.workspace("w").disk;
    let chunks = disk.read(
        "SELECT c.id, c.path, c.text, d.path IS NOT NULL AS owned FROM chunks AS c LEFT JOIN documents AS d
            ON d.path = c.path AND c.id BETWEEN d.first_chunk AND d.first_chunk + d.chunks - 1",
    );
    let sets = disk.read("SELECT model, dimensions FROM vector_sets ORDER BY model, dimensions");
    let sets: Vec<_> = sets
        .iter()
        .map(|row| (row["model"].as_str().unwrap(), row["dimensions"].as_u64().unwrap() as usize))
        .collect();
    assert_eq!(sets, models, "the models of which there are vectors");
    for (model, dimensions) in models {
        let mut stored = vectors(bed, model, *dimensions);
        for chunk in &chunks {
            assert_eq!(chunk["owned"], 1, "{chunk:?} belongs to no document");
            let (path, text) = (chunk["path"].as_str().unwrap(), chunk["text"].as_str().unwrap());
            let vector = stored.remove(&chunk["id"].as_u64().unwrap());
            assert_eq!(vector.is_none(), without(text), "{model}: the vector of {path}: {text}");
            let right = embedding(model, *dimensions, &format!("{path}\n{text}"));
            let near = vector.map_or(1.0, |vector| cosine(&vector, &right));
            assert!(near > 0.999, "{model}: another vector than that of {path}: {text}: {near}");
        }
        assert!(stored.is_empty(), "vectors of chunks that are gone: {:?}", stored.keys());
    }
    let held = disk.read("SELECT COALESCE(SUM(chunks), 0) AS held FROM vectors");
    let counted: usize =
        models.iter().map(|(model, dimensions)| vectors(bed, model, *dimensions).len()).sum();
    assert_eq!(held.first().map_or(0, |row| row["held"].as_u64().unwrap()), counted as u64);
}
