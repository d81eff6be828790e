//! Reads one response of the model service: piece by piece while somebody listens, otherwise in
//! pauses. A read crosses into JavaScript, and a response is hundreds of events.
//!
//! Architecture Invariant: bytes that have arrived are read even when the connection breaks after them.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use futures_util::future::{Either, select};

use super::endpoint::Endpoint;
use crate::ports::{CHUNK_BYTES, Platform, ResponseBody};
use crate::responses_api::{ResponseEnd, ResponseStream, StreamFault, StreamLimits, TextProgress};

/// Bounds of a response. A terminal event repeats the output, the instructions and the tools.
const LIMITS: StreamLimits =
    StreamLimits { event_bytes: 32 * 1024 * 1024, output_bytes: 16 * 1024 * 1024 };

/// The least that is read where an event may begin, in bytes: the runtime gives the first bytes of an
/// HTTP chunk apart from the rest, and no event is this short.
const EVENT_BYTES: u64 = 32;

/// The shortest sign of life of a service, `:` and a blank line, in bytes, and how often it is sent at
/// least, in milliseconds. Whatever is read at once must have come before that counts as silence.
const SIGN_OF_LIFE: (u64, u64) = (3, 10_000);

/// The longest pause between two reads while nobody listens, in milliseconds. It stays short because a
/// service may leave its connection open after the last event, and because the silence is measured
/// from the last read.
pub(super) const PAUSE_MS: u64 = 250;

/// Receives the text of a call as it grows.
pub trait Audience {
    /// Takes the next piece of text.
    fn hear(&mut self, progress: TextProgress);

    /// Ready when somebody waits for the text as it grows.
    fn poll_listens(&self, context: &mut Context<'_>) -> Poll<()>;
}

/// Why a response could not be read.
pub(super) enum ReadFault {
    /// The connection broke.
    Broken,
    /// The body is not what the Responses API sends, or ended early.
    Unreadable(StreamFault),
}

impl From<StreamFault> for ReadFault {
    fn from(fault: StreamFault) -> Self {
        Self::Unreadable(fault)
    }
}

/// Reads a response to its last event, and notes in `last_heard` when bytes came last.
pub(super) async fn read_output<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    mut body: P::Body,
    last_heard: &Cell<u64>,
    audience: &mut dyn Audience,
) -> Result<ResponseEnd, ReadFault> {
    let mut stream = ResponseStream::new(LIMITS);
    let mut manner = Manner::AfterPauses;
    let mut more_is_there = false;
    while !stream.is_finished() {
        if manner == Manner::AfterPauses && !more_is_there {
            manner = pause(platform, endpoint, &mut body, audience).await;
        }
        let at_least = if manner == Manner::AllIsThere {
            CHUNK_BYTES
        } else if stream.is_between_events() {
            event_bytes(endpoint)
        } else {
            // The rest may be one byte, and the last that comes.
            1
        };
        let chunk = match body.chunk(at_least).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(_) => return Err(ReadFault::Broken),
        };
        last_heard.set(platform.now_ms());
        more_is_there = chunk.len() >= CHUNK_BYTES;
        report(audience, stream.push(&chunk)?);
    }
    body.finish();
    let (progress, end) = stream.finish()?;
    if !matches!(end, ResponseEnd::Failed { .. }) {
        report(audience, progress);
    }
    Ok(end)
}

/// Completes when nothing was heard for `limit_ms`. Sets one timer for each such span, not for each
/// chunk.
pub(super) async fn silence<P: Platform>(platform: &P, limit_ms: u64, last_heard: &Cell<u64>) {
    loop {
        let silent_for = platform.now_ms().saturating_sub(last_heard.get());
        if silent_for >= limit_ms {
            return;
        }
        platform.sleep(limit_ms - silent_for).await;
    }
}

/// How the rest of a response is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Nobody listens.
    AfterPauses,
    /// Somebody listens.
    AsItComes,
    /// All of it has arrived.
    AllIsThere,
}

/// Waits before the next read, and says how to go on reading.
async fn pause<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: &mut P::Body,
    audience: &dyn Audience,
) -> Manner {
    let listens = poll_fn(|context| audience.poll_listens(context));
    let patience = platform.sleep(PAUSE_MS.min(endpoint.idle_timeout_ms / 2));
    let manner = match select(listens, select(pin!(body.arrived()), pin!(patience))).await {
        Either::Left(_) => Manner::AsItComes,
        Either::Right((Either::Left((true, _)), _)) => Manner::AllIsThere,
        Either::Right(_) => Manner::AfterPauses,
    };
    if manner == Manner::AsItComes {
        body.attend();
    }
    manner
}

fn report(audience: &mut dyn Audience, progress: TextProgress) {
    if progress != TextProgress::Nothing {
        audience.hear(progress);
    }
}

fn event_bytes(endpoint: &Endpoint) -> usize {
    let (bytes, every_ms) = SIGN_OF_LIFE;
    let least = (endpoint.idle_timeout_ms / every_ms).saturating_mul(bytes).clamp(1, EVENT_BYTES);
    usize::try_from(least).unwrap_or(1)
}
