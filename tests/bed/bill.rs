//! What the model service bills.

/// What a call is billed: whoever ends it pays for what it has sent.
#[derive(Clone, Debug)]
pub struct Bill {
    /// `prompt_cache_key` of the request, which names the session.
    pub key: String,
    /// The length of the request's body.
    pub body_bytes: usize,
    /// The length of the conversation that the call continues, in bytes.
    pub input_bytes: usize,
    pub end: CallEnd,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    Open,
    /// The service or the network has ended it.
    Ended,
    /// Whoever made it has dropped it.
    Aborted,
    /// Whoever made it was lost.
    Lost,
}
