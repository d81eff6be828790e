//! The fields of a chunk, in which a word counts differently: its code or prose, its comments and
//! headings, and its document's path (interface §7).
//!
//! A comment and a heading say in a reader's words what stands below them, and a path what a document is
//! about. The rule reads only how a line begins, so it holds for every language.

use super::pace::Pace;
use super::tables::{CHUNK_WORK, STEP_CHUNKS, Tables};
use super::terms::{add_searchable, searchable};
use crate::contract::Fault;
use crate::ports::{Database, Value};

/// The fields: their columns in `terms`, and the weight of a word in each.
pub(super) const FIELDS: [(&str, u32); 3] = [("Text", 1), ("Comments", 2), ("Path", 2)];

/// A chunk's text, and apart from it the lines that explain: comments, headings and docstrings.
fn text_and_comments(text: &str) -> (String, String) {
    let mut fields = (String::with_capacity(text.len() + text.len() / 8), String::new());
    let mut in_docstring = false;
    for line in text.split_inclusive(['\n', '\r']) {
        let start = line.trim_start();
        let heading = start.trim_start_matches('#');
        let quotes = start.starts_with("\"\"\"") || in_docstring;
        let explains = quotes
            || ["//", "/*", "* ", "-- ", "<!--"].iter().any(|mark| start.starts_with(mark))
            || (heading.len() < start.len() && heading.starts_with(' '));
        if quotes {
            in_docstring ^= line.matches("\"\"\"").count() % 2 == 1;
        }
        add_searchable(line, if explains { &mut fields.1 } else { &mut fields.0 });
    }
    fields
}

impl<D: Database> Tables<D> {
    /// Writes the terms of a chunk, whose document's path is `searchable` already.
    pub(super) fn index_chunk(&self, id: u64, text: &str, path: &str) -> Result<(), Fault> {
        let (text, comments) = text_and_comments(text);
        self.database.execute(
            "INSERT INTO terms (rowid, text, comments, path) VALUES (?, ?, ?, ?)",
            &[id.into(), text.into(), comments.into(), path.into()],
        )
    }

    /// Indexes the chunks that an older version wrote, the last ones first. A search looks for terms;
    /// whatever else an index does, it does without.
    pub(super) async fn index_all<F: AsyncFn()>(&self, pace: &mut Pace<F>) -> Result<(), Fault> {
        let era = self.era();
        loop {
            let row = self.row("SELECT unindexed FROM index_state", &[])?;
            let last: u64 = row.get("unindexed")?;
            if last == 0 {
                return Ok(());
            }
            pace.before(STEP_CHUNKS * CHUNK_WORK).await;
            self.step(era, || {
                let bounds: [Value; 2] = [last.into(), STEP_CHUNKS.into()];
                // FTS5 writes down what it has before an id that is less than the one above.
                let rows = self.database.query(
                    "SELECT * FROM (SELECT id, path, text FROM chunks WHERE id <= ?
                        ORDER BY id DESC LIMIT ?) ORDER BY id",
                    &bounds,
                )?;
                let first = rows.first().map(|row| row.get::<u64>("id")).transpose()?;
                for row in &rows {
                    let (text, path): (String, String) = (row.get("text")?, row.get("path")?);
                    self.index_chunk(row.get("id")?, &text, &searchable(&path))?;
                }
                let statement = "UPDATE index_state SET unindexed = ?";
                let left = first.unwrap_or_default().saturating_sub(1);
                self.database.execute(statement, &[left.into()])
            })?;
        }
    }
}
