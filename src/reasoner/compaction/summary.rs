//! The summary of turns that are no longer sent: model calls that read their record piece by piece, each with
//! the summary so far.
//!
//! They are calls like any other: bounded in time, repeated, cancelled with the turn, counted. What fails here
//! never fails the turn: without a summary the turns are left out.

use serde_json::value::RawValue;

use crate::composition::{
    ModelRequest, SUMMARY_PROMPT, add_to_record, compose_summary_input, summary_in,
};
use crate::contract::{Result, Usage};
use crate::llm_call::UsableOutput;
use crate::persistence::{Entry, EntryKind, Window};
use crate::ports::{Database, Platform};
use crate::reasoner::model_call::{Exchange, Input, ModelCall, SentForm, can_fall_back};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

/// The most model calls for one summary. What stands before the newest of so many pieces is left out.
const MAX_CALLS: usize = 16;

/// The pieces of the record that one call reads, in bytes.
const PIECE_BYTES: std::ops::RangeInclusive<usize> = 2 * 1024..=512 * 1024;

/// An entry that is read as a piece of work of its own, in bytes.
const SLICE_BYTES: usize = 64 * 1024;

/// The longest summary, in bytes of JSON. A longer one loses its end.
const MAX_BYTES: usize = 16 * 1024;

/// A summary, and what became of its calls.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// `None` when it could not be had.
    pub(super) text: Option<String>,
    /// Turns that it does not cover.
    pub(super) turns_left_out: u64,
    /// Of all its calls, which are recorded already.
    pub(super) usage: Option<Usage>,
}

/// What a call for a summary gave.
enum SummaryReply {
    Text(String),
    /// The record does not fit into the model's context window.
    TooLong,
    Failed,
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Has the model summarise these entries together with the summary of the window. In bytes, `piece` is what one call may
    /// read of the record, and `most` the longest summary that is of use.
    pub(super) async fn summarise(
        &self,
        running: &mut RunningTurn<'_>,
        window: &Window,
        entries: &[Entry],
        piece: usize,
        most: usize,
    ) -> Result<Summary> {
        let mut summary = Summary::default();
        let mut piece = piece.clamp(*PIECE_BYTES.start(), *PIECE_BYTES.end());
        let (skipped, covered) = newest_within(entries, MAX_CALLS.saturating_mul(piece));
        let is_message = |entry: &&Entry| entry.kind == EntryKind::User;
        summary.turns_left_out = skipped.iter().filter(is_message).count() as u64;
        let mut entries = covered.iter();
        let mut text = self.summary_of(window)?;
        let mut record = String::new();
        for calls_made in 0..=MAX_CALLS {
            while record.len() < piece
                && let Some(entry) = entries.next()
            {
                self.yield_to_read(entry).await;
                self.each_item(entry, &mut |item| add_to_record(&mut record, item))?;
            }
            let end = record.floor_char_boundary(piece);
            let Some(read) = record.get(..end).filter(|read| !read.is_empty()) else {
                summary.text = text;
                return Ok(summary);
            };
            if calls_made == MAX_CALLS {
                break;
            }
            let item = compose_summary_input(text.as_deref(), read)?;
            match self.call_for_summary(running, &item, &mut summary).await? {
                SummaryReply::Text(reply) => {
                    text = Some(begin_of(reply, most.min(MAX_BYTES)));
                    record.drain(..end);
                }
                SummaryReply::TooLong if piece > *PIECE_BYTES.start() => {
                    piece = (piece / 2).max(*PIECE_BYTES.start());
                }
                SummaryReply::TooLong | SummaryReply::Failed => return Ok(summary),
            }
        }
        Ok(summary)
    }

