//! The epochs of a session, which its erasures part: what was received in an earlier one is not accepted
//! any more (interface §9).

/// The epoch of a session, as this instance knows it. Requests of an earlier instance ended with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch {
    /// The number of erasures that have begun, and of those that were stored.
    steps: u64,
    /// When the Worker in front received the latest request to erase, in milliseconds since the epoch of
    /// Unix.
    erased_at: u64,
}

/// When a submission was received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// The epoch in which it came to the object.
    pub(super) epoch: Epoch,
    /// When the Worker in front received it, in milliseconds since the epoch of Unix.
    pub(super) at_ms: u64,
}

impl Epoch {
    /// The epoch that begins with a request to erase.
    pub(super) fn asked(self, at_ms: u64) -> Self {
        Self { erased_at: self.erased_at.max(at_ms), ..self.stored() }
    }

    /// The epoch that begins when an erasure is stored.
    pub(super) fn stored(self) -> Self {
        Self { steps: self.steps + 1, ..self }
    }

    /// Whether a submission was received before this epoch began. One that was overtaken on its way to
    /// the object shows by its time.
    pub(super) fn is_after(self, received: Received) -> bool {
        received.epoch != self || received.at_ms < self.erased_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_with_a_request_to_erase_and_with_the_erasure() {
        let first = Epoch::default();
        let asked = first.asked(10);
        let stored = asked.stored();
        for (epoch, came_in, at_ms, after) in [
            (first, first, 0, false),
            (asked, first, 20, true),
            (stored, asked, 20, true),
            // It was sent before the request to erase, and came after it.
            (stored, stored, 9, true),
            (stored, stored, 10, false),
            // An older request to erase came late.
            (stored.asked(5), stored.asked(5), 9, true),
        ] {
            let received = Received { epoch: came_in, at_ms };
            assert_eq!(epoch.is_after(received), after, "{epoch:?} {received:?}");
        }
    }
}
