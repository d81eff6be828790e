//! A place in a submission's text, as `Last-Event-ID` gives it (interface §2, Delivery).

/// A place in a submission's text: `{segment}.{byte offset}`, as `id:` and `Last-Event-ID` spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the model call within the turn.
    pub segment: u32,
    /// UTF-8 bytes of that segment that the watcher has.
    pub offset: usize,
}

impl Position {
    /// Reads `Last-Event-ID`; `None` when it is not one of ours, which means "from the start".
    pub fn parse(text: &str) -> Option<Self> {
        let (segment, offset) = text.trim().split_once('.')?;
        Some(Self { segment: segment.parse().ok()?, offset: offset.parse().ok()? })
    }
}
