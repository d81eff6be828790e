//! A fork while it is built: its rows and texts come from its parent in pages, each page one durable step. Only the last
//! step writes the session's row, so until then there is no session.

use serde::{Deserialize, Serialize};

use super::copied_tables::COPIED;
use super::source::{ForkHead, RowPage, RowPlace, TextPage, TextPlace};
use super::{ForkOrigin, ForkPlan};
use crate::contract::{Result, SessionId, TurnStatus, outcome_in_session};
use crate::object::{TaskKind, drop_tables};
use crate::persistence::bound_contexts::NewContexts;
use crate::persistence::other_contexts::Contexts;
use crate::persistence::records::{Session, to_json};
use crate::persistence::session_store::SessionStore;
use crate::persistence::{schema, texts};
use crate::ports::{Database, Row, SqlValue, insert, unreadable_column};

/// The most ancestors that a session knows, the nearest ones. Each turn stores them, and a repeat of a copied turn is
/// compared under the id of each.
const MOST_ANCESTORS: usize = 100;

/// What is stored of a fork that is built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredCopy {
    /// Tells this build from every other one of the object.
    pub(crate) id: u64,
    pub(crate) plan: ForkPlan,
    /// The number under which the user's object has registered the session; 0 for a session of no user.
    #[serde(rename = "registration", default, skip_serializing_if = "crate::encoding::is_default")]
    pub(crate) incarnation: u64,
    /// How often it was begun or resumed.
    pub(crate) attempts: u32,
    /// `None` until the parent has told it.
    head: Option<ForkHead>,
    /// Where the next page of rows begins; `None` after the last.
    rows: Option<RowPlace>,
}

/// The next step of a build.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ForkStep {
    Head,
    Rows(RowPlace),
    Text(TextPlace),
    /// All is copied: what the version of the rows should still be.
    Check(String),
}

/// The contexts under which a fork goes on, in place of its parent's.
#[derive(Clone, Debug)]
pub(crate) struct ForkContexts {
    pub(crate) new: NewContexts,
    /// The contexts that the fork's request asked for.
    pub(crate) asked: Contexts,
}

impl StoredCopy {
    /// A build that has not begun. `id` is one that no other build of the object had.
    pub(crate) fn new(id: u64, plan: ForkPlan, incarnation: u64) -> Self {
        Self { id, plan, incarnation, attempts: 0, head: None, rows: Some(RowPlace::first()) }
    }

    /// The same from its beginning.
    pub(crate) fn anew(self, id: u64) -> Self {
        Self { attempts: self.attempts, ..Self::new(id, self.plan, self.incarnation) }
    }

    /// Whether its rows are of another form than this version of the product has.
    pub(crate) fn is_of_other_form(&self) -> bool {
        self.head.as_ref().is_some_and(ForkHead::is_of_other_form)
    }

    /// The parent's agent context, where a fork under that conversation context keeps it.
    pub(crate) fn agent_context_under(&self, conversation: &str) -> Option<&str> {
        let session = self.head.as_ref().map(|head| &head.session);
        let same = session.filter(|session| session.conversation_context == conversation);
        same.map(|session| session.agent_context.as_str())
    }
}

impl<D: Database> SessionStore<D> {
    /// Whether the object builds a fork, and so has no session yet.
    pub(crate) fn is_building_fork(&self) -> Result<bool> {
        self.find_tables()?;
        Ok(self.memory.borrow().has_fork)
    }

    /// The fork that is built.
    pub(crate) fn fork_build(&self) -> Result<Option<StoredCopy>> {
        if !self.is_building_fork()? {
            return Ok(None);
        }
        let row = self.database.first("SELECT build FROM fork WHERE id = 1", &[])?;
        row.map(|row| row.json("build")).transpose()
    }

    /// Begins a build, or begins one anew: nothing of an earlier one is left.
    pub(crate) fn begin_fork(&self, build: &StoredCopy, now_ms: u64) -> Result<()> {
        self.durable_step(|| {
            self.drop_tables()?;
            self.database.execute_all(schema::FORK)?;
            self.save_build(build)?;
            self.tasks.add(TaskKind::Fork, "", "", now_ms)
        })?;
        self.memory.borrow_mut().has_fork = true;
        Ok(())
    }

    /// Notes that the build is resumed.
    pub(crate) fn count_attempt(&self, build: &mut StoredCopy) -> Result<()> {
        build.attempts = build.attempts.saturating_add(1);
        self.save_build(build)
    }

    /// Drops the build with all that it has copied.
    pub(crate) fn drop_fork(&self) -> Result<()> {
        self.durable_step(|| {
            self.drop_tables()?;
            self.tasks.withdraw(TaskKind::Fork)
        })
    }

