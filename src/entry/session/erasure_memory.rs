//! What an instance knows of its session's erasures: which submissions were received before the latest
//! one (interface §9). The erasure itself is in `session_erasure`.

use std::cell::{Cell, RefCell};

use futures_util::lock::Mutex;

use crate::contract::{ErrorCode, Fault};
use crate::persistence::ErasureReceipt;
use crate::users::MOST_SKEW_MS;

/// What this instance knows of the session's erasures.
#[derive(Debug, Default)]
pub(super) struct ErasureMemory {
    generation: Cell<Generation>,
    /// The receipt after the latest deletions at the model service.
    pub(super) receipt: RefCell<Option<ErasureReceipt>>,
    /// Registrations up to this one begin no session any more; 0 for none.
    void_incarnation: Cell<u64>,
    /// Held while files and rows are erased: an erasure that ended later than another one would delete the files of the
    /// session that has begun anew.
    pub(super) under_way: Mutex<()>,
}

/// The generation of a session, as this instance knows it: an erasure ends one, and a submission of an
/// ended one is not accepted any more (interface §9). Requests to an earlier instance ended with that
/// instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generation {
    /// The number of erasures that have begun, and of erasures that were stored.
    steps: u64,
    /// When the Worker in front received the latest request to erase, in milliseconds since the Unix
    /// epoch.
    erased_at: u64,
}

/// When a submission was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// The generation in which it came to the object.
    pub(super) generation: Generation,
    /// When the Worker in front received it, in milliseconds since the Unix epoch.
    pub(super) at_ms: u64,
}

impl ErasureMemory {
    /// The present generation.
    pub(super) fn generation(&self) -> Generation {
        self.generation.get()
    }

    /// Whether the submission belongs to a generation that an erasure has ended. The time of a submission shows whether a
    /// request to erase overtook it on the way to the object.
    pub(super) fn has_ended_generation_of(&self, received: Received, now_ms: u64) -> bool {
        let present = self.generation.get();
        // After an erasure by a clock that was set back since, no session would begin until it has caught up.
        let counts = present.erased_at <= now_ms.saturating_add(MOST_SKEW_MS);
        received.generation != present || (counts && received.at_ms < present.erased_at)
    }

    /// Notes a request to erase, which the Worker in front received at `received_at`.
    pub(super) fn begin(&self, received_at: u64) {
        self.overtake(received_at);
        self.stored();
    }

    /// Notes when the Worker in front received a request to erase a session that has not begun. Nothing changes where a
    /// later request is known.
    pub(super) fn overtake(&self, received_at: u64) {
        let present = self.generation.get();
        let erased_at = present.erased_at.max(received_at);
        self.generation.set(Generation { erased_at, ..present });
    }

    /// Makes incarnations of the session void, up to that one: the user's object forgets them.
    pub(super) fn void(&self, incarnation: u64) {
        self.void_incarnation.set(self.void_incarnation.get().max(incarnation));
    }

    /// Whether an incarnation begins no session any more.
    pub(super) fn is_void(&self, incarnation: u64) -> bool {
        incarnation <= self.void_incarnation.get()
    }

    /// Notes that the rows were erased.
    pub(super) fn stored(&self) {
        let present = self.generation.get();
        self.generation.set(Generation { steps: present.steps + 1, ..present });
    }
}

/// `turn_aborted`: the session was erased after the submission was received.
pub(super) fn was_erased() -> Fault {
    let message = "The session was erased before this request was accepted. A user turn that is sent again begins it anew.";
    Fault::new(ErrorCode::TurnAborted, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_ends_with_a_request_to_erase_and_with_the_erasure() {
        let ended = |memory: &ErasureMemory, generation, at_ms| {
            memory.has_ended_generation_of(Received { generation, at_ms }, at_ms)
        };
        let memory = ErasureMemory::default();
        let first = memory.generation();
        assert!(!ended(&memory, first, 0));
        memory.begin(10);
        let began = memory.generation();
        assert!(ended(&memory, first, 20));
        memory.stored();
        assert!(ended(&memory, began, 20));
        // It was sent before the request to erase, and came after it.
        assert!(ended(&memory, memory.generation(), 9));
        assert!(!ended(&memory, memory.generation(), 10));
        // An older request to erase came late.
        memory.begin(5);
        assert!(ended(&memory, memory.generation(), 9));
        // A request to erase overtook what begins the session, and one of no time changes nothing.
        let overtaken = ErasureMemory::default();
        overtaken.overtake(0);
        assert!(!ended(&overtaken, first, 9));
        overtaken.overtake(10);
        assert!(ended(&overtaken, first, 9));
        assert!(!ended(&overtaken, overtaken.generation(), 10));
        // The clock was set back.
        overtaken.overtake(10 + 2 * MOST_SKEW_MS);
        let ahead = overtaken.generation();
        assert!(ended(&overtaken, ahead, 10 + MOST_SKEW_MS));
        assert!(!ended(&overtaken, ahead, 9 + MOST_SKEW_MS));
    }
}
