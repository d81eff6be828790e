//! Background responses of the model service: they go on without their reader, can be read again for five minutes, asked
//! for, and cancelled.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use super::reply::http_error;
use super::reply::{Answer, Reply};
use super::response_stream::RenderedResponse;
use super::scripted_service::{HttpReply, Piece};

/// For how long a response can be streamed again, in milliseconds.
const STREAMED_MS: u64 = 300_000;

/// What becomes of a request to read a response again, instead of its whole rest.
#[derive(Clone, Debug)]
pub enum ReadAgain {
    /// The connection breaks after so many events.
    Breaks(usize),
    /// Nothing comes after so many events.
    Silent(usize),
    /// So many events come again that were asked not to come.
    Repeats(u64),
    /// So many events are left out.
    LeavesOut(u64),
    /// The events are those of another response.
    OfAnother,
    /// The response object has this status, whatever it had before.
    Stands(&'static str),
    Reply(Reply),
}

/// What becomes of a request to cancel a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReply {
    Status(u16),
    Unreachable,
}

/// The background responses of the service.
#[derive(Default)]
pub struct BackgroundResponses {
    made: RefCell<BTreeMap<String, Made>>,
    /// A request for one is refused.
    pub refusal: RefCell<Option<Reply>>,
    script: RefCell<VecDeque<ReadAgain>>,
    cancel_script: RefCell<VecDeque<CancelReply>>,
    /// Each request to read a response: `stream`, `stream after 3` or `object`.
    pub reads: RefCell<Vec<String>>,
    /// The ids of the responses whose cancellation was asked for.
    pub cancels: RefCell<Vec<String>>,
    /// The service loses all responses.
    pub loses: Cell<bool>,
}

/// A response that was made, or is being made.
struct Made {
    events: Vec<String>,
    response: Value,
    began_at: u64,
    /// The time between two events.
    pause_ms: u64,
    cancelled_at: Option<u64>,
}

impl Made {
    /// The events that have come by now.
    fn events_by(&self, now_ms: u64) -> usize {
        let until = self.cancelled_at.map_or(now_ms, |at| at.min(now_ms));
        let passed = until.saturating_sub(self.began_at);
        let come = passed.checked_div(self.pause_ms).map_or(usize::MAX, |count| count as usize);
        come.min(self.events.len())
    }

    fn object_by(&self, now_ms: u64) -> Value {
        let mut object = self.response.clone();
        if self.events_by(now_ms) < self.events.len() {
            let is_cancelled = self.cancelled_at.is_some();
            object["status"] = if is_cancelled { "cancelled" } else { "in_progress" }.into();
            (object["output"], object["usage"]) = (json!([]), Value::Null);
        }
        object
    }
}

impl BackgroundResponses {
    /// Queues what becomes of the next requests to read a response.
    pub fn script(&self, next: impl IntoIterator<Item = ReadAgain>) {
        self.script.borrow_mut().extend(next);
    }

    /// Drops what is queued.
    pub fn drop_script(&self) {
        self.script.take();
    }

    /// Queues the replies to the next cancellations.
    pub fn script_cancels(&self, next: impl IntoIterator<Item = CancelReply>) {
        self.cancel_script.borrow_mut().extend(next);
    }

    /// The number of responses that were made.
    pub fn made(&self) -> usize {
        self.made.borrow().len()
    }

    /// Begins a response.
    pub(crate) fn begin(&self, rendered: &RenderedResponse, answer: &Answer, now_ms: u64) {
        let made = Made {
            events: rendered.events.clone(),
            response: rendered.response.clone(),
            began_at: now_ms,
            pause_ms: answer.pause_ms,
            cancelled_at: None,
        };
        let id = rendered.response["id"].as_str().unwrap().to_owned();
        self.made.borrow_mut().insert(id, made);
    }

    /// The reply to a request to read a response; `delay_ms` is that of each event.
    pub(crate) fn read(
        &self,
        id: &str,
        query: &str,
        now_ms: u64,
        delay_ms: impl Fn() -> u64,
    ) -> Reply {
        let streams = query.contains("stream=true");
        let after = query.split("starting_after=").nth(1);
        let after: Option<u64> = after.map(|rest| rest.split('&').next().unwrap().parse().unwrap());
        self.reads.borrow_mut().push(match (streams, after) {
            (true, Some(after)) => format!("stream after {after}"),
            (true, None) => "stream".to_owned(),
            (false, _) => "object".to_owned(),
        });
        let next = self.script.borrow_mut().pop_front();
        if let Some(ReadAgain::Reply(reply)) = next {
            return reply;
        }
        let made = self.made.borrow();
        let Some(made) = made.get(id).filter(|_| !self.loses.get()) else {
            let message = format!("Response with id '{id}' not found.");
            return http_error(404, json!({ "message": message }), &[]);
        };
        if !streams {
            let mut object = made.object_by(now_ms);
            if let Some(ReadAgain::Stands(status)) = next {
                object["status"] = status.into();
            }
            return Reply::Http(HttpReply::new(200, &object.to_string()));
        }
        if now_ms.saturating_sub(made.began_at) > STREAMED_MS {
            let message =
                "This response can no longer be streamed because it is more than 5 minutes old";
            return http_error(400, json!({ "message": message }), &[]);
        }
        let mut from = after.map_or(0, |after| after + 1);
        match next {
            Some(ReadAgain::Repeats(number)) => from = from.saturating_sub(number),
            Some(ReadAgain::LeavesOut(number)) => from += number,
            _ => {}
        }
        let most = match next {
            Some(ReadAgain::Breaks(number) | ReadAgain::Silent(number)) => number,
            _ => usize::MAX,
        };
        let mut body = VecDeque::new();
        let mut at = now_ms;
        let whole =
            if made.cancelled_at.is_some() { made.events_by(now_ms) } else { made.events.len() };
        let events = made.events.iter().enumerate().take(whole).skip(from as usize);
        for (number, event) in events.take(most) {
            let comes_at = made.began_at + made.pause_ms * (number as u64 + 1);
            body.push_back(Piece::Silence(comes_at.saturating_sub(at) + delay_ms()));
            at = at.max(comes_at);
            let event = match next {
                Some(ReadAgain::OfAnother) => event.replace(id, "resp_another"),
                _ => event.clone(),
            };
            body.push_back(Piece::Bytes(event.into_bytes()));
        }
        match next {
            Some(ReadAgain::Breaks(_)) => body.push_back(Piece::Broken),
            Some(ReadAgain::Silent(_)) => body.push_back(Piece::EndlessSilence),
            _ => {}
        }
        Reply::Http(HttpReply::in_pieces(200, body))
    }

    /// The status of a request to cancel a response; `None` where the service cannot be reached.
    pub(crate) fn cancel(&self, id: &str, now_ms: u64) -> Option<u16> {
        self.cancels.borrow_mut().push(id.to_owned());
        match self.cancel_script.borrow_mut().pop_front() {
            Some(CancelReply::Unreachable) => return None,
            Some(CancelReply::Status(status)) => return Some(status),
            None => {}
        }
        let mut made = self.made.borrow_mut();
        let Some(made) = made.get_mut(id) else { return Some(404) };
        if made.events_by(now_ms) == made.events.len() {
            return Some(400);
        }
        made.cancelled_at.get_or_insert(now_ms);
        Some(200)
    }
}
