//! The baseline: what FTS5 gives anyone in three lines. Chunks of 40 lines with their path as the first
//! line, English endings folded, the words of the question joined by OR, ranked by bm25.

use aptix_edge::contract::Document;
use rusqlite::Connection;

use super::Hit;

const LINES: usize = 40;

pub(crate) struct StrongFts5(Connection);

impl StrongFts5 {
    pub(crate) fn of(documents: &[Document]) -> Self {
        let connection = Connection::open_in_memory().unwrap();
        let table = "CREATE VIRTUAL TABLE strong USING fts5
            (text, path UNINDEXED, tokenize = 'porter unicode61')";
        connection.execute_batch(table).unwrap();
        for batch in documents.chunks(100) {
            connection.execute_batch("BEGIN").unwrap();
            for document in batch {
                let lines: Vec<&str> = document.contents.split('\n').collect();
                for chunk in lines.chunks(LINES) {
                    let text = format!("{}\n{}", document.path, chunk.join("\n"));
                    connection
                        .prepare_cached("INSERT INTO strong (text, path) VALUES (?, ?)")
                        .unwrap()
                        .execute((text, &document.path))
                        .unwrap();
                }
            }
            connection.execute_batch("COMMIT").unwrap();
        }
        Self(connection)
    }

    pub(crate) fn search(&self, question: &str, limit: usize) -> Vec<Hit> {
        let mut found = self.ranked(question, limit);
        found.truncate(limit);
        found
    }

    /// The best chunk of each file.
    pub(crate) fn search_files(&self, question: &str, limit: usize) -> Vec<Hit> {
        let mut paths = std::collections::BTreeSet::new();
        let mut found = self.ranked(question, 100 * limit);
        found.retain(|(path, _)| paths.insert(path.clone()));
        found.truncate(limit);
        found
    }

    fn ranked(&self, question: &str, limit: usize) -> Vec<Hit> {
        let words: Vec<String> = question
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| format!("\"{word}\""))
            .collect();
        self.0
            .prepare_cached(
                "SELECT path, text FROM strong WHERE strong MATCH ? ORDER BY rank LIMIT ?",
            )
            .unwrap()
            .query_map((words.join(" OR "), limit as i64), |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }
}
