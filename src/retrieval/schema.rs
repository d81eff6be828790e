//! The tables of a workspace's index, as migrations from version to version.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    /// SHA-256 of each published version, runs of white space as one space.
    const PUBLISHED: [&str; 2] = [
        "0a8b1431d5b0c13fe636b3e7c62d1a0e087ce55015f936454d76275e320cd44a",
        "db696beab74ed1ce61d375fce5f012d9eaabadfbcff75b2975d58bc70cce590d",
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
