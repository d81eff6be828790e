//! The session's row as it was after one of its turns, for a fork. Where nothing followed, it is the row itself; else it is
//! derived from what the turns up to there have left.
//!
//! What cannot be known is left out, chain and window: the next model call then sends everything.

use serde::Deserialize;

use crate::contract::{Fault, Result, Usage};
use crate::persistence::entry_seq::EntrySeq;
use crate::persistence::records::{Chain, ChainEnd, Session, SessionState, Turn};
use crate::persistence::session_store::SessionStore;
use crate::persistence::window::{Rung, Window};
use crate::ports::Database;

/// A model output of the conversation.
struct LastOutput {
    seq: EntrySeq,
    turn: u64,
    /// Calls send it.
    is_kept: bool,
    /// The agent context whose service made it, where that is not the session's own.
    service: Option<String>,
}

/// What a transcript says of its call.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct PastCall {
    number: u64,
    summary: bool,
    interrupted: bool,
    stored: bool,
    unchained: Option<ChainEnd>,
    reduced: Option<Rung>,
    unanswered: bool,
    without_hosted_tools: bool,
    response_id: Option<String>,
    usage: Option<Usage>,
    fault: Option<serde::de::IgnoredAny>,
    /// The turn that made it.
    #[serde(skip)]
    turn: u64,
}

impl PastCall {
    /// Whether the call after it continued its response, or could have.
    fn is_gone_on_from(&self) -> bool {
        self.stored && self.unchained.is_none() && self.reduced.is_none() && !self.unanswered
    }

    fn gave_output(&self) -> bool {
        !self.summary && !self.interrupted && self.fault.is_none()
    }

    /// The prompt tokens that it reported, unless it asked for a summary.
    fn context_tokens(&self) -> Option<u64> {
        let reported =
            self.usage.filter(|usage| !self.summary && !usage.estimated && usage.prompt_tokens > 0);
        reported.map(|usage| usage.prompt_tokens)
    }
}

impl<D: Database> SessionStore<D> {
    /// The session as it was after a turn, with what belongs to a session of its own counted anew.
    pub(super) fn session_after(&self, turns: u64) -> Result<Session> {
        let mut session = self.session_of_turn()?;
        session.return_contexts();
        if turns < self.newest_ordinal()? {
            self.rewind(&mut session, turns)?;
        }
        session.open_turn = None;
        let state = &mut session.state;
        (state.total_tokens, state.unknown_responses, state.lost_calls) = (0, 0, 0);
        (state.incarnation, state.credentials_valid_from, state.lease) = (0, 0, None);
        Ok(session)
    }

    fn rewind(&self, session: &mut Session, turns: u64) -> Result<()> {
        session.rewind_contexts(turns);
        session.mode = self.mode_after(session, turns)?;
        session.open_calls = session.open_calls.filter(|open| open.turn <= turns);
        if session.state.waiting_steers_turn > turns {
            session.state.waiting_steers_turn = 0;
        }
        self.rewind_client_tools(session, turns)?;
        self.rewind_window(session, turns)?;
        self.rewind_solution_context(session, turns)?;
        self.rewind_chain(session, turns)
    }

    fn mode_after(&self, session: &Session, turns: u64) -> Result<String> {
        let newest =
            "SELECT new_mode AS mode FROM mode_history WHERE turn <= ? ORDER BY seq DESC LIMIT 1";
        let first =
            "SELECT previous_mode AS mode FROM mode_history WHERE turn > ? ORDER BY seq LIMIT 1";
        for statement in [newest, first] {
            if let Some(row) = self.rows_of_calls(statement, &[turns.into()])?.first() {
                return row.get("mode");
            }
        }
        Ok(session.mode.clone())
    }

    /// The client tools of the newest turn whose tools the model service took.
    fn rewind_client_tools(&self, session: &mut Session, turns: u64) -> Result<()> {
        let state = &mut session.state;
        (session.client_tools, state.client_tools_turn, state.untaken_tools_turn) = (None, 0, 0);
        for turn in self.turns_with("received_tools", "<=", turns)?.rev() {
            let turn = turn?;
            if turn.progress.received_tools.is_none() {
                continue;
            }
            if turn.progress.model_calls > 0 {
                session.client_tools.clone_from(&turn.progress.received_tools);
                state.client_tools_turn = turn.ordinal;
                break;
            }
            state.untaken_tools_turn = state.untaken_tools_turn.max(turn.ordinal);
        }
        Ok(())
    }

