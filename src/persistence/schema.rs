//! The tables of a session's object, and the migrations of older forms.
//!
//! Architecture Invariant: a migration once published is never edited; a change is a new entry.

/// The version of the tables below.
pub(super) const VERSION: usize = MIGRATIONS.len() + 1;

/// `MIGRATIONS[n]` brings a database from version n + 1 to version n + 2.
pub(super) const MIGRATIONS: &[&[&str]] = &[
    &[
        // A turn's row may have no room for long texts: they move to `texts`.
        "INSERT INTO texts (hash, part, text) SELECT 'outcome ' || turn || ' ' || number, 0, outcome
         FROM submissions WHERE LENGTH(outcome) > 10000",
        "UPDATE submissions SET outcome = '@outcome ' || turn || ' ' || number WHERE LENGTH(outcome) > 10000",
        "INSERT INTO texts (hash, part, text) SELECT 'model call ' || turn || ' ' || number, 0, record
         FROM model_calls WHERE LENGTH(record) > 10000",
        "UPDATE model_calls SET record = '@model call ' || turn || ' ' || number WHERE LENGTH(record) > 10000",
        // A turn's latest submission and its latest model call move to the turn's row.
        "ALTER TABLE turns ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE turns ADD COLUMN accepted_at INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE turns ADD COLUMN http_status INTEGER",
        "ALTER TABLE turns ADD COLUMN outcome TEXT",
        "ALTER TABLE turns ADD COLUMN kept_segment INTEGER",
        "ALTER TABLE turns ADD COLUMN model_call TEXT",
        "UPDATE turns SET (fingerprint, accepted_at, http_status, outcome, kept_segment) =
            (SELECT fingerprint, accepted_at, http_status, outcome, kept_segment
             FROM submissions WHERE turn = ordinal ORDER BY number DESC LIMIT 1)",
        "UPDATE turns SET model_call =
            (SELECT record FROM model_calls WHERE turn = ordinal ORDER BY number DESC LIMIT 1)",
        "DELETE FROM submissions
         WHERE (turn, number) IN (SELECT turn, MAX(number) FROM submissions GROUP BY turn)",
        "DELETE FROM model_calls
         WHERE (turn, number) IN (SELECT turn, MAX(number) FROM model_calls GROUP BY turn)",
    ],
    // Version 3 may leave `live_turn` unwritten (`session_row.rs`). Version 2 would then read the
    // session as idle, so it must refuse it.
    &[],
    &[
        "ALTER TABLE session ADD COLUMN state TEXT NOT NULL DEFAULT '{}'",
        // The tokens so far are the sum over the turns. A progress that stands in `texts` is no JSON here;
        // a service may report more than an integer of SQLite holds.
        "UPDATE session SET state = json_object('total_tokens', (
            SELECT CAST(MIN(TOTAL(json_extract(progress, '$.usage.TotalTokens')), 9e15) AS INTEGER)
            FROM turns WHERE json_valid(progress)))",
    ],
    // Version 5 may hold a call that a human must approve first, which version 4 would run unasked.
    &[],
    // Version 6 says who sent a submission, and version 5 would refuse that member.
    &[],
    // Version 7 may hold steers, which version 6 would neither send nor erase.
    &[],
    // Version 8 may hold messages of webhooks, which version 7 would leave behind when it erases the session.
    &[],
    // Version 9 may hold in a turn's row what has changed of the session, which version 8 would not read.
    &["ALTER TABLE turns ADD COLUMN session_after TEXT"],
    // Version 10 says where a turn stands in traces, and version 9 would refuse that member.
    &[],
    // Version 11 may hold background responses that a turn reads or that are to be cancelled, which version 10 could not
    // read.
    &[],
    // Version 12 may be a fork, whose first calls and responses belong to another session.
    &[],
    // Version 13 may send a reduced conversation, may hold a question that is put a second time, which version 12 would
    // take for the first, and says which submissions held decisions alone.
    &[],
];

