//! A conversation that is too long for the model is compacted, and the call is made again (interface §10).
//!
//! A compaction is one durable step: it adds the message that stands for older turns, and moves the window by
//! which the conversation is sent. No entry is changed. Each reduction (`plan.rs`) makes the input strictly
//! smaller, and their number is fixed, so a turn ends with an output, or because it does not fit even alone.

mod plan;
mod summary;

use plan::{Layout, next_window};
pub(super) use plan::{REDUCTIONS, Reduction};
use summary::Summary;

use futures_util::FutureExt;
use serde_json::value::RawValue;

use super::model_call::{BYTES_PER_TOKEN, Input, tokens};
use super::running_turn::{Reasoner, RunningTurn};
use crate::catalog::CompactionBy;
use crate::composition::{compose_summary_message, estimated_bytes, shows_solution_context};
use crate::contract::{Progress, Result, UserWarning};
use crate::persistence::{
    CompactionReason, CompactionRecord, Entry, EntryKind, EntrySeq, TurnProgress, Window,
};
use crate::ports::{Database, Platform};
use crate::responses_api::{is_compaction, since_compaction};

/// What a summary has to save at least, in bytes: it costs a model call.
const WORTH_A_SUMMARY: usize = 1024;

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Compacts a conversation whose estimated length has reached the agent context's threshold, and returns
    /// the input of the call that comes next.
    pub(super) async fn within_threshold(
        &self,
        running: &mut RunningTurn<'_>,
        input: Input,
    ) -> Result<Input> {
        let compaction = &running.agent.compaction;
        let Some(threshold) = compaction.threshold.filter(|_| compaction.by == CompactionBy::Own)
        else {
            return Ok(input);
        };
        let state = &running.session.state;
        // The model service has counted all but what is new, unless another window came since.
        let reached = match state.context_tokens.filter(|_| !state.window_moved) {
            Some(counted) => {
                let seen = running.session.acknowledged;
                self.reaches(threshold, counted, &input, seen).await?
            }
            None => {
                let whole = Input::whole(&self.store, &state.window)?;
                self.reaches(threshold, 0, &whole, EntrySeq::START).await?
            }
        };
        if !reached {
            return Ok(input);
        }
        let whole = Input::whole(&self.store, &state.window)?.stored_bytes();
        let most = usize::try_from(u64::from(threshold) * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let half = Reduction::Turns { divisor: 2 };
        let reason = CompactionReason::Threshold;
        self.compact(running, half, whole.min(most), reason).boxed_local().await?;
        // Another service may have been asked for the summary, also in vain, and gets the conversation in another form.
        Input::unsent(&self.store, running)
    }

    /// Whether tokens that were counted and an input's entries after `seq` come to a threshold. The entries are
    /// read only when their stored length does.
    async fn reaches(
        &self,
        threshold: u32,
        counted: u64,
        input: &Input,
        seq: EntrySeq,
    ) -> Result<bool> {
        let reaches = |bytes: usize| counted.saturating_add(tokens(bytes)) >= u64::from(threshold);
        if !reaches(input.stored_bytes_after(seq)) {
            return Ok(false);
        }
        let mut weight = 0;
        for sent in input.entries.iter().filter(|sent| sent.entry.seq > seq) {
            self.yield_to_read(&sent.entry).await;
            self.each_item(&sent.entry, &mut |item| weight += estimated_bytes(item))?;
        }
        Ok(reaches(weight))
    }

    /// Makes one reduction; false when it would not make the input smaller. `bytes` is the length of the
    /// conversation that was too long.
    pub(super) async fn compact(
        &self,
        running: &mut RunningTurn<'_>,
        reduction: Reduction,
        bytes: usize,
        reason: CompactionReason,
    ) -> Result<bool> {
        let window = running.session.state.window.clone();
        let before = Input::whole(&self.store, &window)?;
        let sent = before.verbatim_entries();
        let layout = Layout {
            entries: &sent,
            acknowledged: running.session.acknowledged,
            turn: running.turn.ordinal,
        };
        let Some(mut next) = next_window(reduction, layout, &window, bytes) else {
            return Ok(false);
        };
        let before = before.extent(self.platform.as_ref(), &self.store).await?;
        // Where a window begins elsewhere than before, turns are left out, and no item of the service stands for them.
        let turns_left_out = next.turns_left_out + u64::from(next.from != window.from);
        let rest = Window { summary_message: None, turns_left_out, ..next.clone() };
        let rest = Input::whole(&self.store, &rest)?;
        let rest_extent = rest.extent(self.platform.as_ref(), &self.store).await?;
        let keeps_message = next.from == window.from
            && next.summary_message == window.summary_message
            && next.turns_summarised == window.turns_summarised;

        self.show_activity(running, Progress::Compaction);
        let mut summary = Summary::default();
        let mut message = None;
        if !keeps_message && reduction != Reduction::NoMessage {
            let context = self.unshown_solution_context(running, &rest).await?;
            let room = before.bytes.saturating_sub(rest_extent.bytes);
            let room = room.saturating_sub(context.as_ref().map_or(0, |text| 2 * text.len()));
            let leaving = self.leaving(&window, &next)?;
            let turns = leaving.iter().filter(|entry| entry.kind == EntryKind::User).count() as u64;
            if reduction.summarises() && room > WORTH_A_SUMMARY {
                let (piece, most) = (bytes / 2, room / 2);
                summary = self.summarise(running, &window, &leaving, piece, most).await?;
            }
            match &summary.text {
                Some(_) => {
                    next.turns_summarised += turns - summary.turns_left_out.min(turns);
                    next.turns_left_out += summary.turns_left_out.min(turns);
                }
                None => next.turns_left_out += turns,
            }
            let earlier = match &summary.text {
                None if next.turns_summarised > 0 => self.summary_of(&window)?,
                Some(_) | None => None,
            };
            let said = summary.text.as_deref().or(earlier.as_deref());
            message = compose_summary_message(said, next.turns_left_out, context.as_deref())?;
            next.summary_message = None;
        }
        // The next turn shows the solution context again, where only the summary message did.
        let owes_context = reduction == Reduction::NoMessage
            && self.unshown_solution_context(running, &rest).await?.is_some();
        let kept = if keeps_message { before.summary_message_bytes } else { 0 };
        let summary_message_bytes = message.as_ref().map_or(kept, |message| message.get().len());
        let bytes_after = rest_extent.bytes + summary_message_bytes;
        if bytes_after >= before.bytes && reduction != Reduction::LastNet {
            return Ok(false);
        }
        let record = CompactionRecord {
            reason,
            items_before: before.items,
            items_after: rest_extent.items + usize::from(summary_message_bytes > 0),
            turns_left_out: next.turns_left_out,
            summary_bytes: summary.text.as_deref().map_or(0, str::len),
            usage: summary.usage,
        };
        let message = message.map(|message| Box::<str>::from(message).into());
        let RunningTurn { session, turn, .. } = running;
        session.solution_context_sent.take_if(|_| owes_context);
        let now = self.platform.now_ms();
        self.store.record_compaction(session, turn, record, next, message, now)?;
        self.run.report.borrow_mut().compactions += 1;
        Ok(true)
    }

    /// What an output says of a compaction that the model service made; `None` without one.
    pub(super) async fn compaction_in(
        &self,
        running: &RunningTurn<'_>,
        output: &[Box<RawValue>],
    ) -> Result<Option<CompactionRecord>> {
        let Some(place) = output.iter().rposition(|item| is_compaction(item)) else {
            return Ok(None);
        };
        let before = Input::whole(&self.store, &running.session.state.window)?;
        let items: Vec<&RawValue> = output.iter().map(AsRef::as_ref).collect();
        Ok(Some(CompactionRecord {
            reason: CompactionReason::Service,
            items_before: before.extent(self.platform.as_ref(), &self.store).await?.items + place,
            items_after: since_compaction(&items).len(),
            turns_left_out: 0,
            summary_bytes: 0,
            usage: None,
        }))
    }

    /// The entries that one window sends and the next does not. What only the model service remembers is
    /// among them, since no summary here covers it yet.
    fn leaving(&self, window: &Window, next: &Window) -> Result<Vec<Entry>> {
        let from = match window.is_of_the_service() {
            true => Window::default(),
            false => window.clone(),
        };
        let mut entries = Input::whole(&self.store, &from)?.verbatim_entries();
        entries.retain(|entry| entry.seq < next.from);
        Ok(entries)
    }

    /// The session's solution context, when no entry of this input shows it.
    async fn unshown_solution_context(
        &self,
        running: &RunningTurn<'_>,
        sent: &Input,
    ) -> Result<Option<String>> {
        let session = &running.session;
        let latched = session.solution_context.as_ref();
        let Some(hash) = latched.filter(|_| !session.solution_context_is_refused()) else {
            return Ok(None);
        };
        let without = session.state.window.without_solution_context;
        let mut entries = sent.verbatim_entries();
        entries.retain(|entry| entry.kind == EntryKind::User && entry.seq > without);
        for entry in entries {
            let mut shows = false;
            self.yield_to_read(&entry).await;
            self.each_item(&entry, &mut |item| shows |= shows_solution_context(item))?;
            if shows {
                return Ok(None);
            }
        }
        self.store.text(hash).map(Some)
    }
}

/// The warning about the turn's compactions; `None` without one. `last` is not recorded yet.
pub(super) fn user_warning(
    progress: &TurnProgress,
    window: &Window,
    last: Option<&CompactionRecord>,
) -> Option<UserWarning<'static>> {
    let before = progress.window_before.as_ref().or(last.map(|_| window))?;
    Some(UserWarning::Compacted {
        turns_summarised: window.turns_summarised.saturating_sub(before.turns_summarised),
        turns_left_out: window.turns_left_out.saturating_sub(before.turns_left_out),
        shortened: window.shortened != before.shortened,
    })
}
