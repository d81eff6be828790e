//! Reads one answer of the model service: as it comes while somebody listens to it, and otherwise in
//! what came within a while. Each reading has its price, and an answer is hundreds of events.
//!
//! Architecture Invariant: whatever has come can be read, whatever becomes of the connection.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};

use futures_util::future::{Either, select};

use super::Endpoint;
use crate::ports::{CHUNK_BYTES, Platform, ResponseBody};
use crate::responses_api::{Outcome, Progress, ResponseStream, StreamFault, StreamLimits};

/// Sizes that an answer may have. A terminal event repeats the answer, instructions and tools.
const LIMITS: StreamLimits =
    StreamLimits { event_bytes: 32 * 1024 * 1024, answer_bytes: 16 * 1024 * 1024 };

/// The least that is read where an event may begin, in bytes: the runtime gives the first bytes of an
/// HTTP chunk apart from the rest, and no event is this short.
const EVENT_BYTES: u64 = 32;

/// The shortest sign of life of a service, `:` and a blank line, in bytes, and how often it is sent at
/// least, in milliseconds. Whatever is read at once must have come before that counts as silence.
const SIGN_OF_LIFE: (u64, u64) = (3, 10_000);

/// The longest that an answer which nobody listens to is left unread, in milliseconds: a service whose
/// connection stays open behind its last event has answered, and one that still sends is not silent.
pub(super) const PAUSE_MS: u64 = 250;

/// Who hears the text of a call as it grows.
pub trait Audience {
    /// Takes what has come.
    fn hear(&mut self, progress: Progress);

    /// Ready when somebody waits for the text as it grows.
    fn poll_listens(&self, context: &mut Context<'_>) -> Poll<()>;
}

/// What kept an answer from being read.
pub(super) enum ReadFault {
    /// The connection broke.
    Broken,
    /// It is not what the Responses API sends, or ended early.
    Unreadable(StreamFault),
}

impl From<StreamFault> for ReadFault {
    fn from(fault: StreamFault) -> Self {
        Self::Unreadable(fault)
    }
}

/// Reads an answer to its last event. `last_heard` is when the service was heard last.
pub(super) async fn read_answer<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    mut body: P::Body,
    last_heard: &Cell<u64>,
    audience: &mut dyn Audience,
) -> Result<Outcome, ReadFault> {
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
    let (progress, outcome) = stream.finish()?;
    if !matches!(outcome, Outcome::Failed { .. }) {
        report(audience, progress);
    }
    Ok(outcome)
}

/// Completes when nothing was heard for `limit_ms`. One timer for each such span, not for each chunk.
pub(super) async fn silence<P: Platform>(platform: &P, limit_ms: u64, last_heard: &Cell<u64>) {
    loop {
        let silent_for = platform.now_ms().saturating_sub(last_heard.get());
        if silent_for >= limit_ms {
            return;
        }
        platform.sleep(limit_ms - silent_for).await;
    }
}

/// How what is to come of an answer is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Nobody listens.
    AfterPauses,
    /// Somebody listens.
    AsItComes,
    /// Nothing is to come any more.
    AllIsThere,
}

/// Lets an answer come that nobody listens to, for a while.
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

fn report(audience: &mut dyn Audience, progress: Progress) {
    if progress != Progress::Nothing {
        audience.hear(progress);
    }
}

fn event_bytes(endpoint: &Endpoint) -> usize {
    let (bytes, every_ms) = SIGN_OF_LIFE;
    let least = (endpoint.idle_timeout_ms / every_ms).saturating_mul(bytes).clamp(1, EVENT_BYTES);
    usize::try_from(least).unwrap_or(1)
}
