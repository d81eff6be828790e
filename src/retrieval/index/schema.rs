//! The tables of a workspace's index.

use crate::object::Schema;

/// The form of the tables below.
pub(super) const SCHEMA: Schema =
    Schema { holds: "The workspace", table: "index_state", oldest: 7, upgrades: &[] };

/// The number of the form in which a workspace's index is stored.
pub const WORKSPACE_FORM: usize = SCHEMA.form();

pub(super) const TABLES: &[&str] = &[
    // One row. `next_chunk` is the id of the next chunk: no id is used twice.
    "CREATE TABLE index_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        schema_version INTEGER NOT NULL,
        next_chunk INTEGER NOT NULL
    )",
    // One row for each document. `chunks` is the number of its chunks, `first_chunk` the id of the
    // first; the others follow. `rules` is the version of the rules that cut them, `bytes` the length
    // of the contents. `whole_hash` is the hash of a text that `content_hash` does not cover wholly, else empty;
    // `sha256` that of the contents as they were sent.
    "CREATE TABLE documents (
        path TEXT PRIMARY KEY,
        language TEXT NOT NULL,
        properties TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        rules INTEGER NOT NULL,
        first_chunk INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        whole_hash TEXT NOT NULL,
        sha256 TEXT NOT NULL
    ) WITHOUT ROWID",
    "CREATE TABLE chunks (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        text TEXT NOT NULL
    )",
    // The search index over chunks, by their ids: comments and headings apart from the other lines. It indexes their
    // texts with the words of identifiers split, and stores none: `chunks` does, as written.
    "CREATE VIRTUAL TABLE terms USING fts5 (
        text, comments, path,
        content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2'
    )",
    // One row for each value of a key of a document that has chunks; `Path` and `Language` are keys like
    // the others. The chunks name the document.
    "CREATE TABLE properties (
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        first_chunk INTEGER NOT NULL,
        last_chunk INTEGER NOT NULL,
        PRIMARY KEY (key, value, first_chunk)
    ) WITHOUT ROWID",
    // Chunks that belong to no document: those of a long one that is being written or deleted.
    "CREATE TABLE hidden (
        first_chunk INTEGER PRIMARY KEY,
        last_chunk INTEGER NOT NULL
    )",
    // One row for each model of which the workspace has vectors. The chunks before `next_chunk` have theirs,
    // but those that the service refused.
    "CREATE TABLE vector_sets (
        id INTEGER PRIMARY KEY,
        model TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        next_chunk INTEGER NOT NULL
    )",
    // One row for some neighbouring chunks of a document: their vectors, one behind the other.
    "CREATE TABLE vectors (
        vector_set INTEGER NOT NULL,
        first_chunk INTEGER NOT NULL,
        chunks INTEGER NOT NULL,
        vectors BLOB NOT NULL,
        PRIMARY KEY (vector_set, first_chunk)
    ) WITHOUT ROWID",
];
