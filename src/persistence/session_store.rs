//! A session's storage: its tables, its durable steps, and what is read of turns and the
//! conversation. The writes stand in `turn_life_cycle.rs`, calls in `open_calls.rs`.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::memory::{Memory, OwedEntries};
use super::records::{
    Entry, EntryKind, EntrySeq, ModeChange, Session, StoredOutcome, Submission, Turn, from_json,
    to_json,
};
use super::{schema, texts};
use crate::contract::{ErrorCode, Fault, TurnId};
use crate::encoding::timestamp;
use crate::ports::{Database, Row, Value};

/// The storage of one session.
///
/// A method fails with `internal` when the storage fails or lost what it was asked for. A method
/// that writes is one durable step: when it fails, nothing was written.
#[derive(Debug)]
pub struct SessionStore<D> {
    pub(super) database: D,
    /// What the last look at the tables found.
    tables: Cell<Tables>,
    /// Whether a step has begun and is not complete.
    in_step: Cell<bool>,
    pub(super) memory: Memory,
}

/// What is known of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tables {
    Unknown,
    Absent,
    /// In their present form, with or without [`schema::CALL_TABLES`].
    Present {
        calls: bool,
    },
}

/// The columns of a turn's row that a [`Turn`] is made of.
const TURN: &str = "ordinal, turn_id, status, started_at, updated_at, attempts, tools, progress,
    fingerprint, accepted_at, model_call IS NOT NULL AS has_transcript";

impl<D: Database> SessionStore<D> {
    /// A store over a database, which may be empty. Nothing is read or written yet.
    pub fn new(database: D) -> Self {
        Self {
            database,
            tables: Cell::new(Tables::Unknown),
            in_step: Cell::new(false),
            memory: Memory::default(),
        }
    }

    /// Makes everything that `writes` does one durable step: all of it is kept or, when it fails,
    /// nothing. A step within a step is part of it, so its failure has to fail the whole.
    ///
    /// # Errors
    /// Whatever `writes` fails with.
    pub fn step<T>(&self, writes: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        if self.in_step.replace(true) {
            return writes();
        }
        let (mut writes, mut done) = (Some(writes), None);
        let kept = self.database.atomically(&mut || {
            if let Some(writes) = writes.take() {
                done = Some(writes()?);
            }
            Ok(())
        });
        self.in_step.set(false);
        if kept.is_err() {
            // What was not kept may have been the tables themselves.
            self.forget_tables();
        }
        kept?;
        done.ok_or_else(|| Fault::new(ErrorCode::Internal, "The session's storage ran no write."))
    }

    /// The session, or `None` when no turn was ever accepted. Brings older tables up to date.
    ///
    /// # Errors
    /// `internal`, too, when a newer version of the product wrote the storage.
    pub fn session(&self) -> Result<Option<Session>, Fault> {
        self.find_tables()?;
        Ok(self.memory.session.borrow().clone())
    }

    /// A turn by the client's id.
    pub fn turn(&self, turn_id: &TurnId) -> Result<Option<Turn>, Fault> {
        Ok(self.turns("WHERE turn_id = ?", &[turn_id.as_str().into()])?.pop())
    }

    /// A turn by its ordinal.
    pub fn turn_at(&self, ordinal: u64) -> Result<Turn, Fault> {
        if let Some(turn) =
            self.memory.turn.borrow().as_ref().filter(|turn| turn.ordinal == ordinal)
        {
            return Ok(turn.clone());
        }
        self.turns("WHERE ordinal = ?", &[ordinal.into()])?.pop().ok_or_else(lost_turn)
    }

    /// Turns after one, oldest first; from the first without it.
    pub fn turns_after(&self, ordinal: Option<u64>, limit: u32) -> Result<Vec<Turn>, Fault> {
        self.turns(
            "WHERE ordinal > ? ORDER BY ordinal LIMIT ?",
            &[ordinal.unwrap_or(0).into(), limit.into()],
        )
    }

    /// What a turn's message was made of: the composition trace, JSON.
    pub fn composition(&self, turn: u64) -> Result<Box<RawValue>, Fault> {
        let row = self
            .first("SELECT composition FROM turns WHERE ordinal = ?", &[turn.into()])?
            .ok_or_else(lost_turn)?;
        self.json(&row, "composition")
    }

    /// The newest turn.
    pub fn newest_turn(&self) -> Result<Option<Turn>, Fault> {
        Ok(self.turns("ORDER BY ordinal DESC LIMIT 1", &[])?.pop())
    }

    /// The ordinal of the newest turn; 0 before the first.
    pub fn newest_ordinal(&self) -> Result<u64, Fault> {
        let newest = match self.memory.newest_turn.get() {
            Some(known) => known,
            None => self.number("SELECT MAX(ordinal) AS number FROM turns")?,
        };
        self.memory.newest_turn.set(Some(newest));
        Ok(newest)
    }