/// The same for [`CALL_TABLES`], where a session has them: the version that a statement leads to.
pub(super) const CALL_MIGRATIONS: &[(usize, &str)] = &[
    (4, "ALTER TABLE mode_history ADD COLUMN branch INTEGER NOT NULL DEFAULT 0"),
    (5, "ALTER TABLE calls ADD COLUMN approval TEXT"),
    (6, "ALTER TABLE submissions ADD COLUMN caller TEXT"),
    // A fork of an earlier version has taken the decisions of its parent along. One with long arguments stands in `texts`.
    (
        13,
        "UPDATE calls SET approval = CASE WHEN json_valid(approval)
            THEN json_set(json_remove(approval, '$.Decision', '$.DecidedBy', '$.WaitedMs', '$.ArgumentsJson'),
                '$.AskedBefore', 1)
            ELSE '{\"AllowEdit\":true,\"AskedBefore\":1}' END
         WHERE answer IS NULL AND turn <= (SELECT json_extract(state, '$.fork.turns') FROM session)
            AND (approval LIKE '@%' OR approval LIKE '%\"Decision\":\"approved\"%')",
    ),
];

/// The statements that bring a database of a version to the present one.
pub(super) fn migration(from: usize, has_call_tables: bool) -> impl Iterator<Item = &'static str> {
    let steps = MIGRATIONS.iter().skip(from.saturating_sub(1)).copied().flatten().copied();
    let concerned = move |(to, _): &&(usize, &str)| has_call_tables && *to > from;
    steps.chain(CALL_MIGRATIONS.iter().filter(concerned).map(|(_, statement)| *statement))
}

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
        live_turn INTEGER,
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
    // The conversation, sent to the model service or still to be sent: one row for each addition,
    // `items` being a JSON array of Responses API items. `standing` is `kept`, `withheld` (refused by
    // the model service: not sent any more, tool outputs replaced) or `forgotten` (calls whose
    // outputs the model service never accepted, with those outputs).
    "CREATE TABLE conversation (
        seq INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL,
        kind TEXT NOT NULL,
        standing TEXT NOT NULL,
        items TEXT NOT NULL
    )",
    // Texts by the SHA-256 of their content, or by their entry of the conversation (`entry 7`), in parts
    // that stay far below the limit of a row.
    "CREATE TABLE texts (
        hash TEXT NOT NULL,
        part INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (hash, part)
    ) WITHOUT ROWID",
];

/// The tables that a session has once one of its turns took more than one model call. SQLite compiles
/// every table when it opens a database, and many sessions need none of these.
pub(super) const CALL_TABLES: &[&str] = &[
    // The calls that the model made. `answer` holds the result, NULL while the call is open; `approval`
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
        answer TEXT,
        approval TEXT,
        PRIMARY KEY (turn, model_call, position)
    ) WITHOUT ROWID",
    // Submissions that a tool continuation followed. Number 0 is the user turn. `caller`: JSON.
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

/// The messages of webhooks. A session has this table from its first message on. `body`: JSON text, empty once no
/// further attempt is made. The primary key keeps the waiting messages together, so that nothing else is read to find
/// them.
pub(super) const WEBHOOKS: &str = "CREATE TABLE webhooks (
    state TEXT NOT NULL,
    turn INTEGER NOT NULL,
    submission INTEGER NOT NULL,
    event TEXT NOT NULL,
    webhook TEXT NOT NULL,
    message_id TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    last_status INTEGER,
    PRIMARY KEY (state, turn, submission, event, webhook)
) WITHOUT ROWID";

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

/// The names of all tables that a session may have. Those of [`CALL_TABLES`] exist together or not
/// at all.
pub(super) fn session_tables() -> impl Iterator<Item = &'static str> {
    // CREATE TABLE name …
    let name = |table: &&'static str| table.split_whitespace().nth(2);
    TABLES.iter().chain(CALL_TABLES).chain(&[WEBHOOKS]).filter_map(name).chain(["steers"])
}

