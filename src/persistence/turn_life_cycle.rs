//! The turn's life cycle: every function is one durable step, all of it kept or nothing, or a part of its caller's
//! step.
//!
//! ```text
//! begin_turn -> record_retrieval? -> record_output -> record_tool_result* -> add_tool_outputs -> record_output … -> end_submission
//!                                                end_submission (awaiting tools) -> begin_continuation -^
//! ```

use super::call::{Call, OpenCalls};
use super::compaction::note_window;
use super::conversation::array_of;
use super::entry_seq::EntrySeq;
use super::records::{EntryKind, Session, StoredOutcome, Turn, to_json};
use super::session_store::SessionStore;
use super::submission_origin::SubmissionOrigin;
use super::texts;
use super::webhooks::DueWebhook;
use super::window::{CompactionRecord, Window};
use crate::contract::{Result, TurnStatus};
use crate::files::OutputFile;
use crate::ports::{Database, insert};

/// A model call's output, with its transcript.
pub(crate) struct ModelOutputRecord<'a> {
    /// The output items, a JSON array.
    pub(crate) items: &'a str,
    pub(crate) calls: &'a [Call],
    /// The transcript, JSON.
    pub(crate) record: &'a str,
    /// The items hold a compaction: nothing before it is sent any more.
    pub(crate) compaction: Option<CompactionRecord>,
}

/// A mode change. One that the model asked for takes effect with the result of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMode {
    /// Mode key.
    pub key: String,
    pub reason: String,
    /// The model called it a branch of the conversation.
    pub branch: bool,
}

impl<D: Database> SessionStore<D> {
    /// Accepts a user turn: from here on it is `running`. Its messages join the conversation, each the JSON of one item;
    /// `composition` is their composition trace, JSON.
    pub(crate) fn begin_turn(
        &self,
        session: &mut Session,
        turn: Turn,
        system: Option<String>,
        user: String,
        composition: &str,
    ) -> Result<Turn> {
        self.durable_step(|| {
            self.ensure_tables()?;
            let ordinal = turn.ordinal;
            session.open_turn = Some(ordinal);
            session.updated_at = turn.updated_at;
            let session_after = self.save_session_with(session, ordinal)?;
            insert!(self.database, "INSERT INTO" turns {
                ordinal,
                turn_id: turn.turn_id.as_str(),
                status: turn.status.as_str(),
                started_at: turn.started_at,
                updated_at: turn.updated_at,
                attempts: turn.attempts,
                tools: turn.tools.as_str(),
                composition: texts::to_column(self.database.as_ref(), composition)?,
                progress: self.progress_column(&turn)?,
                fingerprint: turn.fingerprint.as_str(),
                accepted_at: turn.accepted_at,
                session_after,
            })?;
            if let Some(system) = system {
                self.append(ordinal, EntryKind::System, &array_of(system))?;
            }
            self.append(ordinal, EntryKind::User, &array_of(user))?;
            let mut memory = self.memory.borrow_mut();
            memory.newest_turn = Some(ordinal);
            memory.turn = Some(turn.clone());
            Ok(turn)
        })
    }

