//! The fields of a chunk, each with a weight of its own: code or prose, comments and headings, and the document's path
//! (interface §7).
//!
//! Comments and headings describe the lines below them in a reader's words, and a path describes its document. The
//! rule reads only how a line begins, so it holds for every language.

use super::terms::add_searchable;

/// The fields, by their columns in `terms`.
pub(super) const FIELDS: [&str; 3] = ["Text", "Comments", "Path"];

/// The score of a match by the weights of the fields, in billionths; higher is better.
pub(super) const RANK: &str = "CAST(bm25(terms, 1, 2, 2) * -1000000000 AS INTEGER)";

/// The code or prose of a chunk, and its comments, headings and docstrings.
pub(super) fn text_and_comments(text: &str) -> (String, String) {
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
