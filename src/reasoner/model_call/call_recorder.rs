//! Follows a model call while its response is read: its text goes to the watchers, its id and its cost into the
//! transcript of the call that is under way, and the id into the storage, too, where the service is to delete
//! the response with the session.

use std::task::{Context, Poll};

use super::live_segment::LiveSegment;
use super::transcript::{GoingResponse, Transcript};
use crate::contract::Result;
use crate::llm_call::CallObserver;
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};
use crate::responses_api::{ResponseFacts, TextProgress};

/// The most ids of responses that are kept of one call and its repetitions: a service may name another one in each event.
const MOST_IDS: u32 = 16;

/// The observer of one call and its repetitions.
pub(super) struct CallRecorder<'a, P, D> {
    pub(super) reasoner: &'a Reasoner<P, D>,
    pub(super) running: &'a RunningTurn<'a>,
    /// The ids of responses are stored.
    pub(super) stores_ids: bool,
    /// How many ids the service has named so far.
    pub(super) named: u32,
    /// The responses are made in the background: each is kept until its call is recorded.
    pub(super) background: bool,
    /// `None` where nobody but the product gets the text.
    pub(super) live: Option<LiveSegment<'a>>,
}

impl<P: Platform, D: Database + 'static> CallRecorder<'_, P, D> {
    /// The fault of a storage that did not keep an id.
    pub(super) fn storage_fault(&self) -> Result<()> {
        let under_way = self.reasoner.run.under_way.borrow();
        let fault = under_way.as_ref().and_then(|transcript| transcript.fault.clone());
        fault.map_or(Ok(()), Err)
    }

    /// Keeps a background response, once.
    fn keep_pending(&self, id: &str, transcript: &mut Transcript) -> Result<()> {
        if transcript.goes_on.as_ref().is_some_and(|known| known.id == id) {
            return Ok(());
        }
        let Reasoner { store, platform, .. } = self.reasoner;
        let going = GoingResponse { id: id.to_owned(), created_at: platform.now_ms() };
        let pending = transcript.pending(&going, store.newest_entry()?)?;
        transcript.goes_on = Some(going);
        let (turn, service) = (&self.running.turn, self.running.services.present());
        store.keep_pending(turn.ordinal, pending, service.id, self.stores_ids)
    }

    /// Notes durably that an attempt goes out behind others, whose response has no id yet.
    pub(super) fn begin_another(&self) -> Result<()> {
        let under_way = self.reasoner.run.under_way.borrow();
        let Some(before) = under_way.as_ref().and_then(|call| call.retries.last()) else {
            return Ok(());
        };
        let store = &self.reasoner.store;
        if let Some(id) = &before.response_id {
            store.pass_response(id)?;
        }
        let unknown =
            under_way.as_ref().map_or(0, |call| call.unknown_responses + u64::from(call.stored));
        store.note_attempts_without_id(self.running.turn.ordinal, unknown)
    }

    /// Takes the text of a failed call back; false when some of it may have gone out to a client.
    pub(super) fn take_back(&mut self) -> bool {
        self.live.as_mut().is_none_or(LiveSegment::take_back)
    }
}

impl<P: Platform, D: Database + 'static> CallObserver for CallRecorder<'_, P, D> {
    fn on_text(&mut self, progress: TextProgress) {
        if let Some(live) = &mut self.live {
            live.add(progress);
        }
    }

    fn on_output(&mut self, bytes: usize) {
        self.reasoner.note_under_way(|call| call.heard_bytes = bytes);
    }

    fn on_request_id(&mut self, id: Option<&str>) {
        if self.reasoner.trace.is_traced {
            let id = id.map(str::to_owned);
            self.reasoner.note_under_way(|call| call.upstream_request_id = id);
        }
    }

    fn on_report(&mut self, reported: &ResponseFacts) {
        let mut under_way = self.reasoner.run.under_way.borrow_mut();
        let Some(transcript) = under_way.as_mut() else { return };
        // Of a response that is read again, the first chunk came to an earlier instance.
        let is_first = transcript.first_chunk_ms.is_none() && transcript.resumed == 0;
        if self.reasoner.trace.is_traced && is_first {
            transcript.first_chunk_ms = Some(self.reasoner.since(transcript.started_at));
        }
        self.named += u32::from(transcript.response_id != reported.response_id);
        transcript.set_report(reported);
        let Some(id) = reported.response_id.as_ref().filter(|_| self.named <= MOST_IDS) else {
            return;
        };
        let kept = match (self.background, self.stores_ids) {
            (true, _) => self.keep_pending(id, transcript),
            (false, true) => {
                self.reasoner.store.keep_response(id, self.running.services.present().id)
            }
            (false, false) => Ok(()),
        };
        transcript.fault = kept.err().or(transcript.fault.take());
    }

    fn stores_reports(&self) -> bool {
        self.stores_ids || self.background
    }

    fn poll_watched(&self, context: &mut Context<'_>) -> Poll<()> {
        self.live.as_ref().map_or(Poll::Pending, |live| live.poll_watched(context))
    }
}
