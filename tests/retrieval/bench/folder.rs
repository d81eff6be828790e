//! Corpora from a folder, `CORPORA=…`: files `NAME.json` or `NAME.json.gz` of the form
//! `{"docs":[{"Path","Contents"}],"queries":[{"q","rel":[path]}]}`, where `rel` are the documents that a
//! query is about.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::corpus::document;
use aptix_edge::contract::Document;

pub(crate) struct Folder {
    pub(crate) name: String,
    pub(crate) documents: Vec<Document>,
    /// Each query with its paths.
    pub(crate) queries: Vec<(String, Vec<String>)>,
}

impl Folder {
    /// The corpora of the folder that the environment names, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let Ok(folder) = std::env::var("CORPORA") else { return Vec::new() };
        let entries = std::fs::read_dir(folder).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| name(file).is_some());
        files.sort();
        assert!(!files.is_empty(), "CORPORA holds no NAME.json and no NAME.json.gz");
        files.iter().map(|file| Self::read(file)).collect()
    }

    fn read(file: &Path) -> Self {
        let compressed = file.extension().is_some_and(|extension| extension == "gz");
        let json = if compressed {
            Command::new("gzip").arg("-dc").arg(file).output().unwrap().stdout
        } else {
            std::fs::read(file).unwrap()
        };
        let corpus: Value = serde_json::from_slice(&json).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let list = |value: &Value| value.as_array().unwrap().clone();
        Self {
            name: name(file).unwrap(),
            documents: list(&corpus["docs"])
                .iter()
                .map(|read| document(text(&read["Path"]), text(&read["Contents"])))
                .collect(),
            queries: list(&corpus["queries"])
                .iter()
                .map(|read| (text(&read["q"]), list(&read["rel"]).iter().map(text).collect()))
                .collect(),
        }
    }
}

fn name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".json")?;
    Some(name.to_owned())
}
