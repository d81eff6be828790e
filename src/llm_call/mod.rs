//! Layer 2, LLM Call: exactly one call to the model service, and its output checked for use (AGN-027
//! §4, layer 2).
//!
//! Architecture Invariant: it changes no prompt and no tool, executes nothing, repeats nothing and
//! stores nothing. No other layer calls the model service.

mod endpoint;
mod failure;
mod reading;
mod refusal;

use std::cell::Cell;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::contract::limits;
use crate::ports::{HttpMethod, HttpRequest, Platform};
use crate::responses_api::{ModelOutput, ResponseEnd, StreamFault};

pub use endpoint::Endpoint;
pub use failure::{CallFailure, Cause};
pub use reading::Audience;
use reading::{ReadFault, read_output, silence};
pub use refusal::Refusal;
use refusal::read_refusal;

/// A model output that can be used.
#[derive(Debug)]
pub struct UsableOutput {
    /// The output.
    pub output: ModelOutput,
    /// Why the output is cut off, as the service names it; `None` when it is whole.
    pub cut_off: Option<String>,
}

/// Makes one call. `audience` is given the text as it grows.
///
/// # Errors
/// Whatever kept the model service from a usable output.
pub async fn call<P: Platform>(
    platform: &P,
    endpoint: &Endpoint,
    body: String,
    audience: &mut dyn Audience,
) -> Result<UsableOutput, CallFailure> {
    let last_heard = Cell::new(platform.now_ms());
    let request_id = Cell::new(None);
    let exchange = pin!(exchange(platform, endpoint, body, &last_heard, &request_id, audience));
    let silence = pin!(silence(platform, endpoint.idle_timeout_ms, &last_heard));
    let ending = match select(exchange, silence).await {
        Either::Left((end, _)) => end.and_then(usable),
        Either::Right(_) => Err(Cause::Silent { after_ms: endpoint.idle_timeout_ms }),
    };
    ending.map_err(|cause| CallFailure { cause, request_id: request_id.take() })
}

/// Has the model service delete a stored response. True when the service holds it no longer.
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
    request_id: &Cell<Option<String>>,
    audience: &mut dyn Audience,
) -> Result<ResponseEnd, Cause> {
    let mut headers = endpoint.authorization();
    headers.insert(0, ("Accept".to_owned(), "text/event-stream".to_owned()));
    let url = endpoint.url();
    let response = platform
        .send(HttpRequest { method: HttpMethod::Post, url, headers, body })
        .await
        .map_err(|_| Cause::Unreachable)?;
    last_heard.set(platform.now_ms());
    request_id.set(response.header("x-request-id").map(str::to_owned));
    if !(200..300).contains(&response.status) {
        return Err(Cause::Refused(Box::new(read_refusal(platform, response).await)));
    }
    read_output(platform, endpoint, response.body, last_heard, audience).await.map_err(|fault| {
        match fault {
            ReadFault::Broken => Cause::BrokenOff,
            ReadFault::Unreadable(fault) => Cause::Unreadable(fault),
        }
    })
}

/// Lets a complete output pass, and text that was cut off. A call in an incomplete output is never
/// executed.
fn usable(end: ResponseEnd) -> Result<UsableOutput, Cause> {
    match end {
        ResponseEnd::Completed(output) if !calls_can_get_results(&output) => {
            Err(Cause::Unreadable(StreamFault::Malformed("calls that no result could name")))
        }
        ResponseEnd::Completed(output) => Ok(UsableOutput { output, cut_off: None }),
        ResponseEnd::Incomplete { output, reason, cut_call } => {
            if cut_call || !output.calls.is_empty() || output.text.is_empty() {
                return Err(Cause::Incomplete { reason });
            }
            Ok(UsableOutput {
                output,
                cut_off: Some(reason.unwrap_or_else(|| "unknown".to_owned())),
            })
        }
        ResponseEnd::Failed { code, kind, .. } => Err(Cause::Failed { code, kind }),
    }
}

