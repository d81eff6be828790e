//! The turn's life cycle: every function is one durable step, all of it kept or nothing.
//!
//! ```text
//! begin_turn -> record_answer -> record_call_answer* -> hand_back -> record_answer … -> end
//!                                      end (awaiting tools) -> begin_continuation -^
//! ```

use super::records::{Call, EntryKind, OpenCalls, Session, StoredAnswer, Turn, to_json};
use super::session_store::SessionStore;
use super::{schema, texts};
use crate::contract::{Fault, TurnId, TurnStatus};
use crate::files::OutputFile;
use crate::ports::{Database, Value};

/// A user turn that is accepted.
#[derive(Debug)]
pub struct NewTurn<'a> {
    /// One more than the newest turn of the session has.
    pub ordinal: u64,
    /// The client's id.
    pub turn_id: &'a TurnId,
    /// SHA-256 of the canonical request.
    pub fingerprint: &'a str,
    /// The merged tool list, a JSON array.
    pub tools: &'a str,
    /// What it adds to the conversation: kind, and a JSON array of items.
    pub entries: &'a [(EntryKind, String)],
    /// What the messages were made of: the composition trace, JSON.
    pub composition: &'a str,
    /// Where the turn starts from.
    pub progress: super::Progress,
    /// Milliseconds since the epoch.
    pub now: u64,
}

/// What the model answered, and the transcript of the call.
#[derive(Debug)]
pub struct ModelAnswerRecord<'a> {
    /// Its output items, a JSON array.
    pub items: &'a str,
    /// The calls among them.
    pub calls: &'a [Call],
    /// The transcript, JSON.
    pub record: &'a str,
}

/// A mode change that takes effect with the answer to the call that asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMode {
    /// Mode key.
    pub key: String,
    /// The model's reason.
    pub reason: String,
}

