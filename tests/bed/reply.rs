//! The replies of the model service to requests that it accepts: model output, complete or broken
//! off, and HTTP errors.

use serde_json::{Value, json};

use super::scripted_service::{HttpReply, Piece};

/// An item of model output.
#[derive(Clone, Debug)]
pub enum Item {
    /// A message, in the pieces that are streamed.
    Text(Vec<String>),
    /// A message with `phase: "commentary"`.
    Commentary(Vec<String>),
    /// A function call.
    Call {
        /// Tool name.
        name: String,
        /// JSON text, in the model's own spelling.
        arguments: String,
    },
    /// A reasoning item that can be sent back.
    Reasoning,
    /// The service's own compaction of all that was said before.
    Compaction,
    /// A refusal by the model.
    Refusal(String),
    /// A message with annotations.
    Cited(String, Vec<Value>),
    /// The item of a tool that the service ran by itself, but for its id.
    Hosted(Value),
}

/// The end of a response.
#[derive(Clone, Debug)]
pub enum Ending {
    Completed,
    /// `response.incomplete`, with the last item cut.
    Incomplete(&'static str),
    /// `response.failed`.
    Failed(&'static str),
    /// An error event, nested and followed by `response.failed`, or flat.
    ErrorEvent {
        code: &'static str,
        nested: bool,
    },
}

/// The behaviour of the connection while the response is sent.
#[derive(Clone, Copy, Debug)]
pub enum Connection {
    Whole,
    /// Breaks after this many chunks.
    Breaks(usize),
    /// Breaks this many bytes before its end.
    BreaksShort(usize),
    /// Stays open without data this many bytes before its end.
    SilentShort(usize),
    /// Ends properly after this many chunks.
    Ends(usize),
    /// Stays open without data after this many chunks.
    Silent(usize),
}

/// A response of the model.
#[derive(Clone, Debug)]
pub struct Answer {
    pub items: Vec<Item>,
    pub ending: Ending,
    pub connection: Connection,
    /// Sends one JSON body even for a streaming request.
    pub as_json: bool,
    /// The size of the chunks in bytes; one chunk for each event when absent.
    pub chunk_bytes: Option<usize>,
    /// The pause before each chunk.
    pub pause_ms: u64,
    /// Input, cached, output, reasoning tokens.
    pub usage: [u64; 4],
    /// What it says of them before they are known.
    pub early_usage: Option<[u64; 4]>,
    /// It says what it has cost when it fails, too.
    pub failing_usage: bool,
}

/// The service's reply to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    Answer(Answer),
    /// An HTTP error, or a success whose body is no response.
    Http(HttpReply),
    /// A response as another service once gave it.
    Recorded(Recording),
    /// The connection is refused.
    Unreachable,
    /// No data at all, not even a status line.
    Silence,
}

/// A recorded response: its bytes, and what the service stores of it.
#[derive(Clone, Debug)]
pub struct Recording {
    pub body: Vec<u8>,
    /// The response object in its final state; `None` where the body ends without one.
    pub response: Option<Value>,
}

/// A response with these items.
pub fn says(items: Vec<Item>) -> Answer {
    Answer {
        items,
        ending: Ending::Completed,
        connection: Connection::Whole,
        as_json: false,
        chunk_bytes: None,
        pause_ms: 0,
        usage: [100, 10, 20, 5],
        early_usage: None,
        failing_usage: false,
    }
}

/// A response with one text, streamed word by word.
pub fn say(text: &str) -> Answer {
    says(vec![Item::Text(text.split_inclusive(' ').map(str::to_owned).collect())])
}

/// A function call.
pub fn call(name: &str, arguments: Value) -> Item {
    Item::Call { name: name.to_owned(), arguments: arguments.to_string() }
}

/// Half a text, then `response.failed`.
pub fn failed(code: &'static str) -> Reply {
    Answer { ending: Ending::Failed(code), ..say("Half an ") }.into()
}

/// Half a text, then an error event.
pub fn error_event(code: &'static str, nested: bool) -> Reply {
    Answer { ending: Ending::ErrorEvent { code, nested }, ..say("Half an ") }.into()
}

/// A response that is cut in its last item.
pub fn incomplete(item: Item, reason: &'static str) -> Reply {
    Answer { ending: Ending::Incomplete(reason), ..says(vec![item]) }.into()
}

/// A response that is cut before its first item.
pub fn incomplete_without_items(reason: &'static str) -> Reply {
    Answer { ending: Ending::Incomplete(reason), ..says(Vec::new()) }.into()
}

/// An HTTP error in the service's envelope.
pub fn http_error(status: u16, error: Value, headers: &[(&str, &str)]) -> Reply {
    let mut envelope =
        json!({ "message": "no", "type": "invalid_request_error", "param": null, "code": null });
    for (member, value) in error.as_object().unwrap() {
        envelope[member] = value.clone();
    }
    let reply = HttpReply::new(status, &json!({ "error": envelope }).to_string());
    let named = headers.iter();
    Reply::Http(named.fold(reply, |reply, (name, value)| reply.with(name, value)))
}

/// These chunks under status 200.
pub fn raw(chunks: &[&str]) -> Reply {
    Reply::Http(HttpReply::in_pieces(200, chunks.iter().map(|chunk| Piece::text(chunk))))
}

impl Answer {
    pub fn breaks_after(self, chunks: usize) -> Self {
        Self { connection: Connection::Breaks(chunks), ..self }
    }

    pub fn breaks_short_by(self, bytes: usize) -> Self {
        Self { connection: Connection::BreaksShort(bytes), ..self }
    }

    pub fn silent_short_by(self, bytes: usize) -> Self {
        Self { connection: Connection::SilentShort(bytes), ..self }
    }

    pub fn ends_after(self, chunks: usize) -> Self {
        Self { connection: Connection::Ends(chunks), ..self }
    }

    pub fn silent_after(self, chunks: usize) -> Self {
        Self { connection: Connection::Silent(chunks), ..self }
    }

    pub fn in_chunks_of(self, bytes: usize) -> Self {
        Self { chunk_bytes: Some(bytes), ..self }
    }

    pub fn paced(self, pause_ms: u64) -> Self {
        Self { pause_ms, ..self }
    }

    pub fn in_one_json(self) -> Self {
        Self { as_json: true, ..self }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}
