//! The reading of a background response (interface §4, Background responses): a cut is followed by another request for
//! the events behind the newest one that was taken, and, where the service streams no more, by polls. No request makes
//! the model work anew. A turn that lost its instance reads its response again from the first event.

use super::call_recorder::CallRecorder;
use super::conversation_input::Input;
use super::exchange::Exchange;
use super::live_segment::LiveSegment;
use super::patience::{MAX_RETRY_AFTER_MS, spread_ms, wait_ms};
use super::transcript::{GoingResponse, Transcript};
use crate::contract::{Progress, Result};
use crate::llm_call::{CallFailure, Endpoint, Reading, UsableOutput, read_response};
use crate::persistence::PendingResponse;
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::{Reasoner, RunningTurn, SEGMENTS_OF_AN_ATTEMPT};
use crate::responses_api::{ResponseStream, StreamLimits};

/// The waits before the events are read on, in milliseconds, counted anew after each event that came.
const CUT_WAITS_MS: [u64; 5] = [200, 1_000, 3_000, 9_000, 27_000];

/// The waits before the first polls, in milliseconds.
const POLL_WAITS_MS: [u64; 4] = [1_000, 2_000, 4_000, 8_000];

/// The wait before each later poll, in milliseconds.
const POLL_EVERY_MS: u64 = 10_000;

/// The polls in a row that may be unanswered.
const UNANSWERED_POLLS: usize = 5;

/// For how long a service streams the events of a response again, in milliseconds.
const STREAMED_MS: u64 = 300_000;

/// How far the reading of a response is.
#[derive(Debug, Default)]
struct Pace {
    /// Cuts since the newest event.
    cuts: usize,
    /// The newest event at the latest cut.
    newest: Option<u64>,
    /// The service is asked for the response object from now on.
    polls: bool,
    polled: usize,
    unanswered: usize,
}

impl Pace {
    /// The wait after a reading that gave no output, in milliseconds, and whether a watcher is told of it; `None` where
    /// nothing follows. `asked_ms` is the wait for which the service asks.
    fn next(
        &mut self,
        reading: Reading,
        stream: &ResponseStream,
        age_ms: u64,
        asked_ms: Option<u64>,
    ) -> Option<(u64, bool)> {
        let newest = stream.newest_event();
        let is_fruitless = newest == self.newest;
        if !is_fruitless {
            (self.newest, self.cuts) = (newest, 0);
        }
        let streams_no_more = match reading {
            Reading::Ended | Reading::Refused | Reading::GivenUp => return None,
            Reading::GoesOn | Reading::Denied => true,
            Reading::Silent => is_fruitless,
            Reading::Cut => self.cuts >= CUT_WAITS_MS.len(),
        };
        // Events without numbers cannot be told from those that were taken.
        let is_numbered = newest.is_some() || stream.events == 0;
        let began_to_poll =
            !self.polls && (streams_no_more || age_ms >= STREAMED_MS || !is_numbered);
        self.polls |= began_to_poll;
        let (waits, number) = match self.polls {
            false => (&CUT_WAITS_MS[..], &mut self.cuts),
            true => (&POLL_WAITS_MS[..], &mut self.polled),
        };
        let wait_ms = waits.get(*number).copied().unwrap_or(POLL_EVERY_MS);
        *number += 1;
        if self.polls && !began_to_poll {
            self.unanswered = if reading == Reading::GoesOn { 0 } else { self.unanswered + 1 };
        }
        // A service in trouble that asks for a moment each time would have used up all requests in one.
        let wait_ms = wait_ms.max(asked_ms.unwrap_or(0));
        let goes_on = wait_ms <= MAX_RETRY_AFTER_MS && self.unanswered < UNANSWERED_POLLS;
        goes_on.then_some((wait_ms, !self.polls || began_to_poll))
    }
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Reads a response on after `ending`, for as long as it may go on and the service answers.
    pub(super) async fn read_on(
        &self,
        endpoint: &Endpoint,
        stream: &mut ResponseStream,
        mut ending: Result<UsableOutput, CallFailure>,
        recorder: &mut CallRecorder<'_, P, D>,
    ) -> Result<UsableOutput, CallFailure> {
        let (platform, mut pace) = (self.platform.as_ref(), Pace::default());
        loop {
            let Err(failure) = &ending else { return ending };
            let Some(GoingResponse { id, created_at }) = self.going_response() else {
                return ending;
            };
            let (reading, age_ms) = (failure.of_reading(), self.since(created_at));
            let asked_ms = failure.retry_after_ms();
            let next = pace.next(reading, stream, age_ms, asked_ms);
            let Some((mut after_ms, is_news)) = next else { return ending };
            if asked_ms.is_some() {
                after_ms = spread_ms(after_ms, platform.random());
            }
            if is_news {
                let resumed = Some(self.count_resumption());
                let retry = Progress::Retry { after_ms, resumed, fallback: false };
                self.show_activity(recorder.running, retry);
            }
            platform.sleep(after_ms).await;
            self.hold_if_stopped().await;
            ending = read_response(platform, endpoint, &id, pace.polls, stream, recorder).await;
        }
    }

