//! `GET …/export` (interface §1): one `InvokeResult`, sent turn by turn, so that a session of any length
//! fits into memory.

use std::rc::Rc;

use serde::Serialize;

use crate::contract::{ErrorCode, Fault, InvokeResult};
use crate::persistence::{Session, SessionStore};
use crate::ports::Database;

/// The export of a session.
#[derive(Debug)]
pub struct Export<D> {
    store: Rc<SessionStore<D>>,
    /// The session, until its members have been sent.
    session: Option<Box<Session>>,
    /// The ordinal of the last turn that was sent.
    sent: u64,
    /// The ordinal of the last turn to send. Turns that begin meanwhile are not part of the export.
    last: u64,
    ended: bool,
}

impl<D: Database> Export<D> {
    /// The export of a session as it is now.
    pub(super) fn new(store: Rc<SessionStore<D>>, session: Session) -> Result<Self, Fault> {
        let last = store.newest_ordinal()?;
        Ok(Self { store, session: Some(Box::new(session)), sent: 0, last, ended: false })
    }

    /// The next piece of the document, `None` after the last. Fails with `session_not_found` when the
    /// session was erased meanwhile.
    pub(super) fn piece(&mut self) -> Result<Option<String>, Fault> {
        let (opening, ending) = InvokeResult::around_success();
        if let Some(session) = self.session.take() {
            let session = json(&self.store.exported_session(*session)?)?;
            let members = session.strip_suffix('}').unwrap_or(&session);
            return Ok(Some(format!("{opening}{members},\"Turns\":[")));
        }
        if self.ended {
            return Ok(None);
        }
        if self.store.session()?.is_none() {
            let message = "The session was erased meanwhile.";
            return Err(Fault::new(ErrorCode::SessionNotFound, message));
        }
        let next = self.store.turns_after(Some(self.sent), 1)?.pop();
        let Some(turn) = next.filter(|turn| turn.ordinal <= self.last) else {
            self.ended = true;
            return Ok(Some(format!("]}}{ending}")));
        };
        let comma = if self.sent == 0 { "" } else { "," };
        self.sent = turn.ordinal;
        Ok(Some(format!("{comma}{}", json(&self.store.exported_turn(turn)?)?)))
    }
}

fn json(part: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(part).map_err(|_| Fault::unwritable("A part of the export"))
}
