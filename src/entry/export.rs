//! `GET …/export`, piece by piece: no session is too long for it (the interface, section 1).
//!
//! The pieces, one after the other, are one `InvokeResult`.

use std::rc::Rc;

use serde::Serialize;

use crate::contract::{ErrorCode, Fault, InvokeResult};
use crate::persistence::{Session, SessionStore};
use crate::ports::Database;

/// An export that is under way.
#[derive(Debug)]
pub struct Export<D> {
    store: Rc<SessionStore<D>>,
    /// The session's own part, until it has been given.
    session: Option<Session>,
    /// Ordinal of the turn given last.
    given: u64,
    /// Ordinal of the last turn to give: those that begin meanwhile are not waited for.
    last: u64,
    ended: bool,
}

impl<D: Database> Export<D> {
    /// The export of a session as it is now.
    ///
    /// # Errors
    /// `internal` when the storage fails.
    pub(super) fn new(store: Rc<SessionStore<D>>, session: Session) -> Result<Self, Fault> {
        let last = store.newest_ordinal()?;
        Ok(Self { store, session: Some(session), given: 0, last, ended: false })
    }

    /// The next piece of the document, `None` after the last.
    ///
    /// # Errors
    /// `internal` when the storage fails, `session_not_found` when the session was erased
    /// meanwhile; then the document must not be ended as if it were whole.
    pub(super) fn piece(&mut self) -> Result<Option<String>, Fault> {
        let (opening, ending) = InvokeResult::around_success();
        if let Some(session) = self.session.take() {
            let session = json(&self.store.exported_session(session)?)?;
            let members = session.strip_suffix('}').unwrap_or(&session);
            return Ok(Some(format!("{opening}{members},\"Turns\":[")));
        }
        if self.ended {
            return Ok(None);
        }
        if self.store.session()?.is_none() {
            return Err(Fault::new(
                ErrorCode::SessionNotFound,
                "The session was erased meanwhile.",
            ));
        }
        let Some(turn) = self
            .store
            .turns_after(Some(self.given), 1)?
            .pop()
            .filter(|turn| turn.ordinal <= self.last)
        else {
            self.ended = true;
            return Ok(Some(format!("]}}{ending}")));
        };
        let comma = if self.given == 0 { "" } else { "," };
        self.given = turn.ordinal;
        Ok(Some(format!("{comma}{}", json(&self.store.exported_turn(turn)?)?)))
    }
}

fn json(part: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(part).map_err(|_| Fault::unwritable("A part of the export"))
}
