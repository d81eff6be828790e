//! The baseline: the same chunks in a plain FTS5 table, searched for every word of the question
//! unchanged.

use aptix_edge::contract::Document;
use aptix_edge::retrieval::pieces;
use rusqlite::Connection;

use super::Hit;

pub(crate) struct PlainFts5(Connection);

impl PlainFts5 {
    pub(crate) fn of(documents: &[Document]) -> Self {
        let connection = Connection::open_in_memory().unwrap();
        let table = "CREATE VIRTUAL TABLE plain USING fts5 (text, path, tokenize = 'unicode61')";
        connection.execute_batch(table).unwrap();
        for batch in documents.chunks(100) {
            connection.execute_batch("BEGIN").unwrap();
            for document in batch {
                for piece in pieces(&document.contents) {
                    connection
                        .prepare_cached("INSERT INTO plain (text, path) VALUES (?, ?)")
                        .unwrap()
                        .execute((piece.text, &document.path))
                        .unwrap();
                }
            }
            connection.execute_batch("COMMIT").unwrap();
        }
        Self(connection)
    }

    pub(crate) fn search(&self, question: &str, limit: usize) -> Vec<Hit> {
        let words: Vec<String> = question
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| format!("\"{word}\""))
            .collect();
        self.0
            .prepare_cached(
                "SELECT path, text FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?",
            )
            .unwrap()
            .query_map((words.join(" OR "), limit as i64), |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }
}
