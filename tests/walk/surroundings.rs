//! What the operator, the machine and others do beside the users, and what users do at length.

use std::rc::Rc;

use bed::*;
use serde_json::json;

use super::credentials::{Credential, mint};
use super::story::Story;
use crate::users::people::words;

/// How long a neighbour may wait, in milliseconds.
const NEIGHBOUR_MS: u64 = 60_000;

impl Story<'_> {
    pub(super) fn mint(&mut self, user: &'static str, decides: bool) {
        let minted = mint(self.walk.bed, user, decides);
        self.tickets.extend(minted.map(Credential::Ticket));
    }

    /// The operator voids what a user was given.
    pub(super) fn void(&mut self, method: &str, user: &'static str, target: &str) {
        let executor = &self.walk.bed.world.executor;
        executor.set_now_ms(executor.now_ms() + 1);
        let answer = self.walk.bed.wait(&self.walk.bed.ask(method, target, &[], ""));
        let Some(answer) = answer else { return };
        self.walk.say(format_args!("operator: {method} {target}: {}", answer.status));
        if answer.status != 200 {
            return;
        }
        for credential in self.tickets_of(user) {
            if let Credential::Ticket(held) = credential {
                held.is_void.set(true);
            }
        }
        // Tickets say in whole seconds when they were issued.
        executor.set_now_ms(executor.now_ms() + 1_000);
        self.mint(user, false);
        self.mint(user, true);
    }

    pub(super) fn crash(&mut self, user: &str, session: &str) {
        let world = &self.walk.bed.world;
        let (of_session, of_user) = (format!("local/~{user}/{session}"), format!("local/~{user}"));
        let is_session = self.walk.random.chance(70);
        let disk = match is_session {
            true => Rc::clone(&world.session(&of_session).disk),
            false => Rc::clone(&world.user(&of_user).disk),
        };
        let soon = 1 + self.walk.random.below(10);
        let crash = match self.walk.random.chance(50) {
            true => Crash::AfterStep(disk.steps.get() + soon),
            false => Crash::BeforeWrite(disk.writes.get() + soon),
        };
        self.walk.say(format_args!("{of_session}: {is_session} {crash:?}"));
        match is_session {
            true => world.session(&of_session).restart_to_crash(world, Some(crash)),
            false => world.user(&of_user).restart_to_crash(world, Some(crash)),
        }
        self.walk.note("a crash");
    }

    /// Announces a long body and sends its first byte.
    pub(super) fn hold(&mut self, user: &str) {
        if self.held < 3 {
            self.held += 1;
            let headers = [("Aptix-User", user), ("Content-Length", "8000000")];
            let body = vec![Piece::text("{"), Piece::EndlessSilence];
            drop(self.walk.bed.ask_in_pieces("POST", "/execute", &headers, body));
            self.walk.note("a body that does not come");
        }
    }

    /// Says so much that it leaves the conversation soon, where that is compacted.
    pub(super) fn say_much(&mut self, user: &'static str, session: &str) {
        let more = 1_000 + self.walk.random.below(1_000);
        self.say(user, session, more, "");
    }

    /// Steers of megabytes, more than may wait, for a turn of a new session that waits for its client.
    pub(super) fn steer_at_length(&mut self, user: &'static str) {
        let session = format!("{}9", &user[..1]);
        self.sessions.get_mut(user).unwrap().push(session.clone());
        self.say(user, &session, 0, "[plan: client, fragile]");
        self.pass(2_000);
        let Some(turn) = self.newest_turn(&session) else { return };
        for _ in 0..3 {
            self.steers += 1;
            let much = json!({ "InputArtifacts": artifacts(3_600_000) });
            let body = with(steer(&format!("s{}", self.steers), "Much."), much).to_string();
            let target = format!("/sessions/{session}/turns/{turn}/steer");
            self.send_by("long steer", &Credential::Key(user), "POST", &target, &body);
        }
    }

    /// Somebody else's turn is served, whatever is held open.
    pub(super) fn serve_neighbour(&mut self) {
        let bed = self.walk.bed;
        bed.world.model.mend();
        let since = bed.world.executor.now_ms();
        let turn = words("neighbour", "t1", "Hello");
        let pending = bed.send(&turn);
        while pending.heard().is_none() {
            assert!(bed.step(), "the neighbour is never served");
            let waited = bed.world.executor.now_ms() - since;
            assert!(waited < NEIGHBOUR_MS, "the neighbour waits for {waited} ms");
        }
        pending.heard().unwrap().final_text();
        self.walk.note("a neighbour was served");
    }
}
