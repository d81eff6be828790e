//! Two users, three sessions each, and whatever they, an operator and the machine may do, in random order: turns, renames,
//! removals, erasures, revocations, alarms and crashes. The seed is printed where an invariant breaks, and with
//! `APTIX_SEED` the test runs with that seed alone and prints what it does.

use std::collections::BTreeMap;

use bed::*;
use serde_json::{Value, json};

use super::people::{Asking, people, rows, words};

const SEEDS: u64 = 75;
const LONG_SEEDS: u64 = 5_000;

const USERS: [&str; 2] = ["alice", "bob"];
const SESSIONS: [&str; 3] = ["a", "b", "c"];

type Met = BTreeMap<String, usize>;

/// What happens to the objects, and what is waited for.
struct Play<'a> {
    /// What is known of a request is what it asks for.
    walk: Walk<'a, String>,
    tickets: BTreeMap<&'static str, Vec<String>>,
    turns: u64,
}

impl Play<'_> {
    fn send(&mut self, what: &str, user: &str, method: &str, target: &str, body: &str) {
        self.walk.say(format_args!("{user}: {what} {target}"));
        let tickets = self.tickets.get(user).cloned().unwrap_or_default();
        let pending = if !tickets.is_empty() && self.walk.random.chance(40) {
            let bearer = format!("Bearer {}", self.walk.random.pick(&tickets));
            self.walk.bed.ask(method, target, &[("Authorization", &bearer)], body)
        } else {
            self.walk.bed.send_as(user, method, target, body)
        };
        self.walk.wait_for(what.to_owned(), pending);
    }

    fn operate(&mut self, what: &str, method: &str, target: &str) {
        self.walk.say(format_args!("operator: {what} {target}"));
        let pending = self.walk.bed.ask(method, target, &[], "");
        self.walk.wait_for(what.to_owned(), pending);
    }

    fn act(&mut self) {
        let user = *self.walk.random.pick(&USERS);
        let session = *self.walk.random.pick(&SESSIONS);
        let path = format!("/sessions/{session}");
        match self.walk.random.below(16) {
            0..=4 => {
                self.turns += 1;
                let plan = if self.walk.random.chance(20) { " [plan: client]" } else { "" };
                let id = format!("t{}", self.turns);
                let turn = words(session, &id, &format!("Words {id}{plan}"));
                self.send("turn", user, "POST", "/execute", &turn.to_string());
            }
            5 => self.send("rename", user, "PATCH", &path, &json!({ "Title": "Mine" }).to_string()),
            6 | 7 => self.send("remove", user, "DELETE", &path, ""),
            8 => self.send("list", user, "GET", "/sessions", ""),
            9 => {
                let target = format!("/users/{user}");
                let what =
                    if self.walk.random.chance(50) { ("erase", "DELETE") } else { ("view", "GET") };
                self.operate(what.0, what.1, &target);
            }
            10 => self.operate("revoke", "POST", &format!("/users/{user}/revoke")),
            11 => {
                let ticket = self.walk.bed.ticket(user);
                self.tickets.entry(user).or_default().push(ticket);
            }
            12 => {
                self.walk.note("an alarm");
                let wait_ms = self.walk.random.below(40_000);
                let world = &self.walk.bed.world;
                world.executor.set_now_ms(world.executor.now_ms() + wait_ms);
                self.walk.bed.ring_due();
            }
            _ => self.crash(user, session),
        }
    }

    fn crash(&mut self, user: &str, session: &str) {
        let world = &self.walk.bed.world;
        let session = format!("local/~{user}/{session}");
        let user = format!("local/~{user}");
        let is_session = self.walk.random.chance(50);
        let disk = match is_session {
            true => std::rc::Rc::clone(&world.session(&session).disk),
            false => std::rc::Rc::clone(&world.user(&user).disk),
        };
        let soon = 1 + self.walk.random.below(8);
        let crash = match self.walk.random.chance(50) {
            true => Crash::AfterStep(disk.steps.get() + soon),
            false => Crash::BeforeWrite(disk.writes.get() + soon),
        };
        self.walk.say(format_args!("{user} {session}: {is_session} {crash:?}"));
        match is_session {
            true => world.session(&session).restart_to_crash(world, Some(crash)),
            false => world.user(&user).restart_to_crash(world, Some(crash)),
        }
        self.walk.note("a crash");
    }

    fn pass(&mut self, steps: u64) {
        for (what, response) in self.walk.pass(steps, |_| ()) {
            let (status, code) = response.failure();
            let expected = [200, 401, 404, 409, 500];
            assert!(expected.contains(&status), "{what}: {}", response.text);
            let found = if status == 200 { what } else { format!("{what}: {code}") };
            self.walk.note(&found);
        }
    }
}

