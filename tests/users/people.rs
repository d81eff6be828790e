//! Users of a bed, whose requests a key sends that acts for them, or their own tickets.

use bed::*;
use serde_json::{Value, json};

/// The bed with a key for tickets, and an agent context for each of two ways.
pub(crate) fn people() -> Bed {
    let bed = Bed::new();
    let secret = "c2VjcmV0IG9mIGZvcnR5LWVpZ2h0IGJ5dGVzLCB3aGljaCBpcyBlbm91Z2ggcmVhbGx5IQ==";
    bed.deploy("TICKET_KEYS", &json!([{ "Id": "t1", "Secret": secret }]).to_string());
    bed
}

/// A user turn of a session.
pub(crate) fn words(session: &str, id: &str, instruction: &str) -> Value {
    with(turn(id, instruction), json!({ "SessionId": session }))
}

/// Requests of users.
pub(crate) trait Asking {
    /// Sends a request that a key makes for a user.
    fn send_as(&self, user: &str, method: &str, target: &str, body: &str) -> Pending;

    /// Does the same and waits for the response.
    fn ask_as(&self, user: &str, method: &str, target: &str, body: &str) -> Heard;

    /// The end of a turn of a user.
    fn say(&self, user: &str, session: &str, id: &str, instruction: &str) -> Heard;

    /// The `Sessions` of a page.
    fn list(&self, user: &str, query: &str) -> Vec<Value>;

    /// The ids of the sessions of a page.
    fn ids(&self, user: &str, query: &str) -> Vec<String>;

    /// A ticket of a user with every operation.
    fn ticket(&self, user: &str) -> String;

    /// Sends a request with a ticket and waits for the response.
    fn ask_with(&self, ticket: &str, method: &str, target: &str, body: &str) -> Heard;

    /// Rings the alarms of users and sessions until none is set for the next minutes.
    fn ring_for(&self, minutes: u64);
}

impl Asking for Bed {
    fn send_as(&self, user: &str, method: &str, target: &str, body: &str) -> Pending {
        self.ask(method, target, &[("Aptix-User", user)], body)
    }

    fn ask_as(&self, user: &str, method: &str, target: &str, body: &str) -> Heard {
        self.wait(&self.send_as(user, method, target, body)).unwrap()
    }

    fn say(&self, user: &str, session: &str, id: &str, instruction: &str) -> Heard {
        self.ask_as(user, "POST", "/execute", &words(session, id, instruction).to_string())
    }

    fn list(&self, user: &str, query: &str) -> Vec<Value> {
        let heard = self.ask_as(user, "GET", &format!("/sessions{query}"), "");
        heard.result()["Sessions"].as_array().unwrap().clone()
    }

    fn ids(&self, user: &str, query: &str) -> Vec<String> {
        let listed = self.list(user, query);
        listed.iter().map(|session| session["SessionId"].as_str().unwrap().to_owned()).collect()
    }

    fn ticket(&self, user: &str) -> String {
        let operations = ["Execute", "Answer", "Read", "List", "Rename", "Erase"];
        let body = json!({ "User": user, "Operations": operations, "ExpiresInS": 3600 });
        let minted = self.asked("POST", "/tickets", &body.to_string());
        minted.result()["Ticket"].as_str().unwrap().to_owned()
    }

    fn ask_with(&self, ticket: &str, method: &str, target: &str, body: &str) -> Heard {
        let bearer = format!("Bearer {ticket}");
        self.wait(&self.ask(method, target, &[("Authorization", &bearer)], body)).unwrap()
    }

    fn ring_for(&self, minutes: u64) {
        let until = self.world.executor.now_ms() + minutes * 60_000;
        self.settle();
        for _ in 0..1_000 {
            let world = &self.world;
            let users: Vec<_> = world.users.borrow().values().cloned().collect();
            let sessions: Vec<_> = world.sessions.borrow().values().cloned().collect();
            let of_users = users.iter().filter_map(|user| user.rings_at(world));
            let of_sessions = sessions.iter().filter_map(|session| session.rings_at(world));
            let next = of_users.chain(of_sessions).min();
            if next.is_none_or(|at| at > until) || !self.ring_next() {
                world.executor.set_now_ms(world.executor.now_ms().max(until));
                return;
            }
        }
        panic!("an alarm rings for ever");
    }
}

/// The rows of a user's object that `which` selects.
pub(crate) fn rows(bed: &Bed, user: &str, columns: &str) -> Vec<Value> {
    let user = bed.world.user(&format!("local/~{user}"));
    if user.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'sessions'").is_empty() {
        return Vec::new();
    }
    let rows = user.disk.read(&format!("SELECT {columns} FROM sessions ORDER BY session_id"));
    rows.into_iter().map(|row| json!(row)).collect()
}