    /// The solution context that the newest turn brought. The next message shows it again where it is not sure that calls
    /// still send it.
    fn rewind_solution_context(&self, session: &mut Session, turns: u64) -> Result<()> {
        let brought = self.turns_with("solution_context", "<=", turns)?.rev();
        let mut brought = brought.map(|turn| Ok::<_, Fault>(turn?.progress.solution_context));
        let newest = brought.find_map(Result::transpose).transpose()?;
        session.solution_context = newest.filter(|hash: &String| !hash.is_empty());
        let state = &mut session.state;
        state
            .refused_solution_context
            .take_if(|hash| Some(&*hash) != session.solution_context.as_ref());
        let left_out = "SELECT seq FROM conversation
             WHERE turn <= ? AND kind = 'user' AND entry_state <> 'kept' LIMIT 1";
        let is_sure = state.refused_solution_context.is_none()
            && (state.window.from == EntrySeq::START
                || state.window.summary_message.is_some()
                || state.window.is_of_the_service())
            // A later turn may have had its context left out of these entries, too.
            && state.window.without_solution_context < self.newest_entry_up_to(turns)?
            && self.database.first(left_out, &[turns.into()])?.is_none();
        session.solution_context_sent = session.solution_context.clone().filter(|_| is_sure);
        Ok(())
    }

    /// The window before the first compaction that a later turn made; the whole conversation where nobody knows it.
    fn rewind_window(&self, session: &mut Session, turns: u64) -> Result<()> {
        let newest = self.newest_entry_up_to(turns)?;
        let rung = session.rung_at(newest);
        let present = std::mem::take(&mut session.state.window);
        let system_message = present.system_message;
        let mut windows = Vec::new();
        let mut is_known = true;
        for turn in self.turns_with("compactions", ">", turns)? {
            let progress = turn?.progress;
            match progress.window_before {
                Some(before) => windows.push(before),
                // A failed turn was repeated, or left out.
                None => is_known &= progress.compactions.is_empty(),
            }
        }
        // Of several that begin alike, the one before the first compaction: that of a turn that was repeated late may stand
        // first, and has what later ones had shortened.
        let first = |window: &Window| (window.from, window.shortened.is_some());
        let earlier = |kept, each| if first(&each) <= first(&kept) { each } else { kept };
        let mut window = windows.into_iter().rev().fold(present, earlier);
        let summary_of = match window.summary_message {
            None => 0,
            Some(seq) => {
                let turn = "SELECT turn AS number FROM conversation WHERE seq = ?";
                self.number(turn, &[seq.0.into()])?
            }
        };
        // A turn that was repeated after later ones has compacted those, too.
        is_known &= summary_of <= turns
            && window.from <= newest
            && !self.stands_later_before(window.from, turns)?;
        if !is_known {
            window = Window::default();
        }
        session.state.window_moved = !is_known;
        if window.is_of_the_service() && !session.began_under_present_contexts(turns) {
            (window.from, window.compacted_by) = (EntrySeq::START, None);
        }
        window.system_message = system_message;
        window.without_reasoning = window.without_reasoning.min(newest);
        window.without_solution_context = window.without_solution_context.min(newest);
        if let Some(shortened) = &mut window.shortened {
            shortened.through = shortened.through.min(newest);
        }
        session.state.window = window;
        session.rewind_to_rung(rung);
        Ok(())
    }