    /// Accepts the client's tool results, which are stored from here on. `fingerprint` is the SHA-256 of their canonical
    /// request.
    pub(crate) fn begin_continuation(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        fingerprint: &str,
        origin: SubmissionOrigin,
        with_results: &[Call],
        now_ms: u64,
    ) -> Result<()> {
        let followed = turn.progress.submission;
        let origin_before = SubmissionOrigin::of_latest(&turn.progress);
        (turn.progress.caller, turn.progress.catalog) = (origin.caller, origin.catalog);
        turn.attempts = 1;
        turn.progress.submission += 1;
        turn.progress.restart_iterations();
        fingerprint.clone_into(&mut turn.fingerprint);
        turn.accepted_at = now_ms;
        session.run_again(turn, now_ms);
        self.durable_step(|| {
            self.database.execute(
                "INSERT INTO submissions (turn, number, fingerprint, accepted_at, http_status, outcome,
                    kept_segment, caller)
                 SELECT ordinal, ?, fingerprint, accepted_at, http_status, outcome, kept_segment, ?
                 FROM turns WHERE ordinal = ?",
                &[followed.into(), to_json("caller", &origin_before)?.into(), turn.ordinal.into()],
            )?;
            for call in with_results {
                self.save_call(turn.ordinal, call)?;
            }
            self.save_turn(turn, None, None, None)?;
            self.save_session(session)
        })
    }

    /// Starts another attempt at a turn that failed or lost its instance. `segments` is the most
    /// segments that the lost attempt can have shown since its last durable step. The new attempt
    /// skips their numbers, so that no watcher takes its text for more of the lost text.
    pub fn begin_attempt(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        segments: u32,
        repeated_message: Option<&str>,
        now_ms: u64,
    ) -> Result<()> {
        // A repeat after a failure counts anew.
        if turn.status == TurnStatus::Running {
            turn.attempts += 1;
        } else {
            turn.attempts = 1;
            // Other turns may have changed the window since.
            turn.progress.window_before = None;
            turn.progress.begin_counts_again(now_ms);
        }
        turn.progress.restart_iterations();
        turn.progress.next_segment += segments;
        session.run_again(turn, now_ms);
        self.durable_step(|| {
            if let Some(items) = repeated_message {
                self.append(turn.ordinal, EntryKind::User, items)?;
            }
            self.save_turn(turn, None, None, None)?;
            self.save_session(session)
        })
    }

    /// Records that the turn's message is whole: what was retrieved for it is in the `message` at its
    /// place, one item, which is `None` when nothing was found, and in the `composition` trace.
    pub(crate) fn record_retrieval(
        &self,
        turn: &mut Turn,
        message: Option<(EntrySeq, String)>,
        composition: &str,
        now_ms: u64,
    ) -> Result<()> {
        turn.progress.retrieval = None;
        self.take_accepted_steers(turn);
        turn.updated_at = now_ms;
        self.durable_step(|| {
            if let Some((seq, item)) = message {
                let column =
                    texts::to_own_column(self.database.as_ref(), "entry", seq.0, &array_of(item))?;
                self.database.execute(
                    "UPDATE conversation SET items = ? WHERE seq = ?",
                    &[column.into(), seq.0.into()],
                )?;
                self.memory.borrow_mut().unsent = None;
            }
            self.database.execute(
                "UPDATE turns SET composition = ?, progress = ?, updated_at = ? WHERE ordinal = ?",
                &[
                    texts::to_column(self.database.as_ref(), composition)?.into(),
                    self.progress_column(turn)?,
                    now_ms.into(),
                    turn.ordinal.into(),
                ],
            )?;
            self.memory.borrow_mut().turn = Some(turn.clone());
            Ok(())
        })
    }

    /// Records a model output with calls, which are open from here on.
    pub(crate) fn record_output(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        output: &ModelOutputRecord<'_>,
        now_ms: u64,
    ) -> Result<()> {
        self.durable_step(|| {
            self.write_output(session, turn, output)?;
            turn.updated_at = now_ms;
            self.save_turn(turn, None, Some(output.record), None)?;
            self.save_session(session)
        })
    }

    /// Records the transcript of a model call that failed.
    pub fn record_attempt(&self, session: &Session, turn: &mut Turn, record: &str) -> Result<()> {
        self.durable_step(|| {
            self.save_turn(turn, None, Some(record), None)?;
            self.save_session(session)
        })
    }

    /// Records the result of one call, with its files and its mode change.
    pub fn record_tool_result(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        call: &Call,
        files: Vec<OutputFile>,
        new_mode: Option<NewMode>,
        now_ms: u64,
    ) -> Result<()> {
        let changes_turn = new_mode.is_some() || !files.is_empty();
        for file in files {
            file.collect(&mut turn.progress.files);
        }
        self.durable_step(|| {
            self.save_call(turn.ordinal, call)?;
            if let Some(new_mode) = new_mode {
                self.change_mode(session, turn.ordinal, new_mode, now_ms)?;
                session.updated_at = now_ms;
                self.save_session(session)?;
            }
            if changes_turn { self.save_turn(turn, None, None, None) } else { Ok(()) }
        })
    }

    /// Changes the session's mode in a step that saves the session afterwards.
    pub(crate) fn change_mode(
        &self,
        session: &mut Session,
        turn: u64,
        new_mode: NewMode,
        now_ms: u64,
    ) -> Result<()> {
        self.ensure_call_tables()?;
        insert!(self.database, "INSERT INTO" mode_history {
            turn,
            previous_mode: session.mode.as_str(),
            new_mode: new_mode.key.as_str(),
            reason: new_mode.reason,
            changed_at: now_ms,
            branch: u32::from(new_mode.branch),
        })?;
        session.mode = new_mode.key;
        Ok(())
    }

    /// Ends the running submission; the caller has set `turn.status`. `last`, the model output with
    /// the final text, and the messages that tell of the end are recorded in the same step.
    pub(crate) fn end_submission(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        outcome: &StoredOutcome,
        last: Option<&ModelOutputRecord<'_>>,
        webhooks: &[DueWebhook],
        now_ms: u64,
    ) -> Result<()> {
        if turn.status != TurnStatus::AwaitingTools && session.open_turn == Some(turn.ordinal) {
            session.open_turn = None;
            session.return_contexts();
        }
        session.updated_at = now_ms;
        turn.updated_at = now_ms;
        self.durable_step(|| {
            if let Some(last) = last {
                self.write_output(session, turn, last)?;
            }
            let session_after = self.save_session_with(session, turn.ordinal)?;
            self.save_turn(turn, Some(outcome), last.map(|last| last.record), session_after)?;
            self.add_webhooks(turn, webhooks, now_ms)
        })
    }

    /// Marks entries that the model service refused as input, so that they are not sent again.
    pub fn withhold(&self, session: &mut Session, entries: &[EntrySeq]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        // The solution context may be among them, so the next turn sends it again.
        session.solution_context_sent = None;
        self.durable_step(|| {
            self.mark(entries, "withheld")?;
            self.save_session(session)
        })
    }

    /// Gives up the chain after the model service refused even the replacements of tool outputs. The
    /// calls leave the conversation with their outputs, and the next model call sends all that remains.
    pub fn forget_refused_calls(&self, session: &mut Session) -> Result<()> {
        session.drop_chain();
        self.memory.borrow_mut().unsent = None;
        self.durable_step(|| {
            self.database.execute(
                "UPDATE conversation SET entry_state = 'forgotten' WHERE seq IN (
                    SELECT MAX(answers.seq) FROM conversation AS answers, conversation AS outputs
                    WHERE outputs.kind = 'tool_outputs' AND outputs.entry_state = 'withheld'
                        AND answers.kind = 'answer' AND answers.seq < outputs.seq
                    GROUP BY outputs.seq)",
                &[],
            )?;
            self.database.execute(
                "UPDATE conversation SET entry_state = 'forgotten'
                 WHERE kind = 'tool_outputs' AND entry_state = 'withheld'",
                &[],
            )?;
            self.save_session(session)
        })
    }

    fn write_output(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        output: &ModelOutputRecord<'_>,
    ) -> Result<()> {
        let service = session.state.window.service.clone();
        let made = (EntryKind::ModelOutput, service.as_deref());
        session.acknowledged = self.append_made(turn.ordinal, made, output.items)?;
        if let Some(record) = &output.compaction {
            let (from, compacted_by) = (session.acknowledged, service);
            let window = Window { from, compacted_by, ..Window::default() };
            note_window(session, turn, record.clone(), window);
        }
        for call in output.calls {
            self.insert_call(turn.ordinal, call)?;
            session.open_calls =
                Some(OpenCalls { turn: turn.ordinal, model_call: call.model_call });
        }
        Ok(())
    }

    /// Saves a turn, the outcome of its latest submission (`None` while it runs), the transcript of the model call that
    /// has just ended, and what [`Self::save_session_with`] gave. An earlier transcript moves to `model_calls`.
    pub(super) fn save_turn(
        &self,
        turn: &mut Turn,
        outcome: Option<&StoredOutcome>,
        transcript: Option<&str>,
        session_after: Option<String>,
    ) -> Result<()> {
        self.take_accepted_steers(turn);
        let column = |text| texts::to_column(self.database.as_ref(), text);
        let body = outcome.map(|outcome| column(&outcome.body)).transpose()?;
        let model_call = transcript.map(column).transpose()?;
        if model_call.is_some() && std::mem::replace(&mut turn.has_transcript, true) {
            self.ensure_call_tables()?;
            self.database.execute(
                "INSERT INTO model_calls (turn, number, record)
                 SELECT ordinal, (SELECT COALESCE(MAX(number) + 1, 0) FROM model_calls WHERE turn = ordinal),
                    model_call
                 FROM turns WHERE ordinal = ? AND model_call IS NOT NULL",
                &[turn.ordinal.into()],
            )?;
        }
        self.database.execute(
            "UPDATE turns SET status = ?, updated_at = ?, attempts = ?, progress = ?, fingerprint = ?,
                accepted_at = ?, http_status = ?, outcome = ?, kept_segment = ?,
                model_call = COALESCE(?, model_call), session_after = COALESCE(?, session_after)
             WHERE ordinal = ?",
            &[
                turn.status.as_str().into(),
                turn.updated_at.into(),
                turn.attempts.into(),
                self.progress_column(turn)?,
                turn.fingerprint.as_str().into(),
                turn.accepted_at.into(),
                outcome.map(|outcome| outcome.http_status).into(),
                body.into(),
                outcome.and_then(|outcome| outcome.kept_segment).into(),
                model_call.into(),
                session_after.into(),
                turn.ordinal.into(),
            ],
        )?;
        self.memory.borrow_mut().turn = Some(turn.clone());
        Ok(())
    }
}
