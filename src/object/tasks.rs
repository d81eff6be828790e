//! The tasks of an object: what it owes to the outside, in one table, until it is done or given up. Of a kind that a
//! trace tells of, the row stays.
//!
//! Whatever owes something adds the task in the durable step that makes it owed, so no crash loses one. Who attempts
//! tasks, and when, is decided by [`super::TaskRunner`].

use std::cell::Cell;
use std::rc::Rc;

use super::newer_form::NewerForm;
use super::schema::has_table;
use crate::contract::{Result, closed_list};
use crate::ports::{Database, Row, SqlValue, insert, read_row};

/// An object has the table from its first task on. `next_at`: when the next attempt is due; `attempts`: those so far;
/// `work`: what there is to do, in words of the kind, empty once the task has ended; `last_status`: the newest HTTP
/// status that an attempt got. The primary key keeps the waiting tasks together, so that nothing else is read to find
/// them.
const TASKS: &str = "CREATE TABLE IF NOT EXISTS tasks (
    state TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    last_status INTEGER,
    work TEXT NOT NULL,
    PRIMARY KEY (state, kind, id)
) WITHOUT ROWID";

closed_list! {
    /// What a task is for.
    pub enum TaskKind {
        /// The model service is to cancel a background response that nobody reads any more.
        Cancel = "cancel",
        /// The model service is to delete the responses of an erased session.
        Deletion = "deletion",
        /// The object is to become the fork of another session.
        Fork = "fork",
        /// A receiver of the operator's is to be told of a turn.
        Webhook = "webhook",
    }
}

impl TaskKind {
    /// Whether a task that has ended stays in the table, so that a trace can tell what became of it.
    fn keeps_end(self) -> bool {
        match self {
            Self::Webhook => true,
            Self::Cancel | Self::Deletion | Self::Fork => false,
        }
    }
}

closed_list! {
    /// What has become of a task.
    pub enum TaskState {
        Pending = "pending",
        Done = "done",
        /// It is not attempted any more.
        GivenUp = "given_up",
    }
}

/// A task that waits for its next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub kind: TaskKind,
    /// Tells it from every other task of its kind. Of tasks that are due together the one with the lesser id is first.
    pub id: String,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// Those so far.
    pub attempts: u32,
    pub work: String,
}

/// What became of a task, or what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    pub id: String,
    pub state: TaskState,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    pub attempts: u32,
    /// The newest HTTP status that an attempt got.
    pub last_status: Option<u16>,
}

/// What comes after an attempt. Times are milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The task is done.
    Done,
    /// It is not attempted any more.
    GivenUp,
    /// It is attempted again at that time.
    Again(u64),
    /// It is looked at again at that time. The table counts no attempt: none was made, or the kind counts its own, as forks and deletions do.
    Wait(u64),
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempted {
    pub next: Next,
    /// The HTTP status that it got.
    pub status: Option<u16>,
}

impl From<Next> for Attempted {
    fn from(next: Next) -> Self {
        Self { next, status: None }
    }
}

/// The table of an object's tasks. An object without tasks neither reads nor writes anything here.
///
/// A method fails with `internal` when the storage fails.
pub struct Tasks<D> {
    database: Rc<D>,
    /// Whether the table is there, once that is known.
    is_there: Cell<Option<bool>>,
}

impl<D: Database> Tasks<D> {
    /// The tasks of an object's database. Nothing is read yet.
    pub fn new(database: Rc<D>) -> Self {
        Self { database, is_there: Cell::default() }
    }

    /// The name of the table.
    pub const TABLE: &'static str = "tasks";

    /// Notes whether the table is there, for whoever has asked the storage of all tables at once.
    pub fn note_table(&self, is_there: bool) {
        self.is_there.set(Some(is_there));
    }

    /// Forgets whether the table is there: a durable step has failed, or the storage was freed.
    pub fn forget_table(&self) {
        self.is_there.set(None);
    }

    /// Adds a task, which is due at once. A task of the kind that waits under the same id stays as it is.
    pub fn add(&self, kind: TaskKind, id: &str, work: &str, now_ms: u64) -> Result<()> {
        if !self.is_there()? {
            self.database.execute(TASKS, &[])?;
            self.is_there.set(Some(true));
        }
        let kind = kind.as_str();
        insert!(self.database, "INSERT OR IGNORE INTO" tasks (state = "'pending'", attempts = 0) {
            kind, id, created_at: now_ms, next_at: now_ms, work,
        })
    }

    /// The task of a kind whose attempt is due first, if one is due by now.
    pub fn due(&self, kind: TaskKind, now_ms: u64) -> Result<Option<Task>> {
        let due = self.rows(
            "SELECT * FROM tasks WHERE state = 'pending' AND kind = ? AND next_at <= ?
             ORDER BY next_at, id LIMIT 1",
            &[kind.as_str().into(), now_ms.into()],
        )?;
        due.first().map(task).transpose()
    }

    /// The kinds of which a task is due by now.
    pub fn due_kinds(&self, now_ms: u64) -> Result<Vec<TaskKind>> {
        let mut kinds = Vec::new();
        let statement = "SELECT DISTINCT kind FROM tasks WHERE state = 'pending' AND next_at <= ?";
        for row in self.rows(statement, &[now_ms.into()])? {
            // A newer version may have added a kind before it was taken back; its tasks wait for it.
            kinds.extend(TaskKind::parse(&row.get::<String>("kind")?));
        }
        Ok(kinds)
    }

