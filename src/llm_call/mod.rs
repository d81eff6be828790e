//! Layer 2, LLM Call: exactly one call to the model service, and its answer made normal (AGN-027
//! §4, layer 2).
//!
//! Architecture Invariant: it changes no prompt and no tool, executes nothing, repeats nothing and
//! stores nothing. No other layer calls the model service.

mod failure;

use std::cell::Cell;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::contract::limits;
use crate::pipeline::{HttpMethod, HttpRequest, HttpResponse, Platform, ResponseBody};
use crate::responses_api::{
    ErrorBody, ModelAnswer, Outcome, Progress, ResponseStream, StreamFault, StreamLimits,
};

pub use failure::{CallFailure, Refusal};

/// Sizes that an answer may have. A terminal event repeats the answer, instructions and tools.
const LIMITS: StreamLimits =
    StreamLimits { event_bytes: 32 * 1024 * 1024, answer_bytes: 16 * 1024 * 1024 };

/// The least that is read where an event may begin, in bytes: the runtime gives the first bytes of an
/// HTTP chunk apart from the rest, and no event is this short.
const EVENT_BYTES: u64 = 32;

/// The shortest sign of life of a service, `:` and a blank line, in bytes, and how often it is sent at
/// least, in milliseconds. Whatever is read at once must have come before that counts as silence.
const SIGN_OF_LIFE: (u64, u64) = (3, 10_000);

/// The longest error body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The longest that an error body is waited for, in milliseconds: the status says the most.
const MAX_ERROR_BODY_MS: u64 = 5_000;

/// Where and how to call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL, without `/responses`.
    pub base_url: String,
    /// Bearer key, for services that want one.
    pub api_key: Option<String>,
    /// The longest silence before the call is given up, in milliseconds.
    pub idle_timeout_ms: u64,
}

impl Endpoint {
    fn url(&self) -> String {
        format!("{}/responses", self.base_url.trim_end_matches('/'))
    }

    fn authorization(&self) -> Vec<(String, String)> {
        let key = self.api_key.iter();
        key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}"))).collect()
    }
}

/// An answer that can be used.
#[derive(Debug)]
pub struct Answered {
    /// The answer.
    pub answer: ModelAnswer,
    /// The answer is text that was cut off, and why, as the service names it.
    pub cut_off: Option<String>,
}

/// Who hears the text of a call as it grows.
pub trait Audience {
    /// Takes what has come.
    fn hear(&mut self, progress: Progress);
}

/// Makes one call. `audience` is given the text as it grows.
///
/// # Errors
/// Whatever kept the model service from a usable answer.
pub async fn call<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    audience: &mut dyn Audience,
) -> Result<Answered, CallFailure> {
    let last_heard = Cell::new(platform.now_ms());
    let exchange = pin!(exchange(platform, endpoint, body, &last_heard, audience));
    let silence = pin!(silence(platform, endpoint.idle_timeout_ms, &last_heard));
    match select(exchange, silence).await {
        Either::Left((outcome, _)) => usable(outcome?),
        Either::Right(_) => Err(CallFailure::Silent { after_ms: endpoint.idle_timeout_ms }),
    }
}

/// Has the model service delete a response that it stored; true when it has it no more.
pub async fn delete_response<P: Platform>(platform: &P, endpoint: &Endpoint, id: &str) -> bool {
    let deletion = platform.send(HttpRequest {
        method: HttpMethod::Delete,
        url: format!("{}/{id}", endpoint.url()),
        headers: endpoint.authorization(),
        body: String::new(),
    });
    match select(pin!(deletion), pin!(platform.sleep(endpoint.idle_timeout_ms))).await {
        Either::Left((Ok(response), _)) => matches!(response.status, 200..=299 | 404),
        Either::Left((Err(_), _)) | Either::Right(_) => false,
    }
}

