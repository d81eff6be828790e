//! The texts that the bench searches: this project's own, the corpora beside this file, and a large
//! generated one.

use std::path::{Path, PathBuf};

use aptix_edge::contract::{Document, RagCondition, RagOperator, RagScope};
use aptix_edge::retrieval::pieces;

use super::questions::{BILLING, HANDBOOK, OWN, Question};

/// Documents and the questions about them.
pub(crate) struct Corpus {
    pub(crate) name: &'static str,
    pub(crate) documents: Vec<Document>,
    pub(crate) questions: &'static [Question],
}

impl Corpus {
    pub(crate) fn all() -> Vec<Self> {
        let beside = |name| root().join("tests/retrieval/bench").join(name);
        vec![
            Self { name: "this project", documents: own(), questions: OWN },
            Self {
                name: "billing, C#",
                documents: under(&beside("billing"), "billing/"),
                questions: BILLING,
            },
            Self {
                name: "handbook, Markdown",
                documents: under(&beside("handbook"), "handbook/"),
                questions: HANDBOOK,
            },
        ]
    }

    /// The labels whose text stands in no chunk of their file, each with its question and the remedy.
    pub(crate) fn stale_labels(&self) -> Vec<String> {
        let holds = |file: &str, text: &str| {
            let documents = self.documents.iter().filter(|document| document.path == file);
            documents
                .flat_map(|document| pieces(&document.contents))
                .any(|piece| piece.text.contains(text))
        };
        let labels = self.questions.iter().flat_map(|(question, answers)| {
            answers.iter().map(move |(file, text)| (question, file, text))
        });
        labels
            .filter(|(_, file, text)| !holds(file, text))
            .map(|(question, file, text)| {
                format!(
                    "{question:?}: no chunk of {file} holds {text:?}. Find by reading where the texts \
                     answer the question now, and correct its label in tests/retrieval/bench/questions.rs; \
                     if its subject is gone, ask another question of the same kind."
                )
            })
            .collect()
    }
}

/// `src` and `tests`, without benches, fuzzing and the tests of retrieval itself: this bench holds
/// the questions, and nobody asks for the others.
fn own() -> Vec<Document> {
    let mut documents = under(&root().join("src"), "src/");
    documents.extend(under(&root().join("tests"), "tests/"));
    let aside = ["tests/retrieval", "tests/bench/", "tests/fuzz", "tests/catalog/check_catalog"];
    documents.retain(|document| !aside.iter().any(|place| document.path.starts_with(place)));
    documents
}

/// The files of a folder that are code or prose, in order.
fn under(folder: &Path, prefix: &str) -> Vec<Document> {
    let mut documents = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap().to_string_lossy();
        if entry.is_dir() {
            documents.extend(under(&entry, &format!("{prefix}{name}/")));
        } else if [".rs", ".js", ".mjs", ".cs", ".md"].iter().any(|end| name.ends_with(end)) {
            let contents = std::fs::read_to_string(&entry).unwrap();
            documents.push(document(format!("{prefix}{name}"), contents));
        }
    }
    documents
}

/// Copies of this project's texts in numbered folders, with different words in each copy, until
/// there are `chunks` chunks.
pub(crate) fn large(chunks: usize) -> Vec<Document> {
    let own = own();
    let mut documents = Vec::new();
    let mut count = 0;
    for copy in 0.. {
        for original in &own {
            if count >= chunks {
                return documents;
            }
            let contents = original.contents.replace("turn", &format!("turn{copy}"));
            count += pieces(&contents).count();
            documents.push(document(format!("copy{copy}/{}", original.path), contents));
        }
    }
    documents
}

pub(crate) fn scope_of_one_folder() -> RagScope {
    let condition = RagCondition {
        key: "Path".to_owned(),
        operator: RagOperator::Contains,
        values: vec!["copy1/".to_owned()],
    };
    RagScope { conditions: vec![condition] }
}

pub(crate) fn document(path: String, contents: String) -> Document {
    Document { path, contents, language: None, properties: Vec::new() }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