/// A tool result names its call by the id, and a continuation carries a bounded number of results.
/// Calls that break either rule could never get their results.
fn calls_can_get_results(output: &ModelOutput) -> bool {
    let mut ids: Vec<&str> = output.calls.iter().map(|call| call.call_id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    ids.len() == count
        && ids.first() != Some(&"")
        && count <= limits::TOOL_RESULTS
        // The product's own id may be longer than the model's: it gets a suffix.
        && ids.iter().all(|id| id.len() <= limits::TOOL_CALL_ID / 2)
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use serde_json::json;

    use super::reading::PAUSE_MS;
    use super::*;
    use crate::contract::{ErrorCode, Fault};
    use crate::ports::double::{Answer, Double, Piece};
    use crate::responses_api::{FunctionCall, TextProgress, TokenCounts};

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

    /// Hears a call, listening from some moment on.
    struct Ear<'a> {
        double: &'a Double,
        from_ms: u64,
        heard: Vec<(u64, TextProgress)>,
    }

    impl<'a> Ear<'a> {
        fn listening_from(double: &'a Double, from_ms: u64) -> Self {
            Self { double, from_ms, heard: Vec::new() }
        }
    }

    impl Audience for Ear<'_> {
        fn hear(&mut self, progress: TextProgress) {
            self.heard.push((self.double.now_ms(), progress));
        }

        fn poll_listens(&self, _: &mut Context<'_>) -> Poll<()> {
            // The double asks everybody whenever its clock moves.
            if self.double.now_ms() >= self.from_ms { Poll::Ready(()) } else { Poll::Pending }
        }
    }

    fn endpoint() -> Endpoint {
        Endpoint {
            base_url: "https://model.example/v1/".to_owned(),
            api_key: Some("k".to_owned()),
            idle_timeout_ms: 1000,
        }
    }

    /// One call that somebody listens to from some moment on, with what was heard and when.
    fn heard_from(
        from_ms: u64,
        double: &Double,
    ) -> (Vec<(u64, TextProgress)>, Result<UsableOutput, CallFailure>) {
        let mut ear = Ear::listening_from(double, from_ms);
        let ending = double.run(call(double, &endpoint(), "{}".to_owned(), &mut ear));
        (ear.heard, ending)
    }

    /// One call that is listened to, with the progress that was reported.
    fn called(double: &Double) -> (Vec<TextProgress>, Result<UsableOutput, CallFailure>) {
        let (heard, ending) = heard_from(0, double);
        (heard.into_iter().map(|(_, progress)| progress).collect(), ending)
    }

    /// How a call ends, which is the same when nobody listens.
    fn ended_with(answer: Answer) -> (Vec<TextProgress>, Result<UsableOutput, CallFailure>) {
        let (_, unheard) = heard_from(u64::MAX, &Double::answering([answer.clone()]));
        let (told, ending) = called(&Double::answering([answer]));
        assert_eq!(format!("{unheard:?}"), format!("{ending:?}"));
        (told, ending)
    }

    fn answered(answer: Answer) -> (Vec<TextProgress>, UsableOutput) {
        let (told, ending) = ended_with(answer);
        (told, ending.unwrap())
    }

    /// How one call failed, and the fault that it is.
    fn failed(answer: Answer) -> (bool, Fault) {
        let failure = ended_with(answer).1.unwrap_err();
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
            let mut ear = Ear::listening_from(&double, 0);
            double.run(call(&double, &endpoint, body.to_owned(), &mut ear)).unwrap();
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
        let (told, UsableOutput { output: answer, cut_off }) = answered(Answer::in_pieces(
            200,
            [": hello\n\n", &delta("Hel"), &delta("lo"), first, rest, "after the end"]
                .map(Piece::text),
        ));
        assert_eq!(
            told,
            [TextProgress::Text("Hel".to_owned()), TextProgress::Text("lo".to_owned())]
        );
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
        assert_eq!(
            answer.usage,
            Some(TokenCounts { input: 3, output: 2, total: 5, ..TokenCounts::default() })
        );
    }

    #[test]
    fn a_json_answer_is_read_too_and_its_text_told_at_once() {
        let body = format!(r#"{{"id":"resp_1","status":"completed","output":[{MESSAGE}]}}"#);
        let (told, answered) = answered(Answer::new(201, &body));
        assert_eq!(told, [TextProgress::Text("Hello".to_owned())]);
        assert_eq!(answered.output.text, "Hello");
    }

    #[test]
    fn nothing_is_read_behind_the_terminal_event() {
        let pieces = [Piece::text(&completed(MESSAGE)), Piece::Broken];
        assert_eq!(answered(Answer::in_pieces(200, pieces)).1.output.text, "Hello");
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
        assert_eq!(answered(Answer::in_pieces(200, slow).after(999)).1.output.text, "Hello");

        let silent_head = Answer::new(200, &completed(MESSAGE)).after(1001);
        let silent_body = [
            Piece::text(&delta("Hel")),
            Piece::Silence(1001 + PAUSE_MS),
            Piece::text(&completed(MESSAGE)),
        ];
        for (answer, at) in
            [(silent_head, 1000), (Answer::in_pieces(200, silent_body).after(500), 1500)]
        {
            let double = Double::answering([answer.clone()]);
            let failure = called(&double).1.unwrap_err();
            assert_eq!(double.now_ms(), at);
            let unheard = Double::answering([answer]);
            assert!(heard_from(u64::MAX, &unheard).1.is_err());
            // What came before it was left unread for a while.
            assert!((at..=at + PAUSE_MS).contains(&unheard.now_ms()));
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
    fn an_answer_is_read_when_it_has_come_or_as_it_comes_once_somebody_listens() {
        let words = ["a", "b", "c", "d", "e", "f"];
        let piecewise = || {
            let deltas =
                words.iter().flat_map(|word| [Piece::text(&delta(word)), Piece::Silence(100)]);
            let end = ended("completed", r#""output":[]"#);
            Double::answering([Answer::in_pieces(200, deltas.chain([Piece::text(&end)]))])
        };
        let heard = |from_ms| -> Vec<(u64, String)> {
            let mut moments = Vec::new();
            for (at, progress) in heard_from(from_ms, &piecewise()).0 {
                let TextProgress::Text(text) = progress else { panic!("{progress:?}") };
                match moments.last_mut() {
                    Some((last, together)) if *last == at => String::push_str(together, &text),
                    _ => moments.push((at, text)),
                }
            }
            moments
        };
        let at = |moments: &[(u64, &str)]| -> Vec<(u64, String)> {
            moments.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
        };
        assert_eq!(
            heard(0),
            at(&[(0, "a"), (100, "b"), (200, "c"), (300, "d"), (400, "e"), (500, "f")])
        );
        assert_eq!(heard(300), at(&[(250, "abc"), (300, "d"), (400, "e"), (500, "f")]));
        assert_eq!(heard(u64::MAX), at(&[(250, "abc"), (500, "def")]));

        let quick = Answer::in_pieces(
            200,
            [Piece::text(&delta("a")), Piece::Silence(7), Piece::text(&completed(MESSAGE))],
        );
        let double = Double::answering([quick]);
        heard_from(u64::MAX, &double).1.unwrap();
        assert_eq!(double.now_ms(), 7);
    }

    #[test]
    fn a_connection_that_stays_open_or_breaks_behind_the_last_event_takes_nothing_of_the_answer() {
        let text = [delta("Hel"), delta("lo"), completed(MESSAGE)].concat();
        for size in [1, 7, text.len()] {
            for end in [Piece::Silence(999_999), Piece::Broken] {
                let pieces = text.as_bytes().chunks(size).map(|bytes| Piece::Bytes(bytes.to_vec()));
                let double = Double::answering([Answer::in_pieces(200, pieces.chain([end]))]);
                assert_eq!(heard_from(u64::MAX, &double).1.unwrap().output.text, "Hello");
                assert!(double.now_ms() <= PAUSE_MS);
            }
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
            (&[("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT")], Some(9000)),
            (&[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")], None),
            (&[("retry-after", "Wed, 31 Dec 1969 00:00:09 GMT")], None),
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
