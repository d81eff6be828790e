//! Follows a model call while its response is read: its text goes to the watchers, its id and its cost into the
//! transcript of the call that is under way, and the id into the storage, too, where the service is to delete
//! the response with the session.

use std::task::{Context, Poll};

use super::live_segment::LiveSegment;
use crate::contract::Fault;
use crate::llm_call::CallObserver;
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};
use crate::responses_api::{ResponseReport, TextProgress};

/// The observer of one call and its repetitions.
pub(super) struct CallRecorder<'a, P, D> {
    pub(super) reasoner: &'a Reasoner<P, D>,
    pub(super) running: &'a RunningTurn<'a>,
    /// The ids of responses are stored.
    pub(super) stores_ids: bool,
    /// `None` where nobody but the product gets the text.
    pub(super) live: Option<LiveSegment<'a>>,
}

impl<P: Platform, D: Database> CallRecorder<'_, P, D> {
    /// The fault of a storage that did not keep an id.
    pub(super) fn storage_fault(&self) -> Result<(), Fault> {
        let under_way = self.reasoner.under_way.borrow();
        let fault = under_way.as_ref().and_then(|transcript| transcript.fault.clone());
        fault.map_or(Ok(()), Err)
    }

    /// Takes the text of a failed call back; false when some of it may have gone out to a client.
    pub(super) fn take_back(&mut self) -> bool {
        self.live.as_mut().is_none_or(LiveSegment::take_back)
    }
}

impl<P: Platform, D: Database> CallObserver for CallRecorder<'_, P, D> {
    fn on_text(&mut self, progress: TextProgress) {
        if let Some(live) = &mut self.live {
            live.add(progress);
        }
    }

    fn on_request_id(&mut self, id: Option<&str>) {
        if self.reasoner.trace.is_traced
            && let Some(transcript) = self.reasoner.under_way.borrow_mut().as_mut()
        {
            transcript.upstream_request_id = id.map(str::to_owned);
        }
    }

    fn on_report(&mut self, reported: &ResponseReport) {
        let mut under_way = self.reasoner.under_way.borrow_mut();
        let Some(transcript) = under_way.as_mut() else { return };
        if self.reasoner.trace.is_traced && transcript.first_chunk_ms.is_none() {
            transcript.first_chunk_ms = Some(self.reasoner.since(transcript.started_at));
        }
        transcript.set_report(reported);
        if let Some(id) = reported.response_id.as_ref().filter(|_| self.stores_ids) {
            let kept = self.reasoner.store.keep_response(id, &self.running.session.agent_context);
            transcript.fault = kept.err().or(transcript.fault.take());
        }
    }

    fn stores_reports(&self) -> bool {
        self.stores_ids
    }

    fn poll_watched(&self, context: &mut Context<'_>) -> Poll<()> {
        self.live.as_ref().map_or(Poll::Pending, |live| live.poll_watched(context))
    }
}
