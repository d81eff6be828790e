//! Which model service a session's calls go to: that of its agent context, or of a fall-back (interface §4). What is
//! known of one service, such as a chain of responses, holds for no other.

use super::records::{Chain, Session};

impl Session {
    /// The agent context whose model service calls go to.
    pub(crate) fn service(&self) -> &str {
        self.state.window.service.as_deref().unwrap_or(&self.agent_context)
    }

    /// Has calls go to the model service of another agent context, `None` for the session's own. It gets the whole
    /// conversation. False where they went there before.
    pub(crate) fn turn_to(&mut self, service: Option<&str>) -> bool {
        if self.state.window.service.as_deref() == service {
            return false;
        }
        self.state.window.service = service.map(str::to_owned);
        self.forget_service();
        true
    }

    /// Knows again what the stored session knows of the service that calls go to: it has answered last, and the calls
    /// since then, at another service, came to nothing. False where another service has answered last. `turn` is the
    /// ordinal of the turn that runs.
    pub(crate) fn know_again(&mut self, stored: &Self, turn: u64) -> bool {
        if self.state.window.service != stored.state.window.service {
            return false;
        }
        self.chain_head.clone_from(&stored.chain_head);
        self.tools_sent.clone_from(&stored.tools_sent);
        let (state, stored) = (&mut self.state, &stored.state);
        state.chain.clone_from(&stored.chain);
        state.ladder.clone_from(&stored.ladder);
        state.window.clone_from(&stored.window);
        state.window.turn = state.ladder.is_some().then_some(turn);
        state.window_moved = stored.window_moved;
        (state.reasoning_refused, state.background_refused) =
            (stored.reasoning_refused, stored.background_refused);
        true
    }

    /// Forgets what is known of the model service that calls went to.
    pub(super) fn forget_service(&mut self) {
        self.drop_chain();
        self.tools_sent = None;
        let state = &mut self.state;
        state.chain = Chain::default();
        (state.reasoning_refused, state.background_refused) = (false, false);
        // It has counted other tokens.
        state.window_moved = true;
    }
}
