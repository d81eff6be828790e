//! The fields of a chunk, in which a word counts differently: its code or prose, its comments and
//! headings, and its document's path (interface §7).
//!
//! A comment and a heading say in a reader's words what stands below them, and a path what a document is
//! about. The rule reads only how a line begins, so it holds for every language.

use super::terms::add_searchable;

/// The fields, by their columns in `terms`.
pub(in crate::retrieval) const FIELDS: [&str; 3] = ["Text", "Comments", "Path"];

/// The rank of a match by the weight of a word in each of them, in billionths; the more, the better.
pub(in crate::retrieval) const RANK: &str = "CAST(bm25(terms, 1, 2, 2) * -1000000000 AS INTEGER)";

/// A chunk's text, and apart from it the lines that explain: comments, headings and docstrings.
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
