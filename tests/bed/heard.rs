//! A response as the client sees it.

use std::collections::BTreeMap;

use aptix_edge::contract::ErrorCode;
use serde_json::Value;

/// A response as the client sees it.
#[derive(Clone, Debug)]
pub struct Heard {
    /// For a streamed response, the status that JSON delivery would have.
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    /// The `InvokeResult`; null when the body is none.
    pub body: Value,
    /// The same body as text.
    pub text: String,
    pub replayed: bool,
    /// The server-sent events of a streamed response, the last one being `result`.
    pub frames: Option<String>,
}

impl PartialEq for Heard {
    /// Leaves headers out, since they also contain times.
    fn eq(&self, other: &Self) -> bool {
        let compared =
            |heard: &Self| (heard.status, heard.text.clone(), heard.replayed, heard.frames.clone());
        compared(self) == compared(other)
    }
}

impl Heard {
    pub(crate) fn of(status: u16, headers: Vec<(&'static str, String)>, text: String) -> Self {
        let headers: BTreeMap<String, String> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let is_stream =
            headers.get("Content-Type").is_some_and(|kind| kind.contains("event-stream"));
        let replayed = headers.contains_key("Idempotent-Replayed");
        let (text, frames) = if is_stream {
            let result = text.rsplit("event: result\n").next().unwrap();
            let result = result.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            (result.to_owned(), Some(text))
        } else {
            (text, None)
        };
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let failed = body["Errors"][0]["ErrorCode"].as_str().filter(|_| is_stream);
        let known = |code| ErrorCode::ALL.iter().find(|known| known.as_str() == code).unwrap();
        let status = failed.map_or(status, |code| known(code).http_status());
        Self { status, headers, body, text, replayed, frames }
    }

    /// The `Result` of a success.
    pub fn result(&self) -> &Value {
        assert_eq!(self.body["Successful"], true, "{}", self.text);
        &self.body["Result"]
    }

    /// Status and code of a failure; the status and an empty code for a success.
    pub fn failure(&self) -> (u16, &str) {
        (self.status, self.body["Errors"][0]["ErrorCode"].as_str().unwrap_or_default())
    }

    /// The `Details` of a failure.
    pub fn details(&self) -> &Value {
        &self.body["Errors"][0]["Details"]
    }

    /// The text of a result of kind `final`.
    pub fn final_text(&self) -> &str {
        assert_eq!(self.result()["Kind"], "final", "{}", self.text);
        self.result()["PrimaryOutputText"].as_str().unwrap()
    }

    /// The ids of the calls that wait for a continuation.
    pub fn calls(&self) -> Vec<String> {
        assert_eq!(self.result()["Kind"], "client_tool_continuation", "{}", self.text);
        let calls = self.result()["ToolCalls"].as_array().unwrap();
        calls.iter().map(|call| call["ToolCallId"].as_str().unwrap().to_owned()).collect()
    }
}
