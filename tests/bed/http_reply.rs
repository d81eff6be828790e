//! A scripted HTTP response: its head, and what happens while its body is read.

use std::collections::VecDeque;

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