    /// The chain of the last output, where it holds nothing else than the turns up to there.
    fn rewind_chain(&self, session: &mut Session, turns: u64) -> Result<()> {
        let last = self.last_output(turns)?;
        let since = last.as_ref().map_or(1, |last| last.turn);
        let calls = self.past_calls(since, turns)?;
        let reported = calls.iter().rev().find(|call| call.context_tokens().is_some());
        let began_under_present =
            |last: &LastOutput| session.began_under_present_contexts(last.turn);
        let is_present = last.as_ref().is_none_or(began_under_present);
        let of_last = last.as_ref().filter(|_| is_present);
        session.turn_to(of_last.and_then(|last| last.service.as_deref()));
        session.drop_chain();
        let SessionState { chain, window, .. } = &mut session.state;
        let of_service = calls.last().filter(|_| is_present);
        *chain = Chain { ended: of_service.and_then(|call| call.unchained), ..Chain::default() };
        session.acknowledged = last.as_ref().map_or(EntrySeq::START, |last| last.seq);
        if let Some(last) = &last {
            let turn = self.turn_at(last.turn)?;
            chain.grown_at = turn.updated_at;
            let holds_more = self.stands_later_before(last.seq, turns)?;
            let made = calls.iter().rposition(|call| call.turn == last.turn && call.gave_output());
            let mut behind = calls.iter().skip(made.map_or(0, |made| made + 1));
            // Its own compaction may have come before the output or behind.
            let is_followed = behind.any(|call| call.turn == last.turn);
            let mut has_compacted = false;
            for turn in self.turns_with("compactions", "<=", turns)?.rev() {
                let turn = turn?;
                let can_be_behind =
                    turn.ordinal > last.turn || (turn.ordinal == last.turn && is_followed);
                if !can_be_behind || has_compacted {
                    break;
                }
                has_compacted = !turn.progress.compactions.is_empty();
            }
            let is_whole = is_present
                && last.is_kept
                && !holds_more
                && !has_compacted
                && window.without_reasoning < last.seq
                && window.system_message.is_none_or(|place| place < last.seq);
            let call = made.and_then(|made| calls.get(made));
            let is_partial = call.is_some_and(|call| call.without_hosted_tools);
            session.tools_sent = Some(turn.tools).filter(|_| !is_partial);
            let call = call.filter(|call| is_whole && call.is_gone_on_from());
            session.chain_head = call.and_then(|call| call.response_id.clone());
            session.state.window_moved |= has_compacted;
        } else {
            session.tools_sent = None;
        }
        session.state.context_tokens = reported.and_then(PastCall::context_tokens);
        Ok(())
    }

    /// The prompt that a fork has got is the first turn's, and stands behind all that the fork has copied.
    fn newest_entry_up_to(&self, turns: u64) -> Result<EntrySeq> {
        let newest = "SELECT MAX(seq) AS number FROM conversation
             WHERE turn <= ? AND kind <> 'system'";
        self.number(newest, &[turns.into()]).map(EntrySeq)
    }

    /// Whether an entry of a turn after an ordinal stands before a place.
    fn stands_later_before(&self, place: EntrySeq, turns: u64) -> Result<bool> {
        let statement = "SELECT seq FROM conversation WHERE turn > ? AND seq < ? LIMIT 1";
        let later = self.database.first(statement, &[turns.into(), place.0.into()])?;
        Ok(later.is_some())
    }

    fn last_output(&self, turns: u64) -> Result<Option<LastOutput>> {
        let statement = "SELECT seq, turn, entry_state, service FROM conversation
             WHERE turn <= ? AND kind = 'answer' ORDER BY seq DESC LIMIT 1";
        let Some(row) = self.database.first(statement, &[turns.into()])? else { return Ok(None) };
        let is_kept = row.get::<String>("entry_state")? == "kept";
        let (seq, turn, service) = (row.get("seq")?, row.get("turn")?, row.get("service")?);
        Ok(Some(LastOutput { seq, turn, is_kept, service }))
    }

    /// The model calls of some turns, in the order in which they were made.
    fn past_calls(&self, first: u64, last: u64) -> Result<Vec<PastCall>> {
        let mut calls = Vec::new();
        for turn in first..=last {
            for call in self.call_records::<PastCall>(turn)? {
                calls.push(PastCall { turn, ..call? });
            }
        }
        calls.sort_by_key(|call| call.number);
        Ok(calls)
    }

    /// The turns before or after an ordinal whose progress may have a member, oldest first. Each is read when it is asked
    /// for: a row may hold texts as long as an answer.
    pub(super) fn turns_with(
        &self,
        member: &str,
        which: &str,
        ordinal: u64,
    ) -> Result<impl DoubleEndedIterator<Item = Result<Turn>>> {
        let statement = format!(
            "SELECT ordinal FROM turns
             WHERE ordinal {which} ? AND (INSTR(progress, '\"{member}\":') > 0 OR progress LIKE '@%')
             ORDER BY ordinal"
        );
        let rows = self.database.query(&statement, &[ordinal.into()])?;
        Ok(rows.into_iter().map(|row| self.turn_at(row.get("ordinal")?)))
    }
}
