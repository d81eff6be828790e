//! Scripted HTTP responses: their heads and the course of their bodies.

use std::cell::RefCell;
use std::collections::VecDeque;

use aptix_edge::ports::{HttpFault, HttpRequest};

/// The reply to a request.
#[derive(Clone, Debug)]
pub struct HttpReply {
    pub head_after_ms: u64,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: VecDeque<Piece>,
}

/// The next event in a body; the body ends after the last piece.
#[derive(Clone, Debug)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// No data for this many milliseconds.
    Silence(u64),
    /// No data any more, while the connection stays open.
    EndlessSilence,
    /// The connection breaks.
    Broken,
}

/// Stands for every service when a step is tested alone.
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

    /// Adds a header, whose name must be in lower case.
    pub fn with(mut self, header: &str, value: &str) -> Self {
        self.headers.push((header.to_owned(), value.to_owned()));
        self
    }

    /// Delays the head by this many milliseconds.
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

    /// Records a request and returns the next reply.
    pub fn take(&self, request: HttpRequest) -> Result<HttpReply, HttpFault> {
        self.sent.borrow_mut().push(request);
        let reply = self.replies.borrow_mut().pop_front();
        reply.ok_or_else(|| HttpFault::Lost("10.0.0.1 refused".to_owned()))
    }
}