    /// Goes on with the response of a call that an earlier instance, or an earlier attempt, has left. `None` where that
    /// came to nothing and the call is to be made again.
    pub(crate) async fn resume_call(
        &self,
        running: &mut RunningTurn<'_>,
        pending: PendingResponse,
    ) -> Result<Option<(Input, Exchange)>> {
        // An earlier instance may have lost the lease out of which the response is paid. It is read on whatever is left.
        _ = self.take_lease(running).await;
        let transcript = Transcript::of_pending(&pending)?;
        let segment = transcript.segment;
        self.run.newest_call.set(self.run.newest_call.get().max(transcript.number));
        // The text of another response may not grow behind that of this one.
        let next = &mut running.turn.progress.next_segment;
        *next = (*next).max(segment.saturating_add(SEGMENTS_OF_AN_ATTEMPT));
        let exchange = self.resumed_exchange(running, &pending, transcript).await?;
        let input = Input::unsent(&self.store, running)?;
        let Err(failure) = &exchange.ending else { return Ok(Some((input, exchange))) };
        let is_another_left = running.services.is_another_left();
        let wait = wait_ms(failure, 1, self.platform.random(), is_another_left)
            .filter(|_| exchange.transcript.goes_on.is_none());
        let Some(after_ms) = wait.filter(|_| !exchange.shown || running.live_text.forget(segment))
        else {
            return Ok(Some((input, exchange)));
        };
        let Exchange { transcript, ending, .. } = exchange;
        if let Err(failure) = ending {
            self.record_failure(running, transcript, failure)?;
        }
        self.show_activity(running, Progress::again(after_ms));
        self.interruption.unless_requested(self.platform.sleep(after_ms)).await;
        Ok(None)
    }

    /// Reads the response of a call from its first event, or polls it.
    pub(super) async fn read_again(
        &self,
        running: &RunningTurn<'_>,
        pending: &PendingResponse,
        transcript: Transcript,
    ) -> Result<Exchange> {
        let platform = self.platform.as_ref();
        let endpoint = Endpoint::of(platform, &self.deployment, running.service())?;
        let segment = transcript.segment;
        running.live_text.read_again(segment);
        let live = LiveSegment::new(running.live_text, segment, self.welcome(running));
        let stores_ids = transcript.stored && running.service().delete_stored;
        self.run.under_way.replace(Some(transcript));
        self.count_resumption();
        let live = Some(live);
        let mut recorder =
            CallRecorder { reasoner: self, running, stores_ids, named: 0, background: true, live };
        let ending = self
            .unless_interrupted(true, async {
                let mut stream = ResponseStream::resumable(StreamLimits::RESPONSE);
                let id = &pending.response_id;
                let polls = self.since(pending.created_at) >= STREAMED_MS;
                let ending =
                    read_response(platform, &endpoint, id, polls, &mut stream, &mut recorder).await;
                self.read_on(&endpoint, &mut stream, ending, &mut recorder).await
            })
            .await;
        self.hold_if_stopped().await;
        self.judge_service(running, ending.as_ref().err(), None, &mut recorder);
        self.conclude(recorder, ending, 1)
    }

    /// The response of the call that is under way, as far as it may go on at the service.
    pub(super) fn going_response(&self) -> Option<GoingResponse> {
        self.run.under_way.borrow().as_ref()?.goes_on.clone()
    }

    fn count_resumption(&self) -> u32 {
        self.run.report.borrow_mut().resumed += 1;
        let mut under_way = self.run.under_way.borrow_mut();
        let Some(transcript) = under_way.as_mut() else { return 0 };
        transcript.resumed += 1;
        transcript.resumed
    }
}
