//! The tables of a user's object.

use crate::object::{Schema, Step};

/// The form of the tables below.
pub(super) const SCHEMA: Schema = Schema {
    holds: "The list of the user's sessions",
    table: "user",
    oldest: 1,
    upgrades: UPGRADES,
};

/// What brings the tables of an earlier form to the next one.
const UPGRADES: &[&[Step]] = &[&[
    ("user", "ALTER TABLE user RENAME COLUMN tickets_before TO credentials_valid_from"),
    ("sessions", "ALTER TABLE sessions RENAME COLUMN standing TO listing_state"),
    ("sessions", "ALTER TABLE sessions RENAME COLUMN registration TO incarnation"),
]];

/// The number of the form in which a user's list is stored.
pub const USER_FORM: usize = SCHEMA.form();

pub(super) const TABLES: &[&str] = &[
    // One row. Credentials issued before `credentials_valid_from` are revoked; `erased_at` is the time of the latest
    // request to erase the user. `spent`: the user's tokens and leases, JSON. `receipt`: of an erasure whose last receipt
    // no client has got yet, JSON.
    "CREATE TABLE user (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        schema_version INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        credentials_valid_from INTEGER NOT NULL,
        erased_at INTEGER NOT NULL,
        spent TEXT NOT NULL,
        receipt TEXT
    )",
    // One row for each session. `listing_state`: see `records.rs`. `incarnation` numbers what lies between two erasures
    // of the session, `registered_at` is the time of the latest question to be registered. `renamed`: 1 where a client
    // has set the title. `waiting`: JSON. `attempts`: the failures in a row to erase the session.
    "CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        listing_state TEXT NOT NULL,
        incarnation INTEGER NOT NULL,
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
