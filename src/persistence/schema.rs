//! The tables of a session's object.

use crate::object::{Schema, Step};

/// The form of the tables below.
pub(super) const SCHEMA: Schema =
    Schema { holds: "The session", table: "session", oldest: 13, upgrades: UPGRADES };

/// What brings the tables of an earlier form to the next one.
const UPGRADES: &[&[Step]] = &[
    &[("conversation", "ALTER TABLE conversation ADD COLUMN service TEXT")],
    &[
        ("session", "ALTER TABLE session RENAME COLUMN live_turn TO open_turn"),
        ("conversation", "ALTER TABLE conversation RENAME COLUMN standing TO entry_state"),
        ("calls", "ALTER TABLE calls RENAME COLUMN answer TO result"),
    ],
];

/// The number of the form in which a session is stored.
pub const SESSION_FORM: usize = SCHEMA.form();

/// The tables that every session has.
pub(super) const TABLES: &[&str] = &[
    // One row. Every turn reads and writes it, so it is kept small: long texts stand in `texts` and
    // are referred to by hash. It may be older than the newest turn's row (`session_row.rs`). `state`: JSON.
    "CREATE TABLE session (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        schema_version INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        agent_context TEXT NOT NULL,
        conversation_context TEXT NOT NULL,
        mode TEXT NOT NULL,
        client_tools TEXT,
        solution_context TEXT,
        solution_context_sent TEXT,
        tools_sent TEXT,
        chain_head TEXT,
        acknowledged INTEGER NOT NULL,
        open_turn INTEGER,
        open_calls_turn INTEGER,
        open_calls_model_call INTEGER,
        state TEXT NOT NULL DEFAULT '{}'
    )",
    // Each row also holds the turn's latest submission and the transcript of its latest model call.
    // `accepted_at`: time of the submission; `outcome`: byte for byte, NULL while it runs;
    // `kept_segment`: the segment whose text the outcome carries; `composition`: the composition
    // trace; `model_call`: request (its input by reference to `conversation`), output, attempts, times;
    // `session_after`: JSON, what the turn has changed of the session where its row was left unwritten.
    "CREATE TABLE turns (
        ordinal INTEGER PRIMARY KEY,
        turn_id TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        tools TEXT NOT NULL,
        composition TEXT NOT NULL,
        progress TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        accepted_at INTEGER NOT NULL,
        http_status INTEGER,
        outcome TEXT,
        kept_segment INTEGER,
        model_call TEXT,
        session_after TEXT
    )",
    // The conversation, sent to the model service or still to be sent: one row for each addition, `items` being a JSON
    // array of Responses API items. `entry_state` is `kept`, `withheld` (refused by the model service: not sent any
    // more, tool outputs replaced) or `forgotten` (calls whose outputs the model service never accepted, with those
    // outputs; a turn too long even alone). `service`: the agent context whose model service made an output, NULL for
    // the session's own.
    "CREATE TABLE conversation (
        seq INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL,
        kind TEXT NOT NULL,
        entry_state TEXT NOT NULL,
        items TEXT NOT NULL,
        service TEXT
    )",
    // Texts by the SHA-256 of their content, or by their entry of the conversation (`entry 7`) or the turn whose
    // progress they are (`progress 7`), in parts that stay far below the limit of a row.
    "CREATE TABLE texts (
        hash TEXT NOT NULL,
        part INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (hash, part)
    ) WITHOUT ROWID",
];

/// The tables that a session has once the model has called a tool, a turn has made a second model call, or the mode has
/// changed. SQLite compiles every table when it opens a database, and many sessions need none of these.
pub(super) const CALL_TABLES: &[&str] = &[
    // The calls that the model made. `result` is NULL while the call is open; `approval`
    // the question to a human and the decision, NULL where nobody is asked.
    // `call_id` is the model's, `tool_call_id` the one that clients and tools know: some services
    // number the calls of each response anew.
    "CREATE TABLE calls (
        turn INTEGER NOT NULL,
        model_call INTEGER NOT NULL,
        position INTEGER NOT NULL,
        call_id TEXT NOT NULL,
        tool_call_id TEXT NOT NULL,
        name TEXT NOT NULL,
        arguments TEXT NOT NULL,
        runs_on TEXT NOT NULL,
        result TEXT,
        approval TEXT,
        PRIMARY KEY (turn, model_call, position)
    ) WITHOUT ROWID",
    // Submissions that a tool continuation followed. Number 0 is the user turn. `caller`: JSON, who sent
    // it and under which catalog it ran.
    "CREATE TABLE submissions (
        turn INTEGER NOT NULL,
        number INTEGER NOT NULL,
        fingerprint TEXT NOT NULL,
        accepted_at INTEGER NOT NULL,
        http_status INTEGER,
        outcome TEXT,
        kept_segment INTEGER,
        caller TEXT,
        PRIMARY KEY (turn, number)
    ) WITHOUT ROWID",
    // Transcripts of model calls that another one of the same turn followed.
    "CREATE TABLE model_calls (
        turn INTEGER NOT NULL,
        number INTEGER NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY (turn, number)
    ) WITHOUT ROWID",
    "CREATE TABLE mode_history (
        seq INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL,
        previous_mode TEXT NOT NULL,
        new_mode TEXT NOT NULL,
        reason TEXT NOT NULL,
        changed_at INTEGER NOT NULL,
        branch INTEGER NOT NULL DEFAULT 0
    )",
];

/// The words that users have added to turns while these ran or waited. A session has this table from its first steer
/// on. `position`: order of acceptance, from 0; `request`: what composition needs, JSON, NULL once the message is in
/// the conversation; `interrupted`: a model call was dropped for it; `seq`: the row of `conversation`; `delivered_at` and
/// `model_call`: when a model call of the turn took it, and which, from 0.
pub(super) const STEERS: &str = "CREATE TABLE IF NOT EXISTS steers (
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    steer_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    caller TEXT NOT NULL,
    request TEXT,
    interrupted INTEGER NOT NULL,
    seq INTEGER,
    delivered_at INTEGER,
    model_call INTEGER,
    PRIMARY KEY (turn, position),
    UNIQUE (turn, steer_id)
) WITHOUT ROWID";

/// The tables that a session may have and that go when it is erased, but for its tasks. Those of [`CALL_TABLES`] exist
/// together or not at all.
pub(super) fn session_tables() -> impl Iterator<Item = &'static &'static str> {
    TABLES.iter().chain(CALL_TABLES).chain([&STEERS])
}

/// What a session is built from while it is no session yet: one row, JSON, and the names of the texts that are still to
/// be copied, each with its next part. Both tables go in the step that makes the session.
pub(super) const FORK: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS fork (id INTEGER PRIMARY KEY CHECK (id = 1), build TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fork_texts (name TEXT PRIMARY KEY, part INTEGER NOT NULL) WITHOUT ROWID",
];

/// The responses that the model service stores and is to delete with the session. A session has this
/// table from the first such response on, and it outlives the session until all are deleted.
/// `standing`: see `responses.rs`.
pub(super) const RESPONSES: &str = "CREATE TABLE IF NOT EXISTS responses (
    response_id TEXT PRIMARY KEY,
    agent_context TEXT NOT NULL,
    standing TEXT NOT NULL,
    attempts INTEGER NOT NULL
) WITHOUT ROWID";

/// The receipt of an erasure. This table exists only while responses are still to be deleted.
pub(super) const RECEIPT: &str = "CREATE TABLE IF NOT EXISTS receipt (text TEXT NOT NULL)";
