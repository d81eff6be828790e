//! One call to the model service (AGN-027 §4, layer 2): the request, the text progress while the
//! response comes, and the fault for each kind of failure.

mod failures;
mod output;
mod pace;
mod requests;

use std::task::{Context, Poll};

use aptix_edge::contract::Fault;
use aptix_edge::llm_call::{CallFailure, CallObserver, Endpoint, UsableOutput, call};
use aptix_edge::responses_api::{ResponseFacts, ResponseStream, StreamLimits, TextProgress};
use bed::{HttpReply, LoneStep};
use serde_json::json;

/// The longest pause between two reads while nobody listens, in milliseconds.
const PAUSE_MS: u64 = 250;

const MESSAGE: &str = r#"{"type":"message","content":[{"type":"output_text","text":"Hello"}]}"#;
const CALL: &str = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(text: &str) -> String {
    let delta = json!({
        "type": "response.output_text.delta", "item_id": "m", "output_index": 0,
        "content_index": 0, "delta": text,
    });
    event(&delta.to_string())
}

/// The terminal event. `response` holds the members of its response object besides id and status.
fn ended(status: &str, response: &str) -> String {
    event(&format!(
        r#"{{"type":"response.{status}","response":{{"id":"resp_1","status":"{status}",{response}}}}}"#
    ))
}

fn completed(items: &str) -> String {
    ended("completed", &format!(r#""output":[{items}]"#))
}

/// The audience of a call. It listens from some moment on.
struct Ear<'a> {
    step: &'a LoneStep,
    from_ms: u64,
    heard: Vec<(u64, TextProgress)>,
    learned: Vec<ResponseFacts>,
}

impl<'a> Ear<'a> {
    fn listening_from(step: &'a LoneStep, from_ms: u64) -> Self {
        Self { step, from_ms, heard: Vec::new(), learned: Vec::new() }
    }
}

impl CallObserver for Ear<'_> {
    fn on_text(&mut self, progress: TextProgress) {
        self.heard.push((self.step.now_ms(), progress));
    }

    fn on_report(&mut self, reported: &ResponseFacts) {
        self.learned.push(reported.clone());
    }

    fn stores_reports(&self) -> bool {
        false
    }

    fn poll_watched(&self, _: &mut Context<'_>) -> Poll<()> {
        // The bed asks everybody whenever its clock moves.
        if self.step.now_ms() >= self.from_ms { Poll::Ready(()) } else { Poll::Pending }
    }
}

fn endpoint() -> Endpoint {
    Endpoint {
        base_url: "https://model.example/v1/".to_owned(),
        idle_timeout_ms: 1000,
        first_event_ms: None,
        delta_interval_ms: 16,
        headers: vec![("Authorization".to_owned(), "Bearer k".to_owned())],
        secrets: vec!["k".to_owned()],
        query: Vec::new(),
    }
}

/// What an audience heard, with the moments.
type Heard = Vec<(u64, TextProgress)>;

/// Makes one call that somebody listens to from some moment on.
fn heard_from(from_ms: u64, step: &LoneStep) -> (Heard, Result<UsableOutput, CallFailure>) {
    heard_every(16, from_ms, step)
}

/// Makes one call whose deltas may be joined for an interval.
fn heard_every(
    delta_interval_ms: u64,
    from_ms: u64,
    step: &LoneStep,
) -> (Heard, Result<UsableOutput, CallFailure>) {
    let mut ear = Ear::listening_from(step, from_ms);
    let endpoint = Endpoint { delta_interval_ms, ..endpoint() };
    let ending =
        step.run(call(&step.platform, &endpoint, "{}".to_owned(), &mut stream(), &mut ear));
    (ear.heard, ending)
}

/// Makes one call that somebody listens to; gives the progress.
/// A reader at its start.
fn stream() -> ResponseStream {
    ResponseStream::new(StreamLimits::RESPONSE)
}

fn called(step: &LoneStep) -> (Vec<TextProgress>, Result<UsableOutput, CallFailure>) {
    let (heard, ending) = heard_from(0, step);
    (heard.into_iter().map(|(_, progress)| progress).collect(), ending)
}

/// Makes one call, and demands the same end when nobody listens.
fn ended_with(reply: HttpReply) -> (Vec<TextProgress>, Result<UsableOutput, CallFailure>) {
    let (_, unheard) = heard_from(u64::MAX, &LoneStep::replying([reply.clone()]));
    let (told, ending) = called(&LoneStep::replying([reply]));
    assert_eq!(format!("{unheard:?}"), format!("{ending:?}"));
    (told, ending)
}

fn usable(reply: HttpReply) -> (Vec<TextProgress>, UsableOutput) {
    let (told, ending) = ended_with(reply);
    (told, ending.unwrap())
}

/// Makes one call that fails: whether a retry can succeed, and the fault.
fn failed(reply: HttpReply) -> (bool, Fault) {
    let failure = ended_with(reply).1.unwrap_err();
    (failure.retryable(), failure.into_fault(1))
}