    /// What comes next of a build.
    pub(crate) fn fork_step(&self, build: &StoredCopy) -> Result<ForkStep> {
        let Some(head) = &build.head else { return Ok(ForkStep::Head) };
        if let Some(place) = &build.rows {
            return Ok(ForkStep::Rows(place.clone()));
        }
        let wanted = "SELECT name, part FROM fork_texts ORDER BY name LIMIT 1";
        Ok(match self.database.first(wanted, &[])? {
            Some(row) => {
                ForkStep::Text(TextPlace { name: row.get("name")?, part: row.get("part")? })
            }
            None => ForkStep::Check(head.version.clone()),
        })
    }

    /// Takes the parent's row.
    pub(crate) fn add_fork_head(&self, build: &mut StoredCopy, head: ForkHead) -> Result<()> {
        let Session {
            client_tools,
            solution_context,
            solution_context_sent,
            tools_sent,
            state,
            ..
        } = &head.session;
        let refused = &state.refused_solution_context;
        let names = [client_tools, solution_context, solution_context_sent, tools_sent, refused];
        let names: Vec<String> = names.into_iter().flatten().cloned().collect();
        self.durable_step(|| {
            self.ensure_tables()?;
            self.want_texts(&names)?;
            build.head = Some(head);
            self.save_build(build)
        })
    }

    /// Takes a page of rows.
    pub(crate) fn add_fork_rows(&self, build: &mut StoredCopy, page: RowPage) -> Result<()> {
        self.durable_step(|| {
            for (table, row) in page.rows {
                self.add_row(&build.plan.request.session_id, table, row)?;
            }
            self.want_texts(&page.texts)?;
            build.rows = page.next;
            self.save_build(build)
        })
    }

    /// Takes parts of a text.
    pub(crate) fn add_fork_text(&self, place: &TextPlace, page: TextPage) -> Result<()> {
        self.durable_step(|| {
            let mut part = place.part;
            for text in page.parts {
                let hash = place.name.as_str();
                insert!(self.database, "INSERT OR REPLACE INTO" texts { hash, part, text })?;
                part += 1;
            }
            match page.goes_on {
                true => self.database.execute(
                    "UPDATE fork_texts SET part = ? WHERE name = ?",
                    &[part.into(), place.name.as_str().into()],
                ),
                false => self.database.execute(
                    "DELETE FROM fork_texts WHERE name = ?",
                    &[place.name.as_str().into()],
                ),
            }
        })
    }

    /// Has the next long outcome name the new session, of the turns and their earlier submissions; false when all do. Doing
    /// it again changes nothing.
    pub(crate) fn rename_next_outcome(
        &self,
        session: &SessionId,
        after: &mut OutcomePlace,
    ) -> Result<bool> {
        let turns = "SELECT ordinal AS turn, -1 AS number, outcome FROM turns
             WHERE ordinal > ? AND OCTET_LENGTH(outcome) <= 65 AND outcome LIKE '@%'
             ORDER BY ordinal LIMIT 1";
        let submissions = "SELECT turn, number, outcome FROM submissions
             WHERE (turn, number) > (?, ?) AND OCTET_LENGTH(outcome) <= 65 AND outcome LIKE '@%'
             ORDER BY turn, number LIMIT 1";
        let OutcomePlace { turn, submission } = *after;
        let row = match submission {
            None => self.database.first(turns, &[turn.into()])?,
            Some(number) => {
                let place = [turn.into(), number.into()];
                self.rows_of_calls(submissions, &place)?.into_iter().next()
            }
        };
        let Some(row) = row else {
            *after = OutcomePlace { turn: 0, submission: Some(0) };
            return Ok(submission.is_none());
        };
        let held: String = row.get("outcome")?;
        let turn: u64 = row.get("turn")?;
        let number: Option<u64> = submission.map(|_| row.get("number")).transpose()?;
        *after = OutcomePlace { turn, submission: number };
        let outcome = texts::from_column(self.database.as_ref(), held.clone())?;
        let renamed = outcome_in_session(outcome, session);
        self.durable_step(|| {
            let column = texts::to_column(self.database.as_ref(), &renamed)?;
            if column == held {
                return Ok(());
            }
            if let Some(name) = texts::referred(&held) {
                self.database.execute("DELETE FROM texts WHERE hash = ?", &[name.into()])?;
            }
            match number {
                None => self.database.execute(
                    "UPDATE turns SET outcome = ? WHERE ordinal = ?",
                    &[column.into(), turn.into()],
                ),
                Some(number) => self.database.execute(
                    "UPDATE submissions SET outcome = ? WHERE turn = ? AND number = ?",
                    &[column.into(), turn.into(), number.into()],
                ),
            }
        })?;
        Ok(true)
    }

    /// Makes the build a session.
    pub(crate) fn finish_fork(
        &self,
        build: &StoredCopy,
        contexts: Option<ForkContexts>,
        now_ms: u64,
    ) -> Result<()> {
        let Some(head) = &build.head else { return Err(texts::lost("a text")) };
        let mut session = head.session.clone();
        // What was remembered is of the time before the rows came.
        self.memory.take();
        self.durable_step(|| {
            session.become_fork(build, now_ms);
            if let Some(contexts) = contexts {
                self.take_contexts_of_fork(&mut session, contexts, build.plan.turns)?;
            }
            self.leave_decisions_behind(&session)?;
            drop_tables(self.database.as_ref(), schema::FORK)?;
            self.save_session(&session)
        })?;
        self.memory.take();
        Ok(())
    }

