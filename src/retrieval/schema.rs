//! The tables of a workspace's index, and the path from every older form to this one.
//!
//! Architecture Invariant: a version once published is never edited; a change is a new entry.

/// `VERSIONS[n]` brings a database from version n to version n + 1.
pub(super) const VERSIONS: &[&[&str]] = &[FIRST, SECOND];

const FIRST: &[&str] = &[
    // One row.
    "CREATE TABLE index_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        schema_version INTEGER NOT NULL
    )",
    "INSERT INTO index_state (id, schema_version) VALUES (1, 0)",
    // One row for each document. Its chunks are those from `first_chunk` on, as many as `chunks`.
    // `rules` says by which rules they were made, `bytes` is the length of its contents.
    "CREATE TABLE documents (
        path TEXT PRIMARY KEY,
        language TEXT NOT NULL,
        properties TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        rules INTEGER NOT NULL,
        first_chunk INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        bytes INTEGER NOT NULL
    ) WITHOUT ROWID",
    "CREATE TABLE chunks (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        text TEXT NOT NULL
    )",
    // What each chunk is found by, by the chunk's id. It keeps no text: that stands in `chunks`
    // as it was written, here it is parted into words.
    "CREATE VIRTUAL TABLE terms USING fts5 (
        text, path,
        content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2'
    )",
];

/// The hash of a document's text whose `content_hash` does not cover all of it, else empty.
const SECOND: &[&str] = &["ALTER TABLE documents ADD COLUMN whole_hash TEXT NOT NULL DEFAULT ''"];