async fn exchange<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    last_heard: &Cell<u64>,
    audience: &mut dyn Audience,
) -> Result<Outcome, CallFailure> {
    let mut headers = endpoint.authorization();
    headers.insert(0, ("Accept".to_owned(), "text/event-stream".to_owned()));
    let url = endpoint.url();
    let mut response = platform
        .send(HttpRequest { method: HttpMethod::Post, url, headers, body })
        .await
        .map_err(|_| CallFailure::Unreachable)?;
    last_heard.set(platform.now_ms());
    if !(200..300).contains(&response.status) {
        return Err(CallFailure::Refused(Box::new(refusal(platform, response).await)));
    }
    let request_id = request_id(&response);
    let mut stream = ResponseStream::new(LIMITS);
    while !stream.is_finished() {
        // Within an event the rest may be one byte, and the last that comes.
        let at_least = if stream.is_between_events() { event_bytes(endpoint) } else { 1 };
        let chunk = match response.body.chunk(at_least).await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(_) => return Err(CallFailure::BrokenOff { request_id }),
        };
        last_heard.set(platform.now_ms());
        let progress = stream
            .push(&chunk)
            .map_err(|fault| CallFailure::Unreadable { fault, request_id: request_id.clone() })?;
        report(audience, progress);
    }
    response.body.finish();
    let (progress, outcome) = stream
        .finish()
        .map_err(|fault| CallFailure::Unreadable { fault, request_id: request_id.clone() })?;
    if let Outcome::Failed { code, kind, .. } = outcome {
        return Err(CallFailure::Failed { code, kind, request_id });
    }
    report(audience, progress);
    Ok(outcome)
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

/// Completes when nothing was heard for `limit_ms`. One timer for each such span, not for each chunk.
async fn silence<P: Platform>(platform: &P, limit_ms: u64, last_heard: &Cell<u64>) {
    loop {
        let silent_for = platform.now_ms().saturating_sub(last_heard.get());
        if silent_for >= limit_ms {
            return;
        }
        platform.sleep(limit_ms - silent_for).await;
    }
}

/// What may be used of an outcome: an answer, or text that was cut off. A call of a response that
/// is not complete is never executed.
fn usable(outcome: Outcome) -> Result<Answered, CallFailure> {
    match outcome {
        Outcome::Completed(answer) if !can_be_answered(&answer) => Err(CallFailure::Unreadable {
            fault: StreamFault::Malformed("calls that no result could name"),
            request_id: None,
        }),
        Outcome::Completed(answer) => Ok(Answered { answer, cut_off: None }),
        Outcome::Incomplete { answer, reason, cut_call } => {
            if cut_call || !answer.calls.is_empty() || answer.text.is_empty() {
                return Err(CallFailure::Incomplete { reason });
            }
            Ok(Answered { answer, cut_off: Some(reason.unwrap_or_else(|| "unknown".to_owned())) })
        }
        Outcome::Failed { code, kind, .. } => {
            Err(CallFailure::Failed { code, kind, request_id: None })
        }
    }
}