    /// When the next attempt is due, or tasks of a newer version are to be looked at again; `None` where no task waits.
    pub fn next_at(&self, now_ms: u64) -> Result<Option<u64>> {
        let next =
            "SELECT kind, MIN(next_at) AS next_at FROM tasks WHERE state = 'pending' GROUP BY kind";
        let mut earliest: Option<u64> = None;
        for row in self.rows(next, &[])? {
            let mut at_ms: u64 = row.get("next_at")?;
            if TaskKind::parse(&row.get::<String>("kind")?).is_none() {
                // Without an alarm nobody would attempt it when its version is back.
                at_ms = at_ms.max(now_ms.saturating_add(NewerForm::WAIT_MS));
            }
            earliest = Some(earliest.map_or(at_ms, |known| known.min(at_ms)));
        }
        Ok(earliest)
    }

    /// Records what an attempt came to. Nothing is written where the task is gone, or is another one by now.
    pub fn settle(&self, task: &Task, attempted: Attempted) -> Result<()> {
        if !self.is_there()? {
            return Ok(());
        }
        let Attempted { next, status } = attempted;
        let (state, next_at, tried) = match next {
            Next::Done => (TaskState::Done, None, 1),
            Next::GivenUp => (TaskState::GivenUp, None, 1),
            Next::Again(at_ms) => (TaskState::Pending, Some(at_ms), 1),
            Next::Wait(at_ms) => (TaskState::Pending, Some(at_ms), 0),
        };
        let same =
            "state = 'pending' AND kind = ?1 AND id = ?2 AND created_at = ?3 AND attempts = ?4";
        let mut bound: Vec<SqlValue> = vec![
            task.kind.as_str().into(),
            task.id.as_str().into(),
            task.created_at.into(),
            task.attempts.into(),
        ];
        if state != TaskState::Pending && !task.kind.keeps_end() {
            return self.database.execute(&format!("DELETE FROM tasks WHERE {same}"), &bound);
        }
        let tried: u32 = tried;
        bound.extend([state.as_str().into(), next_at.into(), tried.into(), status.into()]);
        // What there was to do is kept only for further attempts.
        let settle = format!(
            "UPDATE OR REPLACE tasks
             SET state = ?5, next_at = COALESCE(?6, next_at), attempts = attempts + ?7,
                last_status = COALESCE(?8, last_status), work = CASE ?5 WHEN 'pending' THEN work ELSE '' END
             WHERE {same}"
        );
        self.database.execute(&settle, &bound)
    }

    /// Makes the waiting tasks of a kind due now.
    pub fn hasten(&self, kind: TaskKind, now_ms: u64) -> Result<()> {
        self.change(
            "UPDATE tasks SET next_at = ?2
             WHERE state = 'pending' AND kind = ?1 AND next_at > ?2",
            &[kind.as_str().into(), now_ms.into()],
        )
    }

    /// Drops the waiting tasks of a kind.
    pub fn withdraw(&self, kind: TaskKind) -> Result<()> {
        self.change(
            "DELETE FROM tasks WHERE state = 'pending' AND kind = ?",
            &[kind.as_str().into()],
        )
    }

    /// Erases the tasks with the rest of the object's rows, but for the cancellations that wait: the model service still
    /// has what was erased. The deletion of all responses that are left is added by the erasure.
    pub fn erase(&self) -> Result<()> {
        self.change("DELETE FROM tasks WHERE state <> 'pending' OR kind <> 'cancel'", &[])?;
        if self.rows("SELECT id FROM tasks LIMIT 1", &[])?.is_empty() {
            self.change("DROP TABLE tasks", &[])?;
            self.is_there.set(Some(false));
        }
        Ok(())
    }

    /// The tasks of a kind whose ids begin so, by their ids.
    pub fn records(&self, kind: TaskKind, prefix: &str) -> Result<Vec<TaskRecord>> {
        let rows = self.rows(
            "SELECT id, state, created_at, attempts, last_status FROM tasks
             WHERE state IN ('pending', 'done', 'given_up') AND kind = ?1
                AND id >= ?2 AND id < ?2 || char(1114111)
             ORDER BY id, created_at",
            &[kind.as_str().into(), prefix.into()],
        )?;
        let record = |row: &Row| {
            Ok(read_row!(TaskRecord of row {
                id, state, created_at, attempts, last_status,
            }))
        };
        rows.iter().map(record).collect()
    }

    /// Rows of the table; none where it is not there.
    fn rows(&self, statement: &str, bound: &[SqlValue]) -> Result<Vec<Row>> {
        if self.is_there()? { self.database.query(statement, bound) } else { Ok(Vec::new()) }
    }

    /// Changes rows of the table, where it is there.
    fn change(&self, statement: &str, bound: &[SqlValue]) -> Result<()> {
        if self.is_there()? { self.database.execute(statement, bound) } else { Ok(()) }
    }

    /// Whether the object ever owed anything.
    pub(super) fn is_there(&self) -> Result<bool> {
        match self.is_there.get() {
            Some(known) => Ok(known),
            None => {
                let found = has_table(self.database.as_ref(), Self::TABLE)?;
                self.is_there.set(Some(found));
                Ok(found)
            }
        }
    }
}

fn task(row: &Row) -> Result<Task> {
    Ok(read_row!(Task of row { kind, id, created_at, attempts, work }))
}