    /// A submission of a turn by the fingerprint of its request.
    pub fn submission(&self, turn: &Turn, fingerprint: &str) -> Result<Option<Submission>, Fault> {
        if turn.fingerprint == fingerprint {
            return Ok(Some(Submission { latest: true, outcome: self.outcome(turn.ordinal)? }));
        }
        let rows = self.rows_of_calls(
            "SELECT http_status, outcome, kept_segment FROM submissions
             WHERE turn = ? AND fingerprint = ? ORDER BY number LIMIT 1",
            &[turn.ordinal.into(), fingerprint.into()],
        )?;
        rows.first()
            .map(|row| Ok(Submission { latest: false, outcome: self.outcome_from_row(row)? }))
            .transpose()
    }

    /// What a turn's latest submission ended with; `None` while it runs.
    pub fn outcome(&self, turn: u64) -> Result<Option<StoredOutcome>, Fault> {
        let row = self.first(
            "SELECT http_status, outcome, kept_segment FROM turns WHERE ordinal = ?",
            &[turn.into()],
        )?;
        self.outcome_from_row(&row.ok_or_else(lost_turn)?)
    }

    /// The entries of the conversation after `seq`, oldest first. What a user said and the model
    /// service refused is left out; of refused tool outputs a stand-in is sent, so they are not.
    pub fn entries_after(&self, seq: EntrySeq) -> Result<Vec<Entry>, Fault> {
        if let Some(known) = self.memory.owed.borrow().as_ref().filter(|known| known.after == seq) {
            return Ok(known.entries.clone());
        }
        self.database
            .query(
                "SELECT * FROM conversation
                 WHERE seq > ? AND (standing = 'kept' OR (standing = 'withheld' AND kind = 'tool_outputs'))
                 ORDER BY seq",
                &[seq.into()],
            )?
            .iter()
            .map(|row| self.entry_from_row(row))
            .collect()
    }

    /// The entry with what a user turn said, withheld or not.
    pub fn said_by(&self, turn: u64) -> Result<Option<Entry>, Fault> {
        self.first(
            "SELECT * FROM conversation WHERE turn = ? AND kind = 'user' ORDER BY seq LIMIT 1",
            &[turn.into()],
        )?
        .map(|row| self.entry_from_row(&row))
        .transpose()
    }

    /// The session's mode changes, oldest first.
    pub fn mode_history(&self) -> Result<Vec<ModeChange>, Fault> {
        let statement =
            "SELECT previous_mode, new_mode, reason, turn_id, changed_at FROM mode_history
             JOIN turns ON turns.ordinal = mode_history.turn ORDER BY seq";
        self.rows_of_calls(statement, &[])?.iter().map(ModeChange::from_row).collect()
    }

    /// The transcript of a turn's model calls, oldest first, as clients read it.
    pub fn model_calls(&self, turn: u64) -> Result<Vec<Map<String, Json>>, Fault> {
        let earlier = "SELECT record FROM model_calls WHERE turn = ? ORDER BY number";
        let mut rows = self.rows_of_calls(earlier, &[turn.into()])?;
        let latest =
            "SELECT model_call AS record FROM turns WHERE ordinal = ? AND model_call IS NOT NULL";
        rows.extend(self.database.query(latest, &[turn.into()])?);
        rows.iter()
            .map(|row| {
                let mut record: Map<String, Json> = self.json(row, "record")?;
                if let Some(started_at) = record.get_mut("StartedAt") {
                    *started_at = started_at.as_u64().map(timestamp).into();
                }
                Ok(record)
            })
            .collect()
    }

    /// A long text by its hash.
    pub fn text(&self, hash: &str) -> Result<String, Fault> {
        match self.memory.tools.borrow().as_ref() {
            Some((known, text)) if known == hash => Ok(text.clone()),
            _ => texts::load(&self.database, hash),
        }
    }

    /// Keeps a long text and gives its hash.
    pub fn keep_text(&self, text: &str) -> Result<String, Fault> {
        self.step(|| {
            self.ensure_tables()?;
            texts::keep(&self.database, text)
        })
    }

    /// Creates the tables of a new session.
    pub(super) fn ensure_tables(&self) -> Result<(), Fault> {
        if self.find_tables()? == Tables::Absent {
            self.step(|| Ok(self.database.execute_all(schema::TABLES)?))?;
            self.memory.newest_turn.set(Some(0));
            self.memory.newest_entry.set(Some(EntrySeq::START));
            self.memory.owed.replace(Some(OwedEntries::none_after(EntrySeq::START)));
            self.tables.set(Tables::Present { calls: false });
        }
        Ok(())
    }

    /// Creates [`schema::CALL_TABLES`] when they are not there.
    pub(super) fn ensure_call_tables(&self) -> Result<(), Fault> {
        if !self.has_call_tables()? {
            self.step(|| Ok(self.database.execute_all(schema::CALL_TABLES)?))?;
            self.tables.set(Tables::Present { calls: true });
        }
        Ok(())
    }

