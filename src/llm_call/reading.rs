//! Reads one response of the model service: piece by piece while somebody listens, otherwise after
//! pauses. Each read crosses into JavaScript, and a response has hundreds of events.
//!
//! Architecture Invariant: bytes that have arrived are read even when the connection breaks after them.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use futures_util::future::{Either, select};

use super::endpoint::Endpoint;
use super::failure::Cause;
use crate::ports::{CHUNK_BYTES, Platform, ResponseBody};
use crate::responses_api::{
    ResponseEnd, ResponseFacts, ResponseStream, StreamFault, StreamLimits, TextProgress,
};

/// The fewest bytes that a read waits for where an event may begin. The runtime's first read of an HTTP
/// chunk returns a few bytes of it; waiting for 32 spares that read, and every event is longer. With 1 byte in its place a watched
/// turn takes a fifth more processor time (`make bench ONLY=burst,paced`).
const EVENT_BYTES: u64 = 32;

/// The shortest sign of life of a service, `:` and a blank line, in bytes, and the longest interval
/// between two, in milliseconds. A read waits for no more bytes than a service that only shows signs of
/// life sends before it counts as silent.
const SIGN_OF_LIFE: (u64, u64) = (3, 10_000);

/// The work of one slice, as [`ResponseStream::work`] counts it, after which others run: all tenants of an isolate share
/// one thread, and a service may send faster than it is read, a thousand times faster where it compresses. A slice
/// stays under 4 ms by count and not by the clock, which on Workers stands still while a program computes: a unit takes 4
/// to 7 ns there, comments and small events alike. An event is read in one piece, however long it is.
const SLICE_WORK: usize = 512 * 1024;

/// The bytes that are read between two looks at the work: they hold some hundred events at most.
const PIECE_BYTES: usize = 4096;

/// The longest pause between two reads while nobody listens, in milliseconds. It is short because a
/// service may leave its connection open after the last event, and because the silence counts from the
/// last read.
const PAUSE_MS: u64 = 250;

/// Observes a call while its response is read.
pub trait CallObserver {
    /// Takes the next piece of text, commentary or reasoning.
    fn on_text(&mut self, progress: TextProgress);

    /// Takes the number of bytes of text and calls that have come of the response, whenever there are more.
    fn on_output(&mut self, _bytes: usize) {}

    /// Takes the service's id for the request, once a response has begun.
    fn on_request_id(&mut self, _id: Option<&str>) {}

    /// Takes what the service has reported about the response itself, whenever it is more than before.
    fn on_report(&mut self, reported: &ResponseFacts);

    /// Whether a report has to be durable before the response is read on.
    fn stores_reports(&self) -> bool;

    /// Becomes ready when a client watches the text as it grows.
    fn poll_watched(&self, context: &mut Context<'_>) -> Poll<()>;
}

/// What was heard last of the service, by which its silence counts.
pub(super) struct LastHeard<'a, P> {
    pub(super) platform: &'a P,
    pub(super) endpoint: &'a Endpoint,
    /// When the request went out, in milliseconds.
    pub(super) began_at: u64,
    /// When the last bytes came, in milliseconds.
    pub(super) last_heard: Cell<u64>,
    /// An event of the response has come.
    pub(super) has_events: Cell<bool>,
}

impl<P: Platform> LastHeard<'_, P> {
    /// Completes when no bytes came for the endpoint's limit, or no event in time where another service waits for the
    /// call, and returns that limit in milliseconds. Sets one timer for each such span, not for each chunk.
    pub(super) async fn silence(&self) -> u64 {
        let idle = self.endpoint.idle_timeout_ms;
        loop {
            let now = self.platform.now_ms();
            let left = |limit: u64, since: u64| (limit.saturating_sub(now - since.min(now)), limit);
            let silent = left(idle, self.last_heard.get());
            let first = self.endpoint.first_event_ms.filter(|_| !self.has_events.get());
            let first = first.map(|most| left(most.min(idle), self.began_at));
            let (left_ms, limit_ms) = first.map_or(silent, |first| first.min(silent));
            if left_ms == 0 {
                return limit_ms;
            }
            self.platform.sleep(left_ms).await;
        }
    }
}

/// Reads the response of one call.
pub(super) struct Reader<'a, P> {
    pub(super) heard: &'a LastHeard<'a, P>,
    pub(super) stream: &'a mut ResponseStream,
    pub(super) observer: &'a mut dyn CallObserver,
    /// What the service has reported about the response.
    pub(super) reported: ResponseFacts,
}

