//! What a session's object sends piece by piece: a turn's text and result, or the session's export.

use std::rc::Rc;

use super::export::Export;
use crate::contract::Result;
use crate::live_text::EventStream;
use crate::ports::{Database, Platform};

/// A body that a session's object sends piece by piece.
pub enum SessionStream<P, D> {
    /// A turn's text and its result, as server-sent events.
    Events(EventStream<P>),
    /// The session's export, one JSON document.
    Export(Rc<P>, Export<D>),
}

impl<P: Platform, D: Database> SessionStream<P, D> {
    /// The next chunk, `None` after the last. The caller writes it before the next call.
    ///
    /// # Errors
    /// The fault that ends the document early. The caller then breaks the connection off, so that the
    /// client sees that the document is not whole.
    pub async fn next_chunk(&mut self) -> Result<Option<String>> {
        match self {
            Self::Events(events) => Ok(events.next_chunk().await),
            Self::Export(platform, export) => {
                // A turn can be long, and others are not to wait for all of them.
                platform.yield_to_others().await;
                export.piece()
            }
        }
    }
}