    /// Has the fork go on under a context of its own choice. Under another one than its parent's, its copied turns do so,
    /// too.
    fn take_contexts_of_fork(
        &self,
        session: &mut Session,
        contexts: ForkContexts,
        turns: u64,
    ) -> Result<()> {
        // The parent's own one changes nothing, though its prompt may be another in the catalog by now.
        if contexts.new.contexts.conversation != session.conversation_context {
            let known = |session: &Session| {
                (session.agent_context.clone(), session.state.window.system_message)
            };
            let before = known(session);
            session.forget_other_contexts();
            // The prompt is the first turn's, so that every fork of this fork has it.
            self.change_contexts(session, contexts.new, 1)?;
            if known(session) != before {
                session.part_from_copied(turns);
            }
            if session.agent_context != before.0 {
                self.leave_fallbacks(turns)?;
            }
        }
        session.ask_for(contexts.asked);
        Ok(())
    }

    /// A failed turn that is repeated stays with no service that another agent context has fallen back to.
    fn leave_fallbacks(&self, turns: u64) -> Result<()> {
        for turn in self.turns_with("service", "<=", turns)? {
            let mut turn = turn?;
            if turn.status == TurnStatus::Failed && turn.progress.service.take().is_some() {
                self.save_progress(&mut turn)?;
            }
        }
        Ok(())
    }

    fn add_row(&self, session: &SessionId, table: usize, row: Row) -> Result<()> {
        let unreadable = || unreadable_column("a row");
        let table = COPIED.get(table).ok_or_else(unreadable)?;
        match table.name {
            "turns" | "conversation" => {}
            "steers" => self.database.execute(schema::STEERS, &[])?,
            _ => self.ensure_call_tables()?,
        }
        let (mut columns, mut parameters) = (Vec::new(), Vec::new());
        for (column, value) in row.0 {
            // What a turn has changed of the parent is no state of this session.
            if column == "session_after" {
                continue;
            }
            let value = match value {
                serde_json::Value::String(text) if column == "outcome" => {
                    outcome_in_session(text, session).into()
                }
                serde_json::Value::String(text) => text.into(),
                serde_json::Value::Number(number) => whole(&number).ok_or_else(unreadable)?.into(),
                serde_json::Value::Null => SqlValue::Null,
                _ => return Err(unreadable()),
            };
            columns.push(column);
            parameters.push(value);
        }
        let places = vec!["?"; columns.len()].join(", ");
        let (name, columns) = (table.name, columns.join(", "));
        let statement = format!("INSERT INTO {name} ({columns}) VALUES ({places})");
        self.database.execute(&statement, &parameters)
    }

    fn want_texts(&self, names: &[String]) -> Result<()> {
        for name in names {
            // One that has come already is not asked for again.
            self.database.execute(
                "INSERT OR IGNORE INTO fork_texts (name, part)
                 SELECT ?1, 0 WHERE NOT EXISTS (SELECT 1 FROM texts WHERE hash = ?1)",
                &[name.as_str().into()],
            )?;
        }
        Ok(())
    }

    fn save_build(&self, build: &StoredCopy) -> Result<()> {
        let text = to_json("build", build)?;
        insert!(self.database, "INSERT OR REPLACE INTO" fork (id = 1) { build: text })
    }

    fn drop_tables(&self) -> Result<()> {
        drop_tables(self.database.as_ref(), schema::session_tables().chain(schema::FORK))?;
        self.memory.take();
        Ok(())
    }
}

/// A place in the outcomes: behind that of a turn's latest submission, or of an earlier submission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutcomePlace {
    turn: u64,
    submission: Option<u64>,
}

impl Session {
    /// Makes the parent's row that of its fork.
    fn become_fork(&mut self, build: &StoredCopy, now_ms: u64) {
        let ForkPlan { parent, turn_id, turns, request, .. } = &build.plan;
        let mut ancestors = vec![parent.clone()];
        ancestors.extend(self.state.fork.take().into_iter().flat_map(|fork| fork.ancestors));
        ancestors.truncate(MOST_ANCESTORS);
        self.session_id = request.session_id.clone();
        (self.created_at, self.updated_at) = (now_ms, now_ms);
        self.state.incarnation = build.incarnation;
        self.state.fork = Some(Box::new(ForkOrigin {
            parent: parent.clone(),
            turn_id: turn_id.clone(),
            turns: *turns,
            model_calls: self.state.model_calls,
            request: request.clone(),
            ancestors,
        }));
    }
}

/// A whole number, in whichever form it came.
fn whole(number: &serde_json::Number) -> Option<u64> {
    let integral = |number: f64| (number.fract() == 0.0 && number >= 0.0).then_some(number as u64);
    number.as_u64().or_else(|| number.as_f64().and_then(integral))
}
