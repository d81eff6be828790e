//! The tables of a workspace's index, as migrations from version to version.
//!
//! Architecture Invariant: a version once published is never edited; a change is a new entry.

/// `VERSIONS[n]` brings a database from version n to version n + 1.
pub(super) const VERSIONS: &[&[&str]] = &[FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH];

const FIRST: &[&str] = &[
    // One row.
    "CREATE TABLE index_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        schema_version INTEGER NOT NULL
    )",
    "INSERT INTO index_state (id, schema_version) VALUES (1, 0)",
    // One row for each document. `chunks` is the number of its chunks, `first_chunk` the id of the
    // first; the others follow. `rules` is the version of the rules that cut them, `bytes` the length
    // of the contents.
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
    // The search index over chunks, by their ids. It indexes their texts with the words of identifiers
    // split, and stores none: `chunks` does, as written.
    "CREATE VIRTUAL TABLE terms USING fts5 (
        text, path,
        content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2'
    )",
];

/// `whole_hash` is the hash of a text that `content_hash` does not cover wholly, else empty.
const SECOND: &[&str] = &["ALTER TABLE documents ADD COLUMN whole_hash TEXT NOT NULL DEFAULT ''"];

const THIRD: &[&str] = &[
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
    // The id of the next chunk: no id is used twice.
    "ALTER TABLE index_state ADD COLUMN next_chunk INTEGER NOT NULL DEFAULT 1",
    // `properties` has the documents up to this path; NULL when it has all.
    "ALTER TABLE index_state ADD COLUMN described TEXT",
    "UPDATE index_state SET
        next_chunk = (SELECT COALESCE(MAX(id), 0) + 1 FROM chunks),
        described = (SELECT '' FROM documents LIMIT 1)",
];

/// `sha256` is the hash of the contents as they were sent; empty for those of an older version.
const FOURTH: &[&str] = &["ALTER TABLE documents ADD COLUMN sha256 TEXT NOT NULL DEFAULT ''"];

const FIFTH: &[&str] = &[
    // The search index has comments and headings apart from the other lines.
    "DROP TABLE terms",
    "CREATE VIRTUAL TABLE terms USING fts5 (
        text, comments, path,
        content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2'
    )",
    // `terms` lacks the chunks up to this id; 0 when it has all.
    "ALTER TABLE index_state ADD COLUMN unindexed INTEGER NOT NULL DEFAULT 0",
    "UPDATE index_state SET unindexed = next_chunk - 1",
];

const SIXTH: &[&str] = &[
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    /// SHA-256 of each published version, runs of white space as one space.
    const PUBLISHED: [&str; 6] = [
        "0a8b1431d5b0c13fe636b3e7c62d1a0e087ce55015f936454d76275e320cd44a",
        "db696beab74ed1ce61d375fce5f012d9eaabadfbcff75b2975d58bc70cce590d",
        "6f9e3a37c1269a9cb550c7c9ed6ff9372a7b27d8d439c9a2c927b2a9f81eddd1",
        "eba34971e02f7ca3dfdc3113473aaecca398dd4cd60e680c97d001d10f4d116a",
        "90ecd5a0eb72caee5a53eadff58e42d84a3103f67f78de53246f4bdc91381c36",
        "6eba5f57ae79ea9ac809fccafa36457788628bb6660f1e04ad7912881eb6ab27",
    ];

    #[test]
    fn a_published_version_is_never_edited() {
        assert_eq!(
            VERSIONS.len(),
            PUBLISHED.len(),
            "pin the new version here, and the storage that it makes in tests/fixtures/storage/"
        );
        for (published, version) in PUBLISHED.iter().zip(VERSIONS) {
            let text = version.join(";");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(
                sha256_hex(text.as_bytes()),
                *published,
                "storage was brought to its form by the text as it was; make another version: {text}"
            );
        }
    }
}
