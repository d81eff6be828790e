//! A turn's text as `text/event-stream`, chunk by chunk (interface §2, Delivery).
//!
//! Text that arrives during a write goes out with the next chunk.

use std::pin::{Pin, pin};
use std::rc::Rc;

use futures_util::future::{Either, select};

use super::submission_text::LiveText;
use super::text_cursor::TextCursor;
use crate::ports::Platform;

/// One watcher's events of a turn, up to its `result`. Dropping it leaves the turn as it is.
pub struct EventStream<P> {
    platform: Rc<P>,
    text: Rc<LiveText>,
    cursor: TextCursor,
    /// The longest time without a chunk, in milliseconds; then a comment line is sent.
    keep_alive_ms: u64,
    last_write_ms: u64,
    /// The last chunk has been given and is being written.
    is_writing: bool,
    /// The timer of the next comment line. It outlives many chunks: a timer for each chunk would cost
    /// more than the chunk.
    silence: Pin<Box<dyn Future<Output = ()>>>,
}

impl<P: Platform> EventStream<P> {
    pub(crate) fn new(
        platform: Rc<P>,
        text: Rc<LiveText>,
        cursor: TextCursor,
        keep_alive_ms: u64,
    ) -> Self {
        Self {
            last_write_ms: platform.now_ms(),
            silence: sleep(&platform, keep_alive_ms),
            is_writing: false,
            platform,
            text,
            cursor,
            keep_alive_ms,
        }
    }

    /// The next chunk, `None` after the last. The caller writes it before the next call.
    pub(crate) async fn next_chunk(&mut self) -> Option<String> {
        if std::mem::take(&mut self.is_writing) {
            self.last_write_ms = self.platform.now_ms();
        }
        loop {
            let frames = self.cursor.frames(&self.text);
            if !frames.is_empty() {
                self.is_writing = true;
                return Some(frames);
            }
            if self.cursor.finished {
                return None;
            }
            let changed = pin!(self.cursor.changed(&self.text));
            if let Either::Right(_) = select(changed, &mut self.silence).await {
                let silent_for = self.platform.now_ms().saturating_sub(self.last_write_ms);
                if silent_for >= self.keep_alive_ms {
                    self.silence = sleep(&self.platform, self.keep_alive_ms);
                    self.is_writing = true;
                    return Some(": keep-alive\n\n".to_owned());
                }
                self.silence = sleep(&self.platform, self.keep_alive_ms - silent_for);
            }
        }
    }
}

fn sleep<P: Platform>(platform: &Rc<P>, ms: u64) -> Pin<Box<dyn Future<Output = ()>>> {
    let platform = Rc::clone(platform);
    Box::pin(async move { platform.sleep(ms).await })
}
