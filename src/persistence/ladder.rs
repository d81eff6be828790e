//! The ladder: how a session came to the rung of its window, and what it goes back to (interface §4).
//!
//! While a rung is tried, the window that the last call was taken with is kept; a crash loses neither of them.

use super::entry_seq::EntrySeq;
use super::records::{Session, Turn};
use super::window::{Ladder, Rung, Window};

/// After so long the first turn tries the rung below, in milliseconds.
const HOLDS_MS: u64 = 24 * 60 * 60 * 1000;

impl Session {
    /// Begins a turn's model call: the rung does not hold for another agent context or model, and in a turn's first call
    /// it holds for a day.
    pub(crate) fn begin_on_rung(&mut self, turn: &Turn, model: &str, chained: bool, now_ms: u64) {
        let service = self.service().to_owned();
        let is_of_another =
            |ladder: &Ladder| ladder.agent_context != service || ladder.model != model;
        if self.state.ladder.as_deref().is_some_and(is_of_another) {
            self.leave_ladder();
        }
        let Some(ladder) = &mut self.state.ladder else { return };
        let window = &mut self.state.window;
        let is_over = now_ms.saturating_sub(ladder.since) >= HOLDS_MS;
        let is_first = turn.progress.model_calls == 0;
        if let Some(rung) = window.rung.filter(|_| is_over && is_first && ladder.taken.is_none()) {
            ladder.taken = Some(window.clone());
            if let Some(whole) = ladder.whole.clone() {
                window.go_back_to(whole);
            }
            // Without a chain the whole conversation is what is sent anyway.
            window.rung = rung.below().filter(|below| chained || *below != Rung::Whole);
            self.state.window_moved = true;
        }
    }

    /// Goes back to what calls sent before the ladder.
    pub(super) fn leave_ladder(&mut self) {
        let Some(ladder) = self.state.ladder.take() else { return };
        let window = &mut self.state.window;
        if let Some(whole) = ladder.whole {
            window.go_back_to(whole);
        }
        (window.rung, window.turn, self.state.window_moved) = (None, None, true);
    }

    /// Goes back to what the last call was taken with, after what was tried below its rung was refused; false where it
    /// was no try of that kind.
    pub(crate) fn return_to_rung(&mut self) -> bool {
        let window = &mut self.state.window;
        let Some(ladder) = &mut self.state.ladder else { return false };
        let is_above = |taken: &Window| {
            taken.rung.is_some_and(|rung| Rung::above(window.rung).contains(&rung))
        };
        let Some(taken) = ladder.taken.clone().filter(is_above) else { return false };
        window.go_back_to(taken);
        self.state.window_moved = true;
        true
    }

    /// Climbs to a rung, after what calls sent so far was refused.
    pub(crate) fn climb_to(&mut self, rung: Rung, turn: &Turn, model: &str) {
        let agent_context = self.service().to_owned();
        let window = &mut self.state.window;
        let ladder = self.state.ladder.get_or_insert_with(|| {
            let model = model.to_owned();
            Box::new(Ladder { agent_context, model, since: 0, whole: None, taken: None })
        });
        ladder.taken.get_or_insert_with(|| window.clone());
        if rung == Rung::Turn {
            ladder.whole.get_or_insert_with(|| window.clone());
        }
        (window.rung, window.turn, self.state.window_moved) =
            (Some(rung), Some(turn.ordinal), true);
    }

    /// Notes that a call was taken: what it was made with holds from here on.
    pub(crate) fn hold_rung(&mut self, now_ms: u64) {
        let Some(ladder) = &mut self.state.ladder else { return };
        if ladder.taken.take().is_some() {
            ladder.since = now_ms;
        }
        match self.state.window.rung {
            Some(Rung::Turn) => {}
            Some(Rung::Whole | Rung::Items | Rung::Plain) => ladder.whole = None,
            None => {
                self.state.window.turn = None;
                self.state.ladder = None;
            }
        }
    }

    /// Goes back to what the last call was taken with, because no rung helps.
    pub(crate) fn step_down(&mut self, turn: &mut Turn) {
        let Some(ladder) = &mut self.state.ladder else { return };
        let Some(taken) = ladder.taken.take() else { return };
        let window = &mut self.state.window;
        window.go_back_to(taken);
        if window.rung != Some(Rung::Turn) {
            ladder.whole = None;
        }
        if window.rung.is_none() {
            window.turn = None;
            self.state.ladder = None;
        }
        self.state.window_moved = true;
        let sends_alike = |before: &mut Window| before.from == self.state.window.from;
        turn.progress.window_before.take_if(sends_alike);
    }

    /// The rung of a session that goes on from an earlier place of this one, whose last entry it is: what the service
    /// refuses is known, and turns count as left out only where the same are.
    pub(super) fn rung_at(&self, last: EntrySeq) -> Option<Rung> {
        let taken = self.state.ladder.as_ref().and_then(|ladder| ladder.taken.as_ref());
        let window = taken.unwrap_or(&self.state.window);
        let cuts_later = window.rung == Some(Rung::Turn) && window.from > last;
        if cuts_later { Some(Rung::Plain) } else { window.rung }
    }

    /// Gives the rewound window its rung.
    pub(super) fn rewind_to_rung(&mut self, rung: Option<Rung>) {
        self.state.window.rung = rung;
        self.state.ladder.take_if(|_| rung.is_none());
        if let Some(ladder) = &mut self.state.ladder {
            ladder.taken = None;
            ladder.whole.take_if(|_| rung != Some(Rung::Turn));
        }
    }
}
