//! A session's storage: its tables, and the reads of turns. `turn_life_cycle.rs` has the writes,
//! `conversation.rs` the reads of the conversation, `open_calls.rs` the calls.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::entry_seq::EntrySeq;
use super::memory::{SessionMemory, Tables, UnsentEntries};
use super::records::{ModeChange, Session, StoredOutcome, Submission, Turn, from_json, to_json};
use super::{schema, texts};
use crate::contract::{Result, TurnId};
use crate::encoding::timestamp;
use crate::object::{Tasks, has_table};
use crate::ports::{Database, Row, SqlValue, read_row};

/// The storage of one session.
///
/// A method fails with `internal` when the storage fails or lost a row. A method that writes is one
/// durable step: when it fails, nothing was written.
pub struct SessionStore<D> {
    pub(super) database: Rc<D>,
    /// What the session owes to the outside.
    pub(super) tasks: Rc<Tasks<D>>,
    /// Whether a step has begun and is not complete.
    in_step: Cell<bool>,
    pub(super) memory: RefCell<SessionMemory>,
    /// Credentials that were issued earlier are revoked, as the user's object told this instance.
    pub(super) credentials_valid_from: Cell<u64>,
    /// The turn that took the newest steer of this instance, and the number and the bytes of its steers.
    pub(super) steers_accepted: Cell<(u64, u32, u64)>,
}

/// The columns of a turn's row that a [`Turn`] is made of.
const TURN: &str = "ordinal, turn_id, status, started_at, updated_at, attempts, tools, progress,
    fingerprint, accepted_at, model_call IS NOT NULL AS has_transcript";