impl<D: Database> SessionStore<D> {
    /// Accepts a user turn: from here on it is `running`.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn begin_turn(&self, session: &mut Session, new: NewTurn<'_>) -> Result<Turn, Fault> {
        self.step(|| {
            self.ensure_tables()?;
            let ordinal = new.ordinal;
            let turn = Turn {
                ordinal,
                turn_id: new.turn_id.clone(),
                status: TurnStatus::Running,
                started_at: new.now,
                updated_at: new.now,
                attempts: 1,
                tools: self.keep_tools(new.tools)?,
                progress: new.progress,
                fingerprint: new.fingerprint.to_owned(),
                accepted_at: new.now,
                has_transcript: false,
            };
            self.database.run(
                "INSERT INTO turns (ordinal, turn_id, status, started_at, updated_at, attempts, tools,
                    composition, progress, fingerprint, accepted_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                &[
                    ordinal.into(),
                    turn.turn_id.as_str().into(),
                    turn.status.as_str().into(),
                    new.now.into(),
                    new.now.into(),
                    turn.attempts.into(),
                    (&turn.tools).into(),
                    texts::to_column(&self.database, new.composition)?.into(),
                    self.progress_column(&turn)?,
                    (&turn.fingerprint).into(),
                    turn.accepted_at.into(),
                ],
            )?;
            for (kind, items) in new.entries {
                self.append(ordinal, *kind, items)?;
            }
            let is_stored = self.memory.session.borrow().as_ref() == Some(&*session);
            session.live_turn = Some(ordinal);
            session.updated_at = new.now;
            if is_stored {
                // That the newest turn runs is told by the turn's row.
                self.memory.session.replace(Some(session.clone()));
            } else {
                self.save_session(session)?;
            }
            self.memory.newest_turn.set(Some(ordinal));
            self.memory.turn.replace(Some(turn.clone()));
            Ok(turn)
        })
    }

    /// Accepts the client's tool results: they are never asked for again.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn begin_continuation(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        fingerprint: &str,
        answered: &[Call],
        now: u64,
    ) -> Result<(), Fault> {
        let followed = turn.progress.submission;
        turn.status = TurnStatus::Running;
        turn.attempts = 1;
        turn.updated_at = now;
        turn.progress.submission += 1;
        turn.progress.iterations = 0;
        fingerprint.clone_into(&mut turn.fingerprint);
        turn.accepted_at = now;
        session.live_turn = Some(turn.ordinal);
        session.updated_at = now;
        self.step(|| {
            self.database.run(
                "INSERT INTO submissions (turn, number, fingerprint, accepted_at, http_status, outcome,
                    kept_segment)
                 SELECT ordinal, ?, fingerprint, accepted_at, http_status, outcome, kept_segment
                 FROM turns WHERE ordinal = ?",
                &[followed.into(), turn.ordinal.into()],
            )?;
            for call in answered {
                self.save_call_answer(turn.ordinal, call)?;
            }
            self.save_turn(turn, None, None)?;
            self.save_session(session)
        })
    }

    /// Takes a turn up again that failed, or that lost its instance. Text of the lost attempt keeps
    /// its segment number, so that no watcher mistakes the new text for more of it.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn take_up(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        said_again: Option<&str>,
        now: u64,
    ) -> Result<(), Fault> {
        // A turn that failed ends its count of attempts; what is taken up then is a new one.
        turn.attempts = if turn.status == TurnStatus::Running { turn.attempts + 1 } else { 1 };
        turn.status = TurnStatus::Running;
        turn.updated_at = now;
        turn.progress.iterations = 0;
        // A lost attempt can have used three: its text, what replaced it, and what was said of it
        // without a mode's welcome.
        turn.progress.next_segment += 3;
        session.live_turn = Some(turn.ordinal);
        session.updated_at = now;
        self.step(|| {
            if let Some(items) = said_again {
                self.append(turn.ordinal, EntryKind::User, items)?;
            }
            self.save_turn(turn, None, None)?;
            self.save_session(session)
        })
    }

    /// Records a model call that made calls of its own: they are open from here on.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn record_answer(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        answer: &ModelAnswerRecord<'_>,
        now: u64,
    ) -> Result<(), Fault> {
        self.step(|| {
            self.write_answer(session, turn, answer)?;
            turn.updated_at = now;
            self.save_turn(turn, None, Some(answer.record))?;
            self.save_session(session)
        })
    }

    /// Records the transcript of a model call that gave no answer.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub fn record_attempt(&self, turn: &mut Turn, record: &str) -> Result<(), Fault> {
        self.step(|| self.save_turn(turn, None, Some(record)))
    }

    /// Records the answer to one call, and the mode change that it brought.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn record_call_answer(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        call: &Call,
        files: Vec<OutputFile>,
        new_mode: Option<NewMode>,
        now: u64,
    ) -> Result<(), Fault> {
        let previous = session.mode.clone();
        let changes_turn = new_mode.is_some() || !files.is_empty();
        for file in files {
            file.collect(&mut turn.progress.files);
        }
        self.step(|| {
            self.save_call_answer(turn.ordinal, call)?;
            if let Some(new_mode) = &new_mode {
                self.database.run(
                    "INSERT INTO mode_history (turn, previous_mode, new_mode, reason, changed_at)
                     VALUES (?, ?, ?, ?, ?)",
                    &[
                        turn.ordinal.into(),
                        previous.as_str().into(),
                        new_mode.key.as_str().into(),
                        new_mode.reason.as_str().into(),
                        now.into(),
                    ],
                )?;
                session.mode.clone_from(&new_mode.key);
                session.updated_at = now;
                self.save_session(session)?;
            }
            if changes_turn { self.save_turn(turn, None, None) } else { Ok(()) }
        })
    }

    /// Hands the answers of all open calls back to the conversation; they are owed to the model.
    /// `answered` are calls that get their answer only now.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn hand_back(
        &self,
        session: &mut Session,
        open: OpenCalls,
        answered: &[Call],
        outputs: &str,
    ) -> Result<(), Fault> {
        self.step(|| {
            for call in answered {
                self.save_call_answer(open.turn, call)?;
            }
            self.append(open.turn, EntryKind::ToolOutputs, outputs)?;
            session.open_calls = None;
            self.save_session(session)
        })
    }

    /// Ends the running submission with an answer, `turn.status` being the status after it. The
    /// model call that gave the final text is recorded in the same step.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn end(
        &self,
        session: &mut Session,
        turn: &mut Turn,
        last: Option<&ModelAnswerRecord<'_>>,
        answer: &StoredAnswer,
        now: u64,
    ) -> Result<(), Fault> {
        if turn.status != TurnStatus::AwaitingTools && session.live_turn == Some(turn.ordinal) {
            session.live_turn = None;
        }
        session.updated_at = now;
        turn.updated_at = now;
        self.step(|| {
            if let Some(last) = last {
                self.write_answer(session, turn, last)?;
            }
            self.save_turn(turn, Some(answer), last.map(|last| last.record))?;
            self.save_session(session)
        })
    }

    /// Entries that the model service refused as input are not sent any more.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn withhold(&self, session: &mut Session, entries: &[u64]) -> Result<(), Fault> {
        if entries.is_empty() {
            return Ok(());
        }
        // The solution context may have been among them: it has to be sent again.
        session.solution_context_sent = None;
        self.memory.unanswered.replace(None);
        self.step(|| {
            for seq in entries {
                self.database.run(
                    "UPDATE conversation SET standing = 'withheld' WHERE seq = ?",
                    &[(*seq).into()],
                )?;
            }
            self.save_session(session)
        })
    }

    /// Gives up the chain whose calls cannot be answered: not even the stand-ins for outputs that the
    /// model service refused were accepted. The calls leave the conversation with their outputs,
    /// and the next model call sends what remains as a whole.
    ///
    /// # Errors
    /// `internal` when the storage fails; then nothing was written.
    pub fn forget_refused_calls(&self, session: &mut Session) -> Result<(), Fault> {
        session.chain_head = None;
        self.memory.unanswered.replace(None);
        self.step(|| {
            self.database.run(
                "UPDATE conversation SET standing = 'forgotten' WHERE seq IN (
                    SELECT MAX(answers.seq) FROM conversation AS answers, conversation AS outputs
                    WHERE outputs.kind = 'tool_outputs' AND outputs.standing = 'withheld'
                        AND answers.kind = 'answer' AND answers.seq < outputs.seq
                    GROUP BY outputs.seq)",
                &[],
            )?;
            self.database.run(
                "UPDATE conversation SET standing = 'forgotten'
                 WHERE kind = 'tool_outputs' AND standing = 'withheld'",
                &[],
            )?;
            self.save_session(session)
        })
    }

    fn write_answer(
        &self,
        session: &mut Session,
        turn: &Turn,
        answer: &ModelAnswerRecord<'_>,
    ) -> Result<(), Fault> {
        session.acknowledged = self.append(turn.ordinal, EntryKind::Answer, answer.items)?;
        for call in answer.calls {
            self.insert_call(turn.ordinal, call)?;
            session.open_calls =
                Some(OpenCalls { turn: turn.ordinal, model_call: call.model_call });
        }
        Ok(())
    }

    fn append(&self, turn: u64, kind: EntryKind, items: &str) -> Result<u64, Fault> {
        let newest = match self.memory.newest_entry.get() {
            Some(known) => known,
            None => self.number("SELECT MAX(seq) AS number FROM conversation")?,
        };
        let seq = newest + 1;
        let column = texts::to_column(&self.database, items)?;
        self.database.run(
            "INSERT INTO conversation (seq, turn, kind, standing, items) VALUES (?, ?, ?, 'kept', ?)",
            &[seq.into(), turn.into(), kind.as_str().into(), column.into()],
        )?;
        self.memory.entry_added(seq, turn, kind, items)?;
        Ok(seq)
    }

    /// Keeps a turn's tool list; mostly it is the one of the turn before.
    fn keep_tools(&self, tools: &str) -> Result<String, Fault> {
        if let Some((hash, known)) = self.memory.tools.borrow().as_ref()
            && known == tools
        {
            return Ok(hash.clone());
        }
        let hash = texts::keep(&self.database, tools)?;
        self.memory.tools.replace(Some((hash.clone(), tools.to_owned())));
        Ok(hash)
    }

    fn insert_call(&self, turn: u64, call: &Call) -> Result<(), Fault> {
        self.ensure_call_tables()?;
        let arguments = texts::to_column(&self.database, &to_json("arguments", &call.arguments)?)?;
        self.database.run(
            "INSERT INTO calls (turn, model_call, position, call_id, tool_call_id, name, arguments,
                runs_on, answer)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                turn.into(),
                call.model_call.into(),
                call.position.into(),
                (&call.call_id).into(),
                (&call.tool_call_id).into(),
                (&call.name).into(),
                arguments.into(),
                call.runs_on.as_str().into(),
                self.answer_column(call)?,
            ],
        )?;
        Ok(())
    }

    fn save_call_answer(&self, turn: u64, call: &Call) -> Result<(), Fault> {
        self.database.run(
            "UPDATE calls SET answer = ? WHERE turn = ? AND model_call = ? AND position = ?",
            &[self.answer_column(call)?, turn.into(), call.model_call.into(), call.position.into()],
        )?;
        Ok(())
    }

    fn answer_column(&self, call: &Call) -> Result<Value, Fault> {
        match &call.answer {
            None => Ok(Value::Null),
            Some(answer) => {
                Ok(texts::to_column(&self.database, &to_json("answer", answer)?)?.into())
            }
        }
    }

    fn progress_column(&self, turn: &Turn) -> Result<Value, Fault> {
        let progress = to_json("progress", &turn.progress)?;
        Ok(texts::to_column(&self.database, &progress)?.into())
    }

    /// Saves a turn, the answer to its latest submission (none while it runs), and the transcript
    /// of a model call that has just ended.
    fn save_turn(
        &self,
        turn: &mut Turn,
        answer: Option<&StoredAnswer>,
        transcript: Option<&str>,
    ) -> Result<(), Fault> {
        let column = |text| texts::to_column(&self.database, text);
        let outcome = answer.map(|answer| column(&answer.body)).transpose()?;
        let model_call = transcript.map(column).transpose()?;
        if model_call.is_some() && std::mem::replace(&mut turn.has_transcript, true) {
            self.ensure_call_tables()?;
            self.database.run(
                "INSERT INTO model_calls (turn, number, record)
                 SELECT ordinal, (SELECT COALESCE(MAX(number) + 1, 0) FROM model_calls WHERE turn = ordinal),
                    model_call
                 FROM turns WHERE ordinal = ? AND model_call IS NOT NULL",
                &[turn.ordinal.into()],
            )?;
        }
        self.database.run(
            "UPDATE turns SET status = ?, updated_at = ?, attempts = ?, progress = ?, fingerprint = ?,
                accepted_at = ?, http_status = ?, outcome = ?, kept_segment = ?,
                model_call = COALESCE(?, model_call)
             WHERE ordinal = ?",
            &[
                turn.status.as_str().into(),
                turn.updated_at.into(),
                turn.attempts.into(),
                self.progress_column(turn)?,
                (&turn.fingerprint).into(),
                turn.accepted_at.into(),
                answer.map(|answer| answer.http_status).into(),
                outcome.into(),
                answer.and_then(|answer| answer.kept_segment).into(),
                model_call.into(),
                turn.ordinal.into(),
            ],
        )?;
        self.memory.turn.replace(Some(turn.clone()));
        Ok(())
    }

    fn save_session(&self, session: &Session) -> Result<(), Fault> {
        self.database.run(
            "REPLACE INTO session (id, schema_version, session_id, created_at, updated_at,
                agent_context, conversation_context, mode, client_tools, solution_context,
                solution_context_sent, tools_sent, chain_head, acknowledged, live_turn,
                open_calls_turn, open_calls_model_call)
             VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                schema::VERSION.into(),
                session.session_id.as_str().into(),
                session.created_at.into(),
                session.updated_at.into(),
                (&session.agent_context).into(),
                (&session.conversation_context).into(),
                (&session.mode).into(),
                session.client_tools.as_ref().into(),
                session.solution_context.as_ref().into(),
                session.solution_context_sent.as_ref().into(),
                session.tools_sent.as_ref().into(),
                session.chain_head.as_ref().into(),
                session.acknowledged.into(),
                session.live_turn.into(),
                session.open_calls.map(|open| open.turn).into(),
                session.open_calls.map(|open| open.model_call).into(),
            ],
        )?;
        self.memory.session.replace(Some(session.clone()));
        Ok(())
    }
}
