//! A turn's text as `text/event-stream`, chunk by chunk (interface §2, Delivery).
//!
//! Whatever comes while a chunk is being written goes out with the next one. So does, when text comes
//! faster than the clock ticks, what is there already and only has to be read: a write costs more
//! than anything else that happens to a delta.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;

use futures_util::future::{Either, select};

use crate::ports::Platform;
use crate::reasoner::{LiveText, TextCursor};

/// One watcher's view of a turn, until its `result`. Dropping it ends nothing but the view.
pub struct EventStream<P> {
    platform: Rc<P>,
    text: Rc<LiveText>,
    cursor: TextCursor,
    /// The longest silence before a comment line, in milliseconds.
    keep_alive_ms: u64,
    last_write_ms: u64,
    /// A chunk was handed out; the next call comes when it is written.
    is_writing: bool,
    /// One timer for each span without a look at the clock, not one for each piece of text.
    silence: Pin<Box<dyn Future<Output = ()>>>,
}

impl<P: Platform> EventStream<P> {
    pub(super) fn new(
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

    /// The next chunk, to be written before this is called again; `None` after the last.
    pub(super) async fn next_chunk(&mut self) -> Option<String> {
        if std::mem::take(&mut self.is_writing) {
            self.last_write_ms = self.platform.now_ms();
        }
        loop {
            let frames = self.cursor.frames(&self.text);
            if !frames.is_empty() {
                self.is_writing = true;
                return Some(frames);
            }
            if self.cursor.finished() {
                return None;
            }
            match select(pin!(self.cursor.growth(&self.text)), &mut self.silence).await {
                Either::Left(_) => {
                    if self.platform.now_ms() == self.last_write_ms {
                        self.platform.idle().await;
                    }
                }
                Either::Right(_) => {
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
}

fn sleep<P: Platform>(platform: &Rc<P>, ms: u64) -> Pin<Box<dyn Future<Output = ()>>> {
    let platform = Rc::clone(platform);
    Box::pin(async move { platform.sleep(ms).await })
}

impl<P> fmt::Debug for EventStream<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventStream").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}
