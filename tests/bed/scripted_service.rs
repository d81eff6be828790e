//! Scripted HTTP responses: their heads, and what happens while their bodies are read.

use std::cell::RefCell;
use std::collections::VecDeque;

use aptix_edge::ports::{HttpFault, HttpRequest};

/// What comes back for a request.
#[derive(Clone, Debug)]
pub struct HttpReply {
    pub head_after_ms: u64,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: VecDeque<Piece>,
}

/// What happens next to a body; after the last piece it ends.
#[derive(Clone, Debug)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// Nothing comes for so many milliseconds.
    Silence(u64),
    /// Nothing comes any more, and the connection stays open.
    EndlessSilence,
    /// The connection breaks.
    Broken,
}

/// Every service at once, for a step that is tested alone.
#[derive(Default)]
pub struct ScriptedService {
    replies: RefCell<VecDeque<HttpReply>>,
    sent: RefCell<Vec<HttpRequest>>,
}

impl HttpReply {
    pub fn new(status: u16, body: &str) -> Self {
        Self::in_pieces(status, [Piece::text(body)])
    }

    pub fn in_pieces(status: u16, body: impl IntoIterator<Item = Piece>) -> Self {
        Self { head_after_ms: 0, status, headers: Vec::new(), body: body.into_iter().collect() }
    }

    /// With one header more, whose name is in lower case.
    pub fn with(mut self, header: &str, value: &str) -> Self {
        self.headers.push((header.to_owned(), value.to_owned()));
        self
    }

    /// The head comes after so many milliseconds.
    pub fn after(mut self, ms: u64) -> Self {
        self.head_after_ms = ms;
        self
    }
}

impl Piece {
    pub fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

impl ScriptedService {
    pub fn replying(replies: impl IntoIterator<Item = HttpReply>) -> Self {
        Self { replies: RefCell::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// The requests so far.
    pub fn sent(&self) -> Vec<HttpRequest> {
        self.sent.borrow().clone()
    }

    /// Takes a request and gives the next reply.
    pub fn take(&self, request: HttpRequest) -> Result<HttpReply, HttpFault> {
        self.sent.borrow_mut().push(request);
        let reply = self.replies.borrow_mut().pop_front();
        reply.ok_or_else(|| HttpFault("10.0.0.1 refused".to_owned()))
    }
}
