//! The owner of a session: its storage, and the one turn that runs in memory (interface §2).
//!
//! There is one object for each `{tenant}/{SessionId}`, and it admits a submission without an await. Its
//! responses are in `session_endpoints`, its work without a client in `recovery`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::future::AbortHandle;
use serde_json::json;

use super::admission::{Admission, no_session, no_turn};
use super::alarm::Alarm;
use super::epoch::Epoch;
use crate::contract::{Fault, SessionId, TurnId};
use crate::entry::context::AdmissionContext;
use crate::live_text::LiveText;
use crate::persistence::{ErasureReceipt, Session, SessionStore, Turn};
use crate::ports::{Database, Platform};
use crate::reasoner::{Connections, Reasoner, StartedTurn};

/// The object that owns a session.
#[derive(Debug)]
pub struct SessionHost<P, D> {
    pub(super) platform: Rc<P>,
    pub(super) store: Rc<SessionStore<D>>,
    pub(super) live: RefCell<Option<LiveTurn>>,
    /// The number of turns that this instance has run.
    pub(super) runs: Cell<u64>,
    /// Each request to erase the session holds a clone while it is under way.
    pub(super) erasures: Rc<()>,
    /// What a submission was received before is not to bring back.
    pub(super) epoch: Cell<Epoch>,
    pub(super) alarm: Alarm,
    pub(super) connections: Rc<Connections>,
    /// The receipt that the latest deletions at the model service led to.
    pub(super) settled: RefCell<Option<ErasureReceipt>>,
}

/// A turn that runs in this instance.
#[derive(Clone, Debug)]
pub(super) struct LiveTurn {
    ordinal: u64,
    pub(super) text: Rc<LiveText>,
    pub(super) cancellation: AbortHandle,
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// A host of a session's storage. It reads and writes nothing yet.
    pub fn new(platform: Rc<P>, database: D) -> Rc<Self> {
        Rc::new(Self {
            platform,
            store: Rc::new(SessionStore::new(database)),
            live: RefCell::new(None),
            runs: Cell::new(0),
            erasures: Rc::default(),
            epoch: Cell::default(),
            alarm: Alarm::default(),
            connections: Rc::default(),
            settled: RefCell::default(),
        })
    }

    /// Runs a turn as a task of its own, which no client's disconnect ends. After a long submission others
    /// run first.
    pub(super) fn run(
        self: &Rc<Self>,
        context: &AdmissionContext,
        started: StartedTurn,
        is_long: bool,
    ) -> Result<Rc<LiveText>, Fault> {
        let catalog = Rc::clone(context.catalog()?);
        let (cancellation, registration) = AbortHandle::new_pair();
        let text = Rc::new(LiveText::default());
        let live = LiveTurn { ordinal: started.turn.ordinal, text: Rc::clone(&text), cancellation };
        self.live.replace(Some(live.clone()));
        self.runs.set(self.runs.get() + 1);
        let host = Rc::clone(self);
        let (platform, store) = (Rc::clone(&self.platform), Rc::clone(&self.store));
        let (deployment, connections) =
            (Rc::clone(&context.deployment), Rc::clone(&self.connections));
        let reasoner = Reasoner::new(platform, store, catalog, deployment, connections);
        let turn_id = started.turn.turn_id.clone();
        let started_at = self.platform.now_ms();
        self.platform.spawn(Box::pin(async move {
            if is_long {
                host.platform.breathe().await;
            }
            let mut outcome = reasoner.run(started, &live.text, registration).await;
            // The outcome is durable before any client gets it.
            let ended_at = host.platform.now_ms();
            host.platform.durable().await;
            let now = host.platform.now_ms();
            outcome.timings.persist += now.saturating_sub(ended_at);
            // The session takes a new turn before the watchers get the outcome. The next turn may even
            // run already: this one was stored as ended before its outcome was durable.
            host.live.borrow_mut().take_if(|running| Rc::ptr_eq(&running.text, &live.text));
            let mut report = reasoner.report.take();
            report.timings = outcome.timings;
            host.platform.log(json!({
                "event": "submission",
                "level": if outcome.http_status < 500 { "info" } else { "error" },
                "turn": turn_id.as_str(),
                "http_status": outcome.http_status,
                "duration_ms": now.saturating_sub(started_at),
                "report": report,
            }));
            live.text.end(outcome);
        }));
        Ok(text)
    }

    /// The running turn, where it is this one.
    pub(super) fn live_turn(&self, turn: &Turn) -> Option<LiveTurn> {
        self.live.borrow().clone().filter(|live| live.ordinal == turn.ordinal)
    }

    /// The admission of a submission for which nothing was recovered.
    pub(super) fn admission<'a>(&'a self, context: &'a AdmissionContext) -> Admission<'a, P, D> {
        Admission {
            platform: &self.platform,
            store: &self.store,
            alarm: &self.alarm,
            context,
            given_up: None,
        }
    }

    /// The session, or `session_not_found` before its first accepted turn.
    pub(super) fn known_session(&self, id: &SessionId) -> Result<Session, Fault> {
        self.store.session()?.ok_or_else(|| no_session(id))
    }

    /// A turn of the session, or `turn_not_found`.
    pub(super) fn known_turn(&self, id: &TurnId) -> Result<Turn, Fault> {
        self.store.turn(id)?.ok_or_else(|| no_turn(id))
    }
}
