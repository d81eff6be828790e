//! Forks (interface §17): a new session that goes on from a turn of another one.

mod approvals;
mod copies;
mod crashes;
mod histories;
mod refusals;
mod windows;

use std::rc::Rc;

use bed::*;
use serde_json::{Value, json};

/// Requests to sessions by name.
pub(crate) trait Forking {
    /// The end of a turn.
    fn say(&self, session: &str, id: &str, words: &str) -> Heard;

    /// Sends a fork of `p` as `f`, with further members of the body.
    fn send_fork(&self, members: Value) -> Pending;

    /// Does the same and waits for the response.
    fn fork(&self, members: Value) -> Heard;

    /// `Result` of `GET` below a session.
    fn look(&self, session: &str, below: &str) -> Value;

    /// The object of a session.
    fn object(&self, session: &str) -> Rc<SessionObject>;

    /// The body of the newest model call, without what names the session.
    fn latest_request(&self) -> Value;

    /// Lets the alarms of all sessions ring, for as long as some are soon.
    fn pass_alarms(&self);
}

impl Forking for Bed {
    fn say(&self, session: &str, id: &str, words: &str) -> Heard {
        self.post(&with(turn(id, words), json!({ "SessionId": session })))
    }

    fn send_fork(&self, members: Value) -> Pending {
        let body = with(json!({ "SessionId": "f" }), members);
        self.ask("POST", "/sessions/p/fork", &[], &body.to_string())
    }

    fn fork(&self, members: Value) -> Heard {
        self.wait(&self.send_fork(members)).expect("the front door lives")
    }

    fn look(&self, session: &str, below: &str) -> Value {
        let heard = self.asked("GET", &format!("/sessions/{session}{below}"), "");
        heard.result().clone()
    }

    fn object(&self, session: &str) -> Rc<SessionObject> {
        self.world.session(&format!("local/{session}"))
    }

    fn latest_request(&self) -> Value {
        let mut body: Value = serde_json::from_str(&self.world.model.latest_body()).unwrap();
        assert!(body.as_object_mut().unwrap().remove("prompt_cache_key").is_some());
        body
    }

    fn pass_alarms(&self) {
        self.settle();
        for _ in 0..20 {
            if !self.ring_next() {
                return;
            }
        }
    }
}

/// The tables of an object's storage.
pub(crate) fn tables(bed: &Bed, session: &str) -> Vec<String> {
    let rows = bed
        .object(session)
        .disk
        .read("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}