    /// Makes one of the calls, and records it.
    async fn call_for_summary(
        &self,
        running: &mut RunningTurn<'_>,
        item: &RawValue,
        summary: &mut Summary,
    ) -> Result<SummaryReply> {
        let input = Input::default();
        let began_at = running.services.fallback();
        let exchange = loop {
            self.take_lease(running).await?;
            // It offers no tools, and nothing of it is stored at the service: no later call continues a summary, and
            // none sends its reasoning.
            let request = ModelRequest {
                model: self.model(running),
                instructions: running.agent.compaction.prompt.as_deref().unwrap_or(SUMMARY_PROMPT),
                safety_identifier: self.safety_identifier(running),
                own_item: Some(item),
                ..ModelRequest::default()
            };
            let call = ModelCall { request, input: &input, live: None };
            let exchange = self.exchange(running, call).await?;
            if !can_fall_back(running, &exchange) {
                break exchange;
            }
            self.fall_back(running, exchange)?;
        };
        let Exchange { transcript, ending, .. } = exchange;
        if let Some(cost) = transcript.cost() {
            let before = summary.usage.unwrap_or_default();
            summary.usage = Some(before.saturating_add(cost));
        }
        match ending {
            Ok(UsableOutput { output, .. }) => {
                self.stay_with_service(running);
                self.record_attempt(running, &transcript)?;
                let is_one = !output.text.trim().is_empty() && !output.refusal;
                Ok(if is_one { SummaryReply::Text(output.text) } else { SummaryReply::Failed })
            }
            Err(failure) => {
                let too_long = failure.too_long();
                self.record_failure(running, transcript, failure)?;
                // The next call is another one: it begins with the first service that does not rest, and may ask all.
                if running.services.fallback() != began_at {
                    self.choose_service(running)?;
                }
                Ok(if too_long { SummaryReply::TooLong } else { SummaryReply::Failed })
            }
        }
    }

    /// The summary in a window's summary message.
    pub(super) fn summary_of(&self, window: &Window) -> Result<Option<String>> {
        let mut summary = None;
        if let Some(summary_message) = window.summary_message
            && let Some(entry) = self.store.entry(summary_message)?
        {
            self.each_item(&entry, &mut |item| summary = summary_in(item))?;
        }
        Ok(summary)
    }

    /// Lets others go on before a long entry is read.
    pub(super) async fn yield_to_read(&self, entry: &Entry) {
        if entry.bytes > SLICE_BYTES {
            self.platform.yield_to_others().await;
        }
    }

    /// Reads an entry's items as they are stored.
    pub(super) fn each_item(&self, entry: &Entry, read: &mut dyn FnMut(&RawValue)) -> Result<()> {
        for items in self.store.items(&[entry])? {
            SentForm::AsStored.each_item(&items, None, read)?;
        }
        Ok(())
    }
}

/// Divides entries so that the second part has at most so many bytes.
fn newest_within(entries: &[Entry], bytes: usize) -> (&[Entry], &[Entry]) {
    let mut room = bytes;
    let fits = |entry: &&Entry| match room.checked_sub(entry.bytes) {
        Some(rest) => {
            room = rest;
            true
        }
        None => false,
    };
    let newest = entries.iter().rev().take_while(fits).count();
    entries.split_at(entries.len() - newest)
}

/// The longest beginning of a text whose JSON has at most so many bytes.
fn begin_of(mut text: String, bytes: usize) -> String {
    let length = |text: &str| serde_json::to_string(text).map_or(usize::MAX, |json| json.len());
    while length(&text) > bytes.max(2) {
        text.truncate(text.floor_char_boundary(text.len() / 8 * 7));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_cut_to_the_bytes_that_it_takes_as_json() {
        assert_eq!(begin_of("short".to_owned(), 100), "short");
        for text in ["a".repeat(1_000), "\u{1}".repeat(1_000), "ä\n".repeat(500)] {
            for bytes in [0, 2, 3, 10, 100, 999] {
                let cut = begin_of(text.clone(), bytes);
                assert!(text.starts_with(&cut));
                assert!(serde_json::to_string(&cut).unwrap().len() <= bytes.max(2), "{bytes}");
            }
        }
    }
}