impl<D: Database> SessionStore<D> {
    /// A store over a database, which may be empty. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        let database = Rc::new(database);
        Self {
            tasks: Rc::new(Tasks::new(Rc::clone(&database))),
            database,
            in_step: Cell::default(),
            memory: RefCell::default(),
            credentials_valid_from: Cell::default(),
            steers_accepted: Cell::default(),
        }
    }

    /// Makes everything that `writes` does one durable step: all of it is kept or, when it fails,
    /// nothing. A step within a step is part of it, so its failure has to fail the whole.
    pub fn durable_step<T>(&self, writes: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.in_step.replace(true) {
            return writes();
        }
        let done = self.database.transaction(writes);
        self.in_step.set(false);
        if done.is_err() {
            // The tables themselves may not have been kept.
            self.forget();
        }
        done
    }

    /// The tasks of the session's object.
    pub(crate) fn tasks(&self) -> Rc<Tasks<D>> {
        Rc::clone(&self.tasks)
    }

    /// Forgets what is known of the storage, which was freed, or has not kept a step.
    pub(crate) fn forget(&self) {
        self.memory.take();
        self.tasks.forget_table();
    }

    /// The session, or `None` when no turn was ever accepted. Brings older tables up to date, and
    /// fails when a newer version of the product wrote them.
    pub fn session(&self) -> Result<Option<Session>> {
        self.find_tables()?;
        Ok(self.memory.borrow().session.clone())
    }

    /// The session of a turn, which has one.
    pub(crate) fn session_of_turn(&self) -> Result<Session> {
        self.session()?.ok_or_else(|| texts::lost("the session"))
    }

    /// A turn by the client's id.
    pub fn turn(&self, turn_id: &TurnId) -> Result<Option<Turn>> {
        Ok(self.turns("WHERE turn_id = ?", &[turn_id.as_str().into()])?.pop())
    }

    /// A turn by its ordinal.
    pub fn turn_at(&self, ordinal: u64) -> Result<Turn> {
        let known = self.memory.borrow().turn.clone();
        if let Some(turn) = known.filter(|turn| turn.ordinal == ordinal) {
            return Ok(turn);
        }
        self.turns("WHERE ordinal = ?", &[ordinal.into()])?
            .pop()
            .ok_or_else(|| texts::lost("a turn"))
    }

    /// The turn after `ordinal`, or the first. A row may hold texts as long as an answer, so no statement reads several.
    pub fn turn_after(&self, ordinal: Option<u64>) -> Result<Option<Turn>> {
        let which = "WHERE ordinal > ? ORDER BY ordinal LIMIT 1";
        Ok(self.turns(which, &[ordinal.unwrap_or(0).into()])?.pop())
    }

    /// The composition trace of a turn's message, JSON.
    pub fn composition(&self, turn: u64) -> Result<Box<RawValue>> {
        let row = self
            .database
            .first("SELECT composition FROM turns WHERE ordinal = ?", &[turn.into()])?;
        self.json(&row.ok_or_else(|| texts::lost("a turn"))?, "composition")
    }

    pub fn newest_turn(&self) -> Result<Option<Turn>> {
        Ok(self.turns("ORDER BY ordinal DESC LIMIT 1", &[])?.pop())
    }

    /// The ordinal of the newest turn; 0 before the first.
    pub fn newest_ordinal(&self) -> Result<u64> {
        let known = self.memory.borrow().newest_turn;
        let newest = match known {
            Some(known) => known,
            None => self.number("SELECT MAX(ordinal) AS number FROM turns", &[])?,
        };
        self.memory.borrow_mut().newest_turn = Some(newest);
        Ok(newest)
    }

    /// A submission of a turn by the fingerprint of its request.
    pub(crate) fn submission(&self, turn: &Turn, fingerprint: &str) -> Result<Option<Submission>> {
        if turn.fingerprint == fingerprint {
            return Ok(Some(Submission { latest: true, outcome: self.outcome(turn.ordinal)? }));
        }
        let rows = self.rows_of_calls(
            "SELECT http_status, outcome, kept_segment FROM submissions
             WHERE turn = ? AND fingerprint = ? ORDER BY number LIMIT 1",
            &[turn.ordinal.into(), fingerprint.into()],
        )?;
        let Some(row) = rows.first() else { return Ok(None) };
        if let Some(outcome) = self.outcome_from_row(row)? {
            return Ok(Some(Submission { latest: false, outcome: Some(outcome) }));
        }
        // A fork has left the outcome behind (`leave_decisions_behind`): that of the next submission takes its place.
        let following = self.rows_of_calls(
            "SELECT http_status, outcome, kept_segment FROM submissions
             WHERE turn = ?1 AND outcome IS NOT NULL AND number >
                (SELECT MIN(number) FROM submissions WHERE turn = ?1 AND fingerprint = ?2)
             ORDER BY number LIMIT 1",
            &[turn.ordinal.into(), fingerprint.into()],
        )?;
        let (latest, outcome) = match following.first() {
            Some(row) => (false, self.outcome_from_row(row)?),
            None => (true, self.outcome(turn.ordinal)?),
        };
        Ok(Some(Submission { latest, outcome }))
    }

    /// The outcome of a turn's latest submission; `None` while it runs.
    pub fn outcome(&self, turn: u64) -> Result<Option<StoredOutcome>> {
        let row = self.database.first(
            "SELECT http_status, outcome, kept_segment FROM turns WHERE ordinal = ?",
            &[turn.into()],
        )?;
        self.outcome_from_row(&row.ok_or_else(|| texts::lost("a turn"))?)
    }

    /// The session's mode changes, oldest first, or those of one turn.
    pub fn mode_history(&self, of: Option<u64>) -> Result<Vec<ModeChange>> {
        let statement =
            "SELECT previous_mode, new_mode, reason, turn_id, changed_at, branch FROM mode_history
             JOIN turns ON turns.ordinal = mode_history.turn
             WHERE ?1 IS NULL OR mode_history.turn = ?1 ORDER BY seq";
        let change = |row: &Row| {
            Ok(read_row!(ModeChange of row {
                previous_mode, new_mode, reason, turn_id,
                timestamp: timestamp(row.get("changed_at")?),
                branch: row.get::<u8>("branch")? != 0,
            }))
        };
        self.rows_of_calls(statement, &[of.into()])?.iter().map(change).collect()
    }

    /// The transcript of a turn's model calls, oldest first, as clients read it.
    pub fn model_calls(&self, turn: u64) -> Result<Vec<Map<String, Json>>> {
        let shown = |record: Result<Map<String, Json>>| {
            let mut record = record?;
            if let Some(started_at) = record.get_mut("StartedAt") {
                *started_at = started_at.as_u64().map(timestamp).into();
            }
            Ok(record)
        };
        self.call_records(turn)?.map(shown).collect()
    }

    /// The same as they are stored, of which one at a time is read: nothing bounds the model calls of a turn.
    pub(super) fn call_records<T: DeserializeOwned>(
        &self,
        turn: u64,
    ) -> Result<impl Iterator<Item = Result<T>>> {
        let numbers = "SELECT number FROM model_calls WHERE turn = ? ORDER BY number";
        let earlier = self.rows_of_calls(numbers, &[turn.into()])?.into_iter().map(move |row| {
            let record = "SELECT record FROM model_calls WHERE turn = ? AND number = ?";
            let number: u64 = row.get("number")?;
            let row = self.database.first(record, &[turn.into(), number.into()])?;
            self.json(&row.ok_or_else(|| texts::lost("a model call"))?, "record")
        });
        let latest =
            "SELECT model_call AS record FROM turns WHERE ordinal = ? AND model_call IS NOT NULL";
        let latest = self.database.query(latest, &[turn.into()])?;
        Ok(earlier.chain(latest.into_iter().map(|row| self.json(&row, "record"))))
    }

    /// A long text by its hash.
    pub fn text(&self, hash: &str) -> Result<String> {
        match &self.memory.borrow().tools {
            Some((known, text)) if known == hash => Ok(text.clone()),
            _ => texts::load(self.database.as_ref(), hash),
        }
    }

    /// Keeps a long text and returns its hash.
    pub fn keep_text(&self, text: &str) -> Result<String> {
        self.durable_step(|| {
            self.ensure_tables()?;
            texts::keep(self.database.as_ref(), text)
        })
    }

    /// Keeps a turn's tool list, which mostly is that of the turn before, and returns its hash.
    pub(crate) fn keep_tools(&self, tools: &str) -> Result<String> {
        self.keep_again(|memory| &mut memory.tools, tools)
    }

    /// Keeps the template of a model call, which mostly is that of the call before, and returns its hash.
    pub fn keep_template(&self, template: &str) -> Result<String> {
        self.keep_again(|memory| &mut memory.template, template)
    }

    /// Keeps a text, unless it is the one that was kept last in its place in memory.
    fn keep_again(
        &self,
        last: fn(&mut SessionMemory) -> &mut Option<(String, String)>,
        text: &str,
    ) -> Result<String> {
        if let Some((hash, known)) = last(&mut self.memory.borrow_mut())
            && known == text
        {
            return Ok(hash.clone());
        }
        let hash = self.keep_text(text)?;
        *last(&mut self.memory.borrow_mut()) = Some((hash.clone(), text.to_owned()));
        Ok(hash)
    }

    /// Creates the tables of a new session.
    pub(super) fn ensure_tables(&self) -> Result<()> {
        if self.find_tables()? == Tables::Absent {
            self.durable_step(|| self.database.execute_all(schema::TABLES))?;
            let known = self.memory.take();
            self.memory.replace(SessionMemory {
                has_fork: known.has_fork,
                tables: Tables::Present { calls: false },
                newest_turn: Some(0),
                newest_entry: Some(EntrySeq::START),
                unsent: Some(UnsentEntries::none_after(EntrySeq::START)),
                ..SessionMemory::default()
            });
        }
        Ok(())
    }

    /// Creates [`schema::CALL_TABLES`] when they are not there.
    pub(super) fn ensure_call_tables(&self) -> Result<()> {
        if !self.has_call_tables()? {
            self.durable_step(|| self.database.execute_all(schema::CALL_TABLES))?;
            self.memory.borrow_mut().tables = Tables::Present { calls: true };
        }
        Ok(())
    }

    pub(super) fn has_call_tables(&self) -> Result<bool> {
        Ok(self.find_tables()? == Tables::Present { calls: true })
    }

    /// Whether a table of a session is there that has rows.
    pub(super) fn has_table(&self, name: &str) -> Result<bool> {
        match name {
            "turns" | "conversation" => Ok(true),
            "steers" => has_table(self.database.as_ref(), name),
            _ => self.has_call_tables(),
        }
    }

    /// Rows of [`schema::CALL_TABLES`]; none when they are not there.
    pub(super) fn rows_of_calls(
        &self,
        statement: &str,
        parameters: &[SqlValue],
    ) -> Result<Vec<Row>> {
        if self.has_call_tables()? {
            self.database.query(statement, parameters)
        } else {
            Ok(Vec::new())
        }
    }

    /// Looks for the tables and the session, once, and brings older ones up to date.
    pub(super) fn find_tables(&self) -> Result<Tables> {
        let known = self.memory.borrow().tables;
        if known != Tables::Unknown {
            return Ok(known);
        }
        let statement = "SELECT name FROM sqlite_master
             WHERE type = 'table' AND name IN ('session', 'calls', 'fork', 'tasks')";
        let rows = self.database.query(statement, &[])?;
        let names = rows.iter().map(|row| row.get::<String>("name"));
        let names = names.collect::<Result<Vec<_>>>()?;
        let has = |table: &str| names.iter().any(|name| name == table);
        let tables = match has("session") {
            false => Tables::Absent,
            true => {
                let calls = has("calls");
                self.find_session()?;
                Tables::Present { calls }
            }
        };
        let mut memory = self.memory.borrow_mut();
        memory.tables = tables;
        memory.has_fork = has("fork");
        self.tasks.note_table(has(Tasks::<D>::TABLE));
        Ok(tables)
    }

    fn find_session(&self) -> Result<()> {
        schema::SCHEMA.bring_up_to_date(self.database.as_ref())?;
        // The runtime keeps the columns that a statement had at first, so this one runs on present tables
        // only.
        let Some(row) = self.database.first(Session::SELECT, &[])? else { return Ok(()) };
        let mut session = Session::from_rows(&row)?;
        self.keep_credentials_valid_from(&mut session);
        self.memory.borrow_mut().session = Some(session);
        Ok(())
    }

    /// The column `number` of a statement's one row; 0 for NULL.
    pub(super) fn number(&self, statement: &str, parameters: &[SqlValue]) -> Result<u64> {
        let row = self.database.first(statement, parameters)?;
        Ok(row.map_or(Ok(None), |row| row.get("number"))?.unwrap_or(0))
    }

    pub(super) fn turns(&self, which: &str, parameters: &[SqlValue]) -> Result<Vec<Turn>> {
        let statement = format!("SELECT {TURN} FROM turns {which}");
        let rows = self.database.query(&statement, parameters)?;
        let turn = |row: &Row| {
            Ok(read_row!(Turn of row {
                ordinal, turn_id, status, started_at, updated_at, attempts, tools, fingerprint, accepted_at,
                progress: self.json(row, "progress")?,
                has_transcript: row.get::<u8>("has_transcript")? != 0,
            }))
        };
        rows.iter().map(turn).collect()
    }

    /// The value in a JSON column, wherever [`texts::to_column`] put its text; NULL is `null`.
    pub(super) fn json<T: DeserializeOwned>(&self, row: &Row, column: &str) -> Result<T> {
        match row.get::<Option<String>>(column)? {
            Some(held) => from_json(column, &texts::from_column(self.database.as_ref(), held)?),
            None => from_json(column, "null"),
        }
    }

    /// What a JSON column holds for a value.
    pub(super) fn json_column(&self, column: &str, value: &impl Serialize) -> Result<SqlValue> {
        Ok(texts::to_column(self.database.as_ref(), &to_json(column, value)?)?.into())
    }

    /// What the column of a turn's progress holds. Each step of the turn replaces it.
    pub(super) fn progress_column(&self, turn: &Turn) -> Result<SqlValue> {
        let json = to_json("progress", &turn.progress)?;
        let database = self.database.as_ref();
        Ok(texts::to_own_column(database, "progress", turn.ordinal, &json)?.into())
    }

    fn outcome_from_row(&self, row: &Row) -> Result<Option<StoredOutcome>> {
        let Some(outcome) = row.get("outcome")? else { return Ok(None) };
        let body = texts::from_column(self.database.as_ref(), outcome)?;
        Ok(Some(read_row!(StoredOutcome of row { http_status, kept_segment, body: body })))
    }
}