/// Whatever was begun ends.
fn settle(play: &mut Play<'_>) {
    let world = &play.walk.bed.world;
    for user in world.users.borrow().values().cloned().collect::<Vec<_>>() {
        user.restart(world);
    }
    for session in world.sessions.borrow().values().cloned().collect::<Vec<_>>() {
        session.restart(world);
    }
    play.pass(u64::MAX);
    play.walk.bed.ring_for(10);
    play.pass(u64::MAX);
    assert!(!play.walk.is_waited(), "a request was never answered");
}

/// What holds of each user when nothing is left to happen.
fn check(bed: &Bed) {
    for user in USERS {
        let known = rows(bed, user, "session_id, listing_state, incarnation");
        let left = |listing_state: &Value| {
            ["expiring", "erasing", "collected"].iter().any(|it| listing_state == it)
        };
        assert!(!known.iter().any(|row| left(&row["listing_state"])), "{user}: {known:?}");
        let listed = bed.list(user, "");
        for session in SESSIONS {
            let name = format!("local/~{user}/{session}");
            let disk = &bed.world.session(&name).disk;
            let begun = disk.session();
            let row = known.iter().find(|row| row["session_id"] == session);
            let shown = listed.iter().find(|shown| shown["SessionId"] == session);
            match begun {
                None => assert_eq!(shown, None, "{name} is a ghost"),
                Some(stored) => {
                    let state = &stored["state"];
                    let row = row.unwrap_or_else(|| panic!("the index does not know {name}"));
                    assert_eq!(row["incarnation"], state["registration"], "{name}");
                    let shown = shown.unwrap_or_else(|| panic!("{name} is missing"));
                    let turns = disk.read("SELECT COUNT(*) AS turns FROM turns");
                    assert_eq!(shown["Turns"], turns[0]["turns"], "{name}");
                }
            }
        }
    }
}

/// Erases the user and compares the receipt with what the sessions held; false where it is not of all of them.
fn erase(bed: &Bed, user: &str) -> bool {
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
    let (mut sessions, mut held) = (0, 0);
    for session in SESSIONS {
        let disk = &bed.world.session(&format!("local/~{user}/{session}")).disk;
        let count = |statement: &str| {
            disk.read(statement).first().map_or(0, |row| row["n"].as_u64().unwrap())
        };
        sessions += count("SELECT COUNT(*) AS n FROM session");
        for table in [
            "turns",
            "turns",
            "conversation",
            "submissions",
            "model_calls",
            "calls",
            "mode_history",
        ] {
            held += count(&format!("SELECT COUNT(*) AS n FROM {table}"));
        }
        held += count("SELECT COUNT(model_call) AS n FROM turns");
    }
    let erased = bed.asked("DELETE", &format!("/users/{user}"), "");
    if erased.status == 404 {
        assert_eq!((sessions, erased.failure().1), (0, "user_not_found"));
        return false;
    }
    let receipt = erased.result();
    let is_whole = receipt["CompletedAt"].is_string() && receipt["Sessions"]["Erased"] == sessions;
    if is_whole {
        assert_eq!(receipt["Rows"], held, "{receipt}");
    }
    bed.ring_for(2);
    for session in SESSIONS {
        let disk = &bed.world.session(&format!("local/~{user}/{session}")).disk;
        assert_eq!(disk.read("SELECT name FROM sqlite_master").len(), 0);
    }
    is_whole && sessions > 0
}

fn run(seed: u64, loud: bool) -> Met {
    let bed = people();
    let mut play = Play { walk: Walk::new(&bed, seed, loud), tickets: BTreeMap::new(), turns: 0 };
    for _ in 0..24 {
        play.act();
        let steps = play.walk.steps();
        play.pass(steps);
    }
    settle(&mut play);
    check(&bed);
    for user in USERS {
        // The last receipt of an erasure that is complete may not have been given yet, whatever began since.
        let disk = &bed.world.user(&format!("local/~{user}")).disk;
        if !disk.read("SELECT 1 FROM user WHERE receipt IS NOT NULL").is_empty() {
            bed.asked("DELETE", &format!("/users/{user}"), "").result();
        }
        if erase(&bed, user) {
            play.walk.note("a whole receipt");
        }
        assert_eq!(bed.ids(user, ""), Vec::<String>::new());
    }
    play.walk.met
}

#[test]
fn whatever_users_operators_and_crashes_do_no_session_is_lost_and_none_is_a_ghost() {
    let expected = [
        "turn",
        "turn: turn_aborted",
        "turn: credential_expired",
        "turn: internal",
        "rename",
        "rename: session_not_found",
        "remove",
        "remove: session_not_found",
        "list",
        "erase",
        "erase: user_not_found",
        "revoke",
        "a crash",
        "an alarm",
        "a whole receipt",
    ];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