/// What a session is built from while it is no session yet: one row, JSON, and the names of the texts that are still to
/// be copied, each with its next part. Both tables go in the step that makes the session.
pub(super) const FORK: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS fork (id INTEGER PRIMARY KEY CHECK (id = 1), build TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fork_texts (name TEXT PRIMARY KEY, part INTEGER NOT NULL) WITHOUT ROWID",
];

/// Ends [`FORK`].
pub(super) const NO_FORK: &[&str] =
    &["DROP TABLE IF EXISTS fork", "DROP TABLE IF EXISTS fork_texts"];

/// The responses that the model service stores and is to delete with the session. A session has this
/// table from the first such response on, and it outlives the session until all are deleted.
/// `standing`: see `erasure.rs`.
pub(super) const RESPONSES: &str = "CREATE TABLE IF NOT EXISTS responses (
    response_id TEXT PRIMARY KEY,
    agent_context TEXT NOT NULL,
    standing TEXT NOT NULL,
    attempts INTEGER NOT NULL
) WITHOUT ROWID";

/// The background responses that the model service is to cancel. An object has this table from the first such response
/// on, and it outlives the session until all are cancelled or given up. `next_at`: when the service is asked again.
pub(super) const CANCELS: &str = "CREATE TABLE IF NOT EXISTS cancels (
    response_id TEXT PRIMARY KEY,
    agent_context TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL
) WITHOUT ROWID";

/// The receipt of an erasure. This table exists only while responses are still to be deleted.
pub(super) const RECEIPT: &str = "CREATE TABLE IF NOT EXISTS receipt (text TEXT NOT NULL)";

/// Brings the tables of an erasure that earlier versions of the product began, `erasure` and
/// `stored_responses`, to [`RESPONSES`] and [`RECEIPT`], which exist already.
pub(super) const EARLIER_ERASURE: &[&str] = &[
    "INSERT OR IGNORE INTO responses (response_id, agent_context, standing, attempts)
     SELECT response_id, agent_context, 'pending', attempts FROM stored_responses, erasure",
    "INSERT INTO receipt (text) SELECT receipt FROM erasure",
    "DROP TABLE erasure",
    "DROP TABLE stored_responses",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    /// SHA-256 of each published migration, runs of white space as one space.
    const PUBLISHED: [&str; 12] = [
        "18bb1a835caa25b7c270d1716200a292be96fae21eaf15b859475c459417163d",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "d8d57b7c4d650195fb7f986a4b774f64fa86d1caa7a4705a7d6ec2a1857477af",
        "f6091143af3d56a666c03522d41ce662dcc801abaa324d4691bfe7a68e505d88",
        "9d33435c5bfa9bc63c25f90cf0f6aa8a1383b69fee625345ab35b88d1b31ff1f",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "f15ef08bb70a750cf1e37a63e745b57764f33c0e35b61a3a05426fca343c81ab",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "2aac9f7638c1262760be9904be5f0ba61f2a5f64a7b5ec73e118513d49909bf4",
    ];

    #[test]
    fn a_published_migration_is_never_edited() {
        assert_eq!(
            MIGRATIONS.len(),
            PUBLISHED.len(),
            "pin the new migration here, and the storage that it makes in tests/fixtures/storage/"
        );
        for (from, published) in (1..).zip(PUBLISHED) {
            let to_the_end = |from| migration(from, true).collect::<Vec<_>>();
            let later = to_the_end(from + 1);
            let own = to_the_end(from).into_iter().filter(|statement| !later.contains(statement));
            let text = own.collect::<Vec<_>>().join(";");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(
                sha256_hex(text.as_bytes()),
                published,
                "storage was brought to its form by the text as it was; make another migration: {text}"
            );
        }
    }
}
