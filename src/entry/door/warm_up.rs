//! Runs the code of a first turn when an isolate starts. The runtime compiles a function when it is first called,
//! which is half of the time of an isolate's first response; and Cloudflare starts an isolate while the client's
//! connection is still being made.

use crate::catalog::Catalog;
use crate::contract::{ExecuteRequest, InvokeResult, fingerprint, parse, peek_session_id};
use crate::entry::route::Route;
use crate::responses_api::{ResponseEnd, ResponseStream, StreamFault, StreamLimits};

const REQUEST: &[u8] =
    br#"{"SessionId":"s","TurnId":"t","Instruction":"Say hello.","Streaming":true}"#;

const EVENTS: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hello"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"Hello"}]}}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"id":"m","type":"message","content":[{"type":"output_text","text":"Hello"}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}

"#;

/// Runs the code once. It leaves no state behind.
pub fn warm_up() {
    let _ = Catalog::builtin();
    let _ = Route::find("POST", "/execute");
    let _ = read_request();
    let _ = read_response();
}

fn read_request() -> Option<ExecuteRequest> {
    let session = peek_session_id(REQUEST)?;
    let request = parse(REQUEST).ok()?;
    let result = InvokeResult::success(fingerprint(&request));
    let _ = serde_json::to_string(&result).ok()?;
    (*request.session_id() == session).then_some(request)
}

fn read_response() -> Result<ResponseEnd, StreamFault> {
    let limits = StreamLimits {
        event_bytes: EVENTS.len(),
        output_bytes: EVENTS.len(),
        ..StreamLimits::RESPONSE
    };
    let mut stream = ResponseStream::new(limits);
    stream.push(EVENTS.as_bytes(), &mut |_| ())?;
    stream.finish().map(|(_, end)| end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rehearsal_goes_the_whole_way() {
        assert!(read_request().is_some());
        assert_eq!(read_response().unwrap().output().unwrap().text, "Hello");
        assert!(Catalog::builtin().is_ok() && Route::find("POST", "/execute").is_ok());
    }
}
