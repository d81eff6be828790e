//! The turn that runs in this instance (interface §2, Turns). Admission decides which turn runs, the
//! reasoner runs it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::future::{AbortHandle, AbortRegistration};

use crate::contract::TraceContext;
use crate::live_text::LiveText;
use crate::persistence::Turn;
use crate::reasoner::{Connections, Interruption};

/// The turn that runs in this instance, if there is one.
#[derive(Debug, Default)]
pub(super) struct Running {
    live: RefCell<Option<LiveTurn>>,
    /// The number of turns that have begun to run in this instance.
    pub(super) begun: Cell<u64>,
    /// The connections to MCP servers that one turn leaves to the next.
    pub(super) connections: Rc<Connections>,
}

/// A turn that runs in this instance.
#[derive(Clone, Debug)]
pub(super) struct LiveTurn {
    ordinal: u64,
    /// Its text, which grows until the turn ends or pauses.
    pub(super) text: Rc<LiveText>,
    cancellation: AbortHandle,
    /// Interrupts its model calls.
    pub(super) interruption: Rc<Interruption>,
    /// The place in its client's trace, which a later request about the turn replaces.
    pub(super) caller_trace: CallerTrace,
}

/// The place in its client's trace of the newest request about a turn that named one.
pub(super) type CallerTrace = Rc<RefCell<Option<TraceContext>>>;

impl LiveTurn {
    /// Notes the place in its client's trace of a request about it, where the request names one.
    pub(super) fn note_caller(&self, caller: Option<&TraceContext>) {
        if caller.is_some() {
            self.caller_trace.replace(caller.cloned());
        }
    }

    /// Aborts the turn. Completes when its outcome is durable.
    pub(super) async fn cancel(&self) {
        self.cancellation.abort();
        self.text.outcome().await;
    }
}

impl Running {
    /// Whether a turn runs.
    pub(super) fn is_busy(&self) -> bool {
        self.live.borrow().is_some()
    }

    /// The running turn, where it is this one.
    pub(super) fn turn(&self, turn: &Turn) -> Option<LiveTurn> {
        self.live().filter(|live| live.ordinal == turn.ordinal)
    }

    /// Aborts the running turn, and each turn that begins when another one ends.
    pub(super) async fn stop(&self) {
        while let Some(live) = self.live() {
            live.cancel().await;
        }
    }

    /// Notes that a turn begins to run. The registration aborts it.
    pub(super) fn begin(
        &self,
        ordinal: u64,
        caller: Option<TraceContext>,
    ) -> (LiveTurn, AbortRegistration) {
        let (cancellation, registration) = AbortHandle::new_pair();
        let (text, interruption) = Default::default();
        let caller_trace = Rc::new(RefCell::new(caller));
        let live = LiveTurn { ordinal, text, cancellation, interruption, caller_trace };
        self.live.replace(Some(live.clone()));
        self.begun.set(self.begun.get() + 1);
        (live, registration)
    }

    /// Notes that a turn has ended. The next one may run already, and stays.
    pub(super) fn end(&self, ended: &LiveTurn) {
        self.live.borrow_mut().take_if(|live| Rc::ptr_eq(&live.text, &ended.text));
    }

    fn live(&self) -> Option<LiveTurn> {
        self.live.borrow().clone()
    }
}