/// Results name their call by its id, and there are only so many of them: other calls cannot be
/// answered.
fn can_be_answered(answer: &ModelAnswer) -> bool {
    let mut ids: Vec<&str> = answer.calls.iter().map(|call| call.call_id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    ids.len() == count
        && ids.first() != Some(&"")
        && count <= limits::TOOL_RESULTS
        // Ours can be longer than the model's.
        && ids.iter().all(|id| id.len() <= limits::TOOL_CALL_ID / 2)
}

/// What cannot be read of an error body, or not in time, does not make the error another one.
async fn refusal<P: Platform>(platform: &P, mut response: HttpResponse<P::Body>) -> Refusal {
    let mut body = Vec::new();
    let mut patience = pin!(platform.sleep(MAX_ERROR_BODY_MS));
    while body.len() < MAX_ERROR_BYTES {
        match select(pin!(response.body.chunk(1)), patience.as_mut()).await {
            Either::Left((Ok(Some(chunk)), _)) => body.extend_from_slice(&chunk),
            Either::Left((Ok(None) | Err(_), _)) | Either::Right(_) => break,
        }
    }
    Refusal {
        status: response.status,
        request_id: request_id(&response),
        retry_after_ms: retry_after_ms(&response),
        body: ErrorBody::read(&body),
    }
}

fn retry_after_ms<B>(response: &HttpResponse<B>) -> Option<u64> {
    let number = |name: &str| {
        // As JSON spells a number: the standard library's reader of floats is 7 KB of the bundle.
        serde_json::from_str::<f64>(response.header(name)?.trim())
            .ok()
            .filter(|number| *number >= 0.0)
    };
    let milliseconds =
        number("retry-after-ms").or_else(|| number("retry-after").map(|s| s * 1000.0))?;
    // A float saturates when it is cast.
    Some(milliseconds as u64)
}

fn request_id<B>(response: &HttpResponse<B>) -> Option<String> {
    response.header("x-request-id").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::{ErrorCode, Fault};
    use crate::pipeline::double::{Answer, Double, Piece};
    use crate::responses_api::{FunctionCall, Usage};

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

    /// The terminal event, `response` being what it says besides its status.
    fn ended(status: &str, response: &str) -> String {
        event(&format!(
            r#"{{"type":"response.{status}","response":{{"id":"resp_1","status":"{status}",{response}}}}}"#
        ))
    }

    fn completed(items: &str) -> String {
        ended("completed", &format!(r#""output":[{items}]"#))
    }

    #[derive(Default)]
    struct Heard(Vec<Progress>);

    impl Audience for Heard {
        fn hear(&mut self, progress: Progress) {
            self.0.push(progress);
        }
    }

    fn endpoint() -> Endpoint {
        Endpoint {
            base_url: "https://model.example/v1/".to_owned(),
            api_key: Some("k".to_owned()),
            idle_timeout_ms: 1000,
        }
    }

    /// One call, with the progress that was reported.
    fn called(double: &Double) -> (Vec<Progress>, Result<Answered, CallFailure>) {
        let mut heard = Heard::default();
        let ending = double.run(call(double, &endpoint(), "{}".to_owned(), &mut heard));
        (heard.0, ending)
    }

    fn answered(answer: Answer) -> (Vec<Progress>, Answered) {
        let (told, ending) = called(&Double::answering([answer]));
        (told, ending.unwrap())
    }

    /// How one call failed, and the fault that it is.
    fn failed(answer: Answer) -> (bool, Fault) {
        let failure = called(&Double::answering([answer])).1.unwrap_err();
        (failure.retryable(), failure.into_fault(1))
    }

    #[test]
    fn a_call_is_one_post_with_the_body_as_it_is_and_a_key_when_there_is_one() {
        let double = Double::answering([1, 2].map(|_| Answer::new(200, &completed(MESSAGE))));
        let body = "{ \"model\": \"m\" }";
        for endpoint in [
            endpoint(),
            Endpoint { api_key: None, base_url: "http://m/v1".to_owned(), ..endpoint() },
        ] {
            double.run(call(&double, &endpoint, body.to_owned(), &mut Heard::default())).unwrap();
        }
        let accept = ("Accept".to_owned(), "text/event-stream".to_owned());
        let bearer = ("Authorization".to_owned(), "Bearer k".to_owned());
        assert_eq!(
            double.sent(),
            [
                HttpRequest {
                    method: HttpMethod::Post,
                    url: "https://model.example/v1/responses".to_owned(),
                    headers: vec![accept.clone(), bearer],
                    body: body.to_owned(),
                },
                HttpRequest {
                    method: HttpMethod::Post,
                    url: "http://m/v1/responses".to_owned(),
                    headers: vec![accept],
                    body: body.to_owned(),
                },
            ]
        );
    }

    #[test]
    fn text_is_told_as_it_comes_and_the_answer_is_the_terminal_event_s() {
        let usage = r#""usage":{"input_tokens":3,"output_tokens":2}"#;
        let end = ended("completed", &format!(r#""output":[{MESSAGE},{CALL}],{usage}"#));
        let (first, rest) = end.split_at(40);
        let (told, Answered { answer, cut_off }) = answered(Answer::in_pieces(
            200,
            [": hello\n\n", &delta("Hel"), &delta("lo"), first, rest, "after the end"]
                .map(Piece::text),
        ));
        assert_eq!(told, [Progress::Text("Hel".to_owned()), Progress::Text("lo".to_owned())]);
        assert_eq!(
            (answer.response_id.as_deref(), answer.text.as_str(), cut_off),
            (Some("resp_1"), "Hello", None)
        );
        let call = FunctionCall {
            call_id: "c".to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
            cut: false,
        };
        assert_eq!(answer.calls, [call]);
        assert_eq!(answer.usage, Some(Usage { input: 3, output: 2, total: 5, ..Usage::default() }));
    }

    #[test]
    fn a_json_answer_is_read_too_and_its_text_told_at_once() {
        let body = format!(r#"{{"id":"resp_1","status":"completed","output":[{MESSAGE}]}}"#);
        let (told, answered) = answered(Answer::new(201, &body));
        assert_eq!(told, [Progress::Text("Hello".to_owned())]);
        assert_eq!(answered.answer.text, "Hello");
    }

    #[test]
    fn nothing_is_read_behind_the_terminal_event() {
        let pieces = [Piece::text(&completed(MESSAGE)), Piece::Broken];
        assert_eq!(answered(Answer::in_pieces(200, pieces)).1.answer.text, "Hello");
    }

    #[test]
    fn a_service_that_is_silent_for_too_long_is_given_up_and_a_slow_one_is_not() {
        let slow = [
            Piece::Silence(999),
            Piece::text(": still here\n\n"),
            Piece::Silence(999),
            Piece::text(&delta("Hello")),
            Piece::Silence(999),
            Piece::text(&completed(MESSAGE)),
        ];
        assert_eq!(answered(Answer::in_pieces(200, slow).after(999)).1.answer.text, "Hello");

        let silent_head = Answer::new(200, &completed(MESSAGE)).after(1001);
        let silent_body =
            [Piece::text(&delta("Hel")), Piece::Silence(1001), Piece::text(&completed(MESSAGE))];
        for (answer, at) in
            [(silent_head, 1000), (Answer::in_pieces(200, silent_body).after(500), 1500)]
        {
            let double = Double::answering([answer]);
            let failure = called(&double).1.unwrap_err();
            assert_eq!(double.now_ms(), at);
            assert!(!failure.retryable());
            assert_eq!(
                failure.into_fault(3),
                Fault::new(
                    ErrorCode::UpstreamTimeout,
                    "The model service sent nothing for 1000 ms."
                )
                .with("Attempts", 3)
            );
        }
    }

    #[test]
    fn a_service_that_cannot_be_reached_can_be_tried_again() {
        let failure = called(&Double::default()).1.unwrap_err();
        assert!(failure.retryable());
        assert_eq!(
            failure.into_fault(2),
            Fault::new(ErrorCode::UpstreamUnavailable, "The model service could not be reached.")
                .with("Attempts", 2)
        );
    }

    #[test]
    fn the_wait_that_the_service_asks_for_is_read_in_either_unit() {
        let asked = |headers: &[(&str, &str)]| {
            let answer = Answer::new(429, "");
            let answer =
                headers.iter().fold(answer, |answer, (name, value)| answer.with(name, value));
            called(&Double::answering([answer])).1.unwrap_err().retry_after_ms()
        };
        for (headers, ms) in [
            (&[("retry-after", "2")][..], Some(2000)),
            (&[("retry-after", " 1.5 ")], Some(1500)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (&[("retry-after-ms", "soon"), ("retry-after", "9")], Some(9000)),
            (&[("retry-after", "1e30")], Some(u64::MAX)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "inf")], None),
            (&[("retry-after", "")], None),
            (&[], None),
        ] {
            assert_eq!(asked(headers), ms, "{headers:?}");
        }
    }

    #[test]
    fn a_broken_an_early_and_an_unreadable_end_are_protocol_faults() {
        let protocol = |message: &str| {
            let fault = Fault::new(ErrorCode::UpstreamProtocol, message).with("Attempts", 1);
            (false, fault.with("RequestId", "req_1"))
        };
        let broke = "The connection to the model service broke in the middle of its answer.";
        let early = "The model service's stream ended before its terminal event.";
        let json = "The model service sent a JSON answer that could not be read.";
        let hel = Piece::text(&delta("Hel"));
        for (pieces, message) in [
            (vec![hel.clone(), Piece::Broken], broke),
            (vec![Piece::Broken], broke),
            (vec![hel.clone()], early),
            (vec![hel, Piece::text("data: [DONE]\n\n")], early),
            (vec![], early),
            (vec![Piece::text("{\"status\":\"in_pro")], early),
            (vec![Piece::text("{nonsense}")], json),
        ] {
            let answer = Answer::in_pieces(200, pieces.clone()).with("x-request-id", "req_1");
            assert_eq!(failed(answer), protocol(message), "{pieces:?}");
        }
    }

    #[test]
    fn a_refusal_carries_what_the_service_names_whatever_its_content_type() {
        let error = r#"{"error":{"message":"m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#;
        let pieces = error.split_inclusive(',').map(Piece::text);
        let answer = Answer::in_pieces(429, pieces).with("content-type", "text/plain");
        let fault = Fault::new(
            ErrorCode::UpstreamUnavailable,
            "The model service answered with status 429.",
        )
        .with("HttpStatus", 429)
        .with("Code", "rate_limit_exceeded")
        .with("Type", "tokens")
        .with("RequestId", "req_1")
        .with("Attempts", 1);
        assert_eq!(failed(answer.with("x-request-id", "req_1")), (true, fault));
    }

    #[test]
    fn a_refusal_whose_body_cannot_be_read_is_still_that_refusal() {
        let endless = std::iter::repeat_n(Piece::text(&"x".repeat(1024)), 1000);
        for pieces in [vec![Piece::Broken], vec![Piece::Bytes(vec![0xff])], endless.collect()] {
            let (_, fault) = failed(Answer::in_pieces(401, pieces));
            assert_eq!(
                fault,
                Fault::new(
                    ErrorCode::UpstreamRejected,
                    "The model service refused the request with status 401."
                )
                .with("HttpStatus", 401)
                .with("Attempts", 1)
            );
        }
    }

    #[test]
    fn a_failure_inside_an_answer_is_the_service_s_and_is_not_tried_again() {
        let error = r#""error":{"code":"server_error","message":"m"}"#;
        let answer =
            Answer::in_pieces(200, [delta("Hel"), ended("failed", error)].map(|p| Piece::text(&p)));
        assert_eq!(
            failed(answer.with("x-request-id", "req_1")),
            (
                false,
                Fault::new(ErrorCode::UpstreamFailed, "The model service reported a failure.")
                    .with("Code", "server_error")
                    .with("RequestId", "req_1")
                    .with("Attempts", 1)
            )
        );
    }

    #[test]
    fn text_that_was_cut_off_is_an_answer_and_a_call_or_nothing_is_not() {
        let cut = |reason: &str, items: &str| {
            let details = format!(r#""incomplete_details":{reason},"output":[{items}]"#);
            Answer::new(200, &ended("incomplete", &details))
        };
        let why = r#"{"reason":"max_output_tokens"}"#;
        assert_eq!(answered(cut(why, MESSAGE)).1.cut_off.as_deref(), Some("max_output_tokens"));
        assert_eq!(answered(cut("null", MESSAGE)).1.cut_off.as_deref(), Some("unknown"));
        let message = "The model's answer was cut off where it cannot be used.";
        for items in [CALL, "", &format!("{MESSAGE},{CALL}")] {
            let fault = Fault::new(ErrorCode::UpstreamIncomplete, message);
            let fault = fault.with("Reason", "max_output_tokens").with("Attempts", 1);
            assert_eq!(failed(cut(why, items)), (false, fault), "{items}");
        }
    }
}
