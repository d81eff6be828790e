//! The tables of a user's object, as migrations from version to version.
//!
//! Architecture Invariant: a version once published is never edited; a change is a new entry.

/// `VERSIONS[n]` brings a database from version n to version n + 1.
pub(super) const VERSIONS: &[&[&str]] = &[FIRST];

const FIRST: &[&str] = &[
    // One row. Credentials issued before `tickets_before` are void; `erased_at` is the time of the latest request to
    // erase the user. `spent`: the user's tokens and leases, JSON. `receipt`: of an erasure whose last receipt no client
    // has got yet, JSON.
    "CREATE TABLE user (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        schema_version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        tickets_before INTEGER NOT NULL,
        erased_at INTEGER NOT NULL,
        spent TEXT NOT NULL,
        receipt TEXT
    )",
    // One row for each session. `standing`: see `records.rs`. `registration` numbers the session's lives,
    // `registered_at` is the time of the latest question to be registered. `renamed`: 1 where a client has set the
    // title. `waiting`: JSON. `attempts`: the failures in a row to erase the session.
    "CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        standing TEXT NOT NULL,
        registration INTEGER NOT NULL,
        registered_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        active_at INTEGER NOT NULL,
        status TEXT NOT NULL,
        mode TEXT NOT NULL,
        turns INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        title TEXT NOT NULL,
        renamed INTEGER NOT NULL,
        waiting TEXT,
        attempts INTEGER NOT NULL
    ) WITHOUT ROWID",
    "CREATE INDEX sessions_active ON sessions (active_at DESC, session_id)",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    /// SHA-256 of each published version, runs of white space as one space.
    const PUBLISHED: [&str; 1] =
        ["846db626b2557403547c5fef2e01ab5a56e69296e5e89697b361b481ecbd5057"];

    #[test]
    fn a_published_version_is_never_edited() {
        assert_eq!(VERSIONS.len(), PUBLISHED.len(), "pin the new version here");
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