impl<P: Platform> Reader<'_, P> {
    /// Reads a response to its last event.
    pub(super) async fn read_output(&mut self, mut body: P::Body) -> Result<ResponseEnd, Cause> {
        let LastHeard { platform, endpoint, last_heard, has_events, .. } = self.heard;
        let mut pacing = Pacing::AfterPauses;
        let mut text_has_begun = false;
        let (mut more_is_there, mut is_broken) = (false, false);
        let (mut slice_began, mut is_long) = (self.stream.work(), false);
        while !self.stream.is_finished() {
            // An id that has to be kept is read as soon as it is there.
            let hurries = self.observer.stores_reports() && self.reported.response_id.is_none();
            let pauses = !more_is_there && !hurries;
            let all_is_there = pauses && self.pause(&mut pacing, &mut body).await;
            let at_least = if all_is_there {
                CHUNK_BYTES
            } else if self.stream.is_between_events() {
                event_bytes(endpoint)
            } else {
                // The rest of the event may be one byte, and the last that comes.
                1
            };
            let asked_at = platform.now_ms();
            let chunk = match body.chunk(at_least).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(_) => {
                    self.stream.take_in_held();
                    is_broken = true;
                    break;
                }
            };
            let now = platform.now_ms();
            last_heard.set(now);
            more_is_there = chunk.len() >= CHUNK_BYTES;
            // What comes with the first text is the response's beginning, which does not show its pace.
            let spoke_before = text_has_begun;
            let mut pushed = Ok(());
            for piece in chunk.chunks(PIECE_BYTES) {
                if self.stream.work().saturating_sub(slice_began) >= SLICE_WORK {
                    (slice_began, is_long) = (self.stream.work(), true);
                    platform.yield_to_others().await;
                }
                pushed = self.stream.push(piece, &mut |progress| {
                    text_has_begun |=
                        matches!(progress, TextProgress::Text(_) | TextProgress::Replaced(_));
                    self.observer.on_text(progress);
                });
                self.observer.on_output(self.stream.heard_bytes());
                if pushed.is_err() {
                    break;
                }
            }
            has_events.set(self.stream.events > 0);
            self.report().await;
            pushed.map_err(Cause::Unreadable)?;
            if pacing != Pacing::AfterPauses {
                let waited = now.saturating_sub(asked_at);
                pacing = if spoke_before && waited < endpoint.delta_interval_ms {
                    Pacing::Joined { last_read: now }
                } else {
                    Pacing::AsItComes
                };
            }
        }
        body.drain();
        // The end is heard, too: no silence cuts the reading of what has come, whose end can be taken once.
        last_heard.set(platform.now_ms());
        has_events.set(true);
        // A response whose last event has come is whole, however the connection ended behind it.
        let end = self.end().await.map_err(|fault| match is_broken {
            true => Cause::BrokenOff,
            false => Cause::Unreadable(fault),
        })?;
        if is_long {
            // Reading a large output was one piece of work; what becomes of the output is another.
            platform.yield_to_others().await;
        }
        Ok(end)
    }

    /// Takes the end of a response of which nothing more comes, and passes on the text that only the end has.
    pub(super) async fn end(&mut self) -> Result<ResponseEnd, StreamFault> {
        let finished = self.stream.finish();
        self.report().await;
        let (progress, end) = finished?;
        if end.output().is_some() && progress != TextProgress::Nothing {
            self.observer.on_text(progress);
        }
        Ok(end)
    }

    /// Reads a response object in one piece: the end of the response, if it has ended.
    pub(super) async fn read_object(&mut self, mut body: P::Body) -> Result<ResponseEnd, Cause> {
        let (mut object, limit) = (Vec::new(), StreamLimits::RESPONSE.event_bytes);
        while let Some(chunk) = body.chunk(CHUNK_BYTES).await.map_err(|_| Cause::BrokenOff)? {
            self.heard.last_heard.set(self.heard.platform.now_ms());
            object.extend_from_slice(&chunk);
            if object.len() > limit {
                return Err(Cause::Unreadable(StreamFault::OutputTooLarge(limit)));
            }
        }
        body.drain();
        let taken =
            self.stream.take_object(&object, &mut |progress| self.observer.on_text(progress));
        self.report().await;
        taken.map_err(Cause::Unreadable)
    }

    /// Passes on what the service has reported about the response since the last time.
    async fn report(&mut self) {
        if *self.stream.reported() == self.reported {
            return;
        }
        self.reported = self.stream.reported().clone();
        self.observer.on_report(&self.reported);
        if self.observer.stores_reports() {
            self.heard.platform.durable().await;
        }
    }

    /// Waits before the next read; true when the whole body has come.
    async fn pause(&self, pacing: &mut Pacing, body: &mut P::Body) -> bool {
        let LastHeard { platform, endpoint, .. } = self.heard;
        // The silence counts from the last read.
        let longest = endpoint.idle_timeout_ms / 2;
        let pause = match *pacing {
            Pacing::AsItComes => return false,
            Pacing::AfterPauses => PAUSE_MS.min(longest),
            Pacing::Joined { last_read } => {
                let next = last_read + endpoint.delta_interval_ms.min(longest);
                next.saturating_sub(platform.now_ms())
            }
        };
        body.gather();
        let watched = poll_fn(|context| match *pacing {
            Pacing::AfterPauses => self.observer.poll_watched(context),
            Pacing::AsItComes | Pacing::Joined { .. } => Poll::Pending,
        });
        let patience = pin!(platform.sleep(pause));
        match select(watched, select(pin!(body.gathered()), patience)).await {
            Either::Left(_) => {
                *pacing = Pacing::AsItComes;
                false
            }
            Either::Right((Either::Left((all_is_there, _)), _)) => all_is_there,
            Either::Right(_) => false,
        }
    }
}

/// The bytes that a read waits for where an event may begin.
fn event_bytes(endpoint: &Endpoint) -> usize {
    let (bytes, every_ms) = SIGN_OF_LIFE;
    let signs = endpoint.idle_timeout_ms / every_ms;
    usize::try_from(signs.saturating_mul(bytes).clamp(1, EVENT_BYTES)).unwrap_or(1)
}

/// How the next read of a response is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pacing {
    /// Nobody listens: it takes what came in a pause.
    AfterPauses,
    /// Somebody listens: it waits for the next bytes.
    AsItComes,
    /// Somebody listens, and text comes fast: it takes what came in the interval.
    Joined {
        /// When the last read ended.
        last_read: u64,
    },
}