    pub(super) fn has_call_tables(&self) -> Result<bool, Fault> {
        Ok(self.find_tables()? == Tables::Present { calls: true })
    }

    /// Rows of [`schema::CALL_TABLES`]; none when they are not there.
    pub(super) fn rows_of_calls(
        &self,
        statement: &str,
        parameters: &[Value],
    ) -> Result<Vec<Row>, Fault> {
        if self.has_call_tables()? {
            Ok(self.database.query(statement, parameters)?)
        } else {
            Ok(Vec::new())
        }
    }

    /// Looks for the tables and the session, once, and brings older ones up to date.
    fn find_tables(&self) -> Result<Tables, Fault> {
        if self.tables.get() == Tables::Unknown {
            let found = self.database.query(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'calls')",
                &[],
            )?;
            if !found.is_empty() {
                self.find_session()?;
            }
            self.tables.set(match found.len() {
                0 => Tables::Absent,
                1 => Tables::Present { calls: false },
                _ => Tables::Present { calls: true },
            });
        }
        Ok(self.tables.get())
    }

    /// Forgets what is known of the tables, after they were dropped or a step failed.
    pub(super) fn forget_tables(&self) {
        self.memory.forget();
        self.tables.set(Tables::Unknown);
    }

    pub(super) fn has_table(&self, name: &str) -> Result<bool, Fault> {
        let table = self.first(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?",
            &[name.into()],
        )?;
        Ok(table.is_some())
    }

    fn find_session(&self) -> Result<(), Fault> {
        // The step that creates the tables writes the session.
        let Some(row) = self.first(Session::SELECT, &[])? else {
            return Ok(());
        };
        let version: usize = row.number("schema_version")?;
        if version > schema::VERSION {
            return Err(Fault::new(
                ErrorCode::Internal,
                "The session was written by a newer version of the service. Deploy that version again.",
            ));
        }
        if version < schema::VERSION {
            self.step(|| {
                let steps = schema::MIGRATIONS.iter().skip(version.saturating_sub(1));
                for statement in steps.copied().flatten() {
                    self.database.execute(statement, &[])?;
                }
                let present = &[schema::VERSION.into()];
                self.database.execute("UPDATE session SET schema_version = ?", present)?;
                Ok(())
            })?;
        }
        self.memory.session.replace(Some(Session::from_row(&row)?));
        Ok(())
    }

    /// The number that a statement gives as `number`; 0 when there is none.
    pub(super) fn number(&self, statement: &str) -> Result<u64, Fault> {
        let row = self.first(statement, &[])?;
        Ok(row.map_or(Ok(None), |row| row.optional_number("number"))?.unwrap_or(0))
    }

    pub(super) fn first(
        &self,
        statement: &str,
        parameters: &[Value],
    ) -> Result<Option<Row>, Fault> {
        Ok(self.database.query(statement, parameters)?.into_iter().next())
    }

    fn turns(&self, which: &str, parameters: &[Value]) -> Result<Vec<Turn>, Fault> {
        let statement = format!("SELECT {TURN} FROM turns {which}");
        let rows = self.database.query(&statement, parameters)?;
        rows.iter().map(|row| Turn::from_row(row, self.json(row, "progress")?)).collect()
    }

    /// The value in a JSON column, wherever [`texts::to_column`] put its text.
    pub(super) fn json<T: DeserializeOwned>(&self, row: &Row, column: &str) -> Result<T, Fault> {
        from_json(column, &texts::from_column(&self.database, row.text(column)?)?)
    }

    /// What a JSON column holds for a value.
    pub(super) fn json_column(&self, column: &str, value: &impl Serialize) -> Result<Value, Fault> {
        Ok(texts::to_column(&self.database, &to_json(column, value)?)?.into())
    }

    fn outcome_from_row(&self, row: &Row) -> Result<Option<StoredOutcome>, Fault> {
        let Some(outcome) = row.optional_text("outcome")? else { return Ok(None) };
        Ok(Some(StoredOutcome {
            http_status: row.number("http_status")?,
            body: texts::from_column(&self.database, outcome)?,
            kept_segment: row.optional_number("kept_segment")?,
        }))
    }

    fn entry_from_row(&self, row: &Row) -> Result<Entry, Fault> {
        Ok(Entry {
            seq: row.number("seq")?,
            turn: row.number("turn")?,
            kind: EntryKind::parse(&row.text("kind")?)?,
            withheld: match row.text("standing")?.as_str() {
                "kept" => false,
                "withheld" => true,
                _ => return Err(crate::ports::unreadable("standing")),
            },
            items: self.json(row, "items")?,
        })
    }
}

fn lost_turn() -> Fault {
    Fault::new(ErrorCode::Internal, "The session's storage lost a turn.")
}
