//! What two users, their page, whoever decides, an operator and the machine do.

use std::collections::BTreeMap;

use bed::*;
use serde_json::{Value, json};

use super::bills::Bills;
use super::credentials::{By, Credential};
use super::decisions::Decisions;
use super::setting::Setting;
use crate::users::people::{Asking, words};

const USERS: [&str; 2] = ["alice", "bob"];

/// More steps than any run takes.
const ALL: u64 = 300_000;

/// A request that was sent.
pub(super) struct Asked {
    what: &'static str,
    /// Its credential was void.
    is_void: bool,
    /// A submission, and whose session it is about.
    submission: Option<(&'static str, Value)>,
}

pub(super) struct Story<'a> {
    pub(super) walk: Walk<'a, Asked>,
    by: By,
    /// Responses are deleted at the service with their session.
    deletes: bool,
    pub(super) sessions: BTreeMap<&'static str, Vec<String>>,
    pub(super) tickets: Vec<Credential>,
    /// What was sent to `/execute`, and whose session it is about.
    requests: Vec<(&'static str, Value)>,
    /// Continuations whose server tool has failed, and the same in forks that have copied their turns.
    failed: Vec<(&'static str, Value)>,
    copied: Vec<(&'static str, Value)>,
    turns: u64,
    pub(super) steers: u64,
    forks: u64,
    pub(super) held: u64,
    decisions: Decisions,
    bills: Bills,
    /// Users who were erased: what they have spent is forgotten with them.
    erased: Vec<&'static str>,
}

impl Story<'_> {
    fn act(&mut self) {
        let user = *self.walk.random.pick(&USERS);
        let session = self.walk.random.pick(&self.sessions[user]).clone();
        if self.walk.random.chance(30) && self.go_on_in_a_fork() {
            return;
        }
        match self.walk.random.below(100) {
            0..20 => self.say_something(user, &session),
            20..22 => self.say_much(user, &session),
            22..40 => self.answer(user, &session),
            40..52 => self.repeat(user),
            52..60 => {
                self.steers += 1;
                let interrupt = json!({ "Interrupt": self.walk.random.chance(60) });
                let body = with(steer(&format!("s{}", self.steers), "More."), interrupt);
                self.of_newest_turn("steer", user, &session, &body.to_string());
            }
            60..66 => self.of_newest_turn("cancel", user, &session, ""),
            66..74 => _ = self.fork(user, &session),
            74..76 => {
                self.send("erase", user, "DELETE", &format!("/sessions/{session}"), "");
                self.walk.note("an erasure");
            }
            76..78 => self.void("POST", user, &format!("/users/{user}/revoke")),
            78..79 => {
                self.void("DELETE", user, &format!("/users/{user}"));
                self.walk.note("a user's erasure");
                self.erased.push(user);
            }
            79..83 => {
                let decides = self.walk.random.chance(50);
                self.mint(user, decides);
            }
            83..86 => {
                let narrower = json!({ "ExpiresInS": 60 }).to_string();
                self.send_by_ticket("mint", user, "POST", "/tickets", &narrower);
            }
            86..90 => {
                let question = json!({ "Query": "words" }).to_string();
                self.send_by_ticket("search", user, "POST", "/workspaces/w/search", &question);
            }
            90..93 => {
                let status = *self.walk.random.pick(&[401, 500]);
                let well = self.walk.random.below(3) as usize;
                let fault = http_error(status, json!({}), &[]);
                self.walk.bed.world.model.spoil_once_after(well, fault);
            }
            93..97 => self.crash(user, &session),
            97..99 => {
                let wait_ms = self.walk.random.below(40_000);
                let executor = &self.walk.bed.world.executor;
                executor.set_now_ms(executor.now_ms() + wait_ms);
                self.walk.bed.ring_due();
            }
            _ => self.hold(user),
        }
    }

    /// Asks for a fork of a session; the fork's id.
    fn fork(&mut self, user: &'static str, session: &str) -> String {
        self.forks += 1;
        let new = format!("{session}f{}", self.forks);
        let body = json!({ "SessionId": new }).to_string();
        self.send("fork", user, "POST", &format!("/sessions/{session}/fork"), &body);
        if self.sessions[user].len() < 6 {
            self.sessions.get_mut(user).unwrap().push(new.clone());
        }
        new
    }

    /// Whoever has seen an approved call fail forks the session and sends the decision again there; false where nobody
    /// has.
    fn go_on_in_a_fork(&mut self) -> bool {
        if let Some((user, mut request)) = self.failed.pop() {
            let session = request["SessionId"].as_str().unwrap().to_owned();
            request["SessionId"] = self.fork(user, &session).into();
            self.copied.push((user, request));
            return true;
        }
        if self.copied.is_empty() {
            return false;
        }
        let (user, request) = self.walk.random.pick(&self.copied).clone();
        let credential = self.decider(user).filter(|_| self.walk.random.chance(70));
        let credential = credential.unwrap_or(Credential::Key(user));
        let session = request["SessionId"].as_str().unwrap().to_owned();
        if self.walk.random.chance(40) {
            self.answer(user, &session);
        } else {
            self.submit(user, &credential, request);
        }
        true
    }

    fn say_something(&mut self, user: &'static str, session: &str) {
        const PLANS: [&str; 6] = [
            "",
            "[plan: server]",
            "[plan: fragile]",
            "[plan: fragile]",
            "[plan: client, fragile]",
            "[plan: gated]",
        ];
        let plan = *self.walk.random.pick(&PLANS);
        let most = self.walk.random.below(200);
        self.say(user, session, most, plan);
    }

    /// Begins a turn whose message has so many words more.
    pub(super) fn say(&mut self, user: &'static str, session: &str, more: u64, plan: &str) {
        self.turns += 1;
        let id = format!("t{}", self.turns);
        let more = "word ".repeat(more as usize);
        let turn = words(session, &id, &format!("Words-{id}. {more}{plan}"));
        let credential = self.credential(user);
        self.submit(user, &credential, turn);
    }

    /// Answers whatever a session waits for.
    fn answer(&mut self, user: &'static str, session: &str) {
        let looks =
            Credential::Key(user).send(self.walk.bed, "GET", &format!("/sessions/{session}"), "");
        let Some(seen) = self.walk.bed.wait(&looks) else { return };
        let live = &seen.body["Result"]["LiveTurn"];
        let Some(calls) = live["ToolCalls"].as_array() else { return };
        self.decisions.note_questions(session, calls);
        let mut given = Vec::new();
        let mut asks = false;
        for call in calls {
            let id = call["ToolCallId"].as_str().unwrap();
            let is_question = call["Name"] == "agent_approve_tool";
            asks |= is_question;
            if is_question && id.contains('.') {
                self.walk.note("a fork asked anew");
            }
            let approved = json!({ "Approved": self.walk.random.chance(85) });
            given.push((id, if is_question { approved } else { json!(1) }));
        }
        let turn = live["TurnId"].as_str().unwrap();
        let request = with(results(turn, &given), json!({ "SessionId": session }));
        let mut credential = self.credential(user);
        if asks && self.walk.random.chance(75) {
            credential = self.decider(user).unwrap_or(credential);
        }
        self.submit(user, &credential, request);
    }

    /// Sends an earlier request again: to its session, to another one, or what a fork has copied to the fork.
    fn repeat(&mut self, user: &'static str) {
        let session = self.walk.random.pick(&self.sessions[user]).clone();
        let parent = session.rsplit_once('f').map(|(parent, _)| parent.to_owned());
        let of_parent = parent.filter(|_| self.walk.random.chance(70));
        let is_meant = |(of, request): &&(&str, Value)| {
            *of == user && of_parent.as_ref().is_none_or(|parent| request["SessionId"] == **parent)
        };
        let known: Vec<&Value> =
            self.requests.iter().filter(is_meant).map(|(_, request)| request).collect();
        let Some(newest) = known.last() else { return };
        let is_newest = self.walk.random.chance(50);
        let mut request =
            (if is_newest { *newest } else { *self.walk.random.pick(&known) }).clone();
        if of_parent.is_some() || self.walk.random.chance(30) {
            request["SessionId"] = session.into();
        }
        let credential = self.credential(user);
        self.submit(user, &credential, request);
    }

    fn submit(&mut self, user: &'static str, credential: &Credential, request: Value) {
        let session = request["SessionId"].as_str().unwrap().to_owned();
        if credential.may_decide(self.by) {
            self.decisions.note_sent(&session, &request);
        }
        let body = request.to_string();
        self.walk.say(format_args!("{user} {credential:?}: {body}"));
        let pending = credential.send(self.walk.bed, "POST", "/execute", &body);
        let submission = Some((user, request.clone()));
        let asked = Asked { what: "submission", is_void: credential.is_void(), submission };
        self.walk.wait_for(asked, pending);
        self.requests.push((user, request));
    }

    pub(super) fn newest_turn(&self, session: &str) -> Option<String> {
        let turn = self.requests.iter().rev().find(|(_, request)| request["SessionId"] == session);
        turn.map(|(_, request)| request["TurnId"].as_str().unwrap().to_owned())
    }

    fn of_newest_turn(
        &mut self,
        what: &'static str,
        user: &'static str,
        session: &str,
        body: &str,
    ) {
        let Some(turn) = self.newest_turn(session) else { return };
        self.send(what, user, "POST", &format!("/sessions/{session}/turns/{turn}/{what}"), body);
    }

    fn send(
        &mut self,
        what: &'static str,
        user: &'static str,
        method: &str,
        target: &str,
        body: &str,
    ) {
        let credential = self.credential(user);
        self.send_by(what, &credential, method, target, body);
    }

    fn send_by_ticket(
        &mut self,
        what: &'static str,
        user: &str,
        method: &str,
        target: &str,
        body: &str,
    ) {
        let own: Vec<Credential> = self.tickets_of(user);
        if !own.is_empty() {
            let credential = self.walk.random.pick(&own).clone();
            self.send_by(what, &credential, method, target, body);
        }
    }

    pub(super) fn send_by(
        &mut self,
        what: &'static str,
        credential: &Credential,
        method: &str,
        target: &str,
        body: &str,
    ) {
        self.walk.say(format_args!("{credential:?}: {method} {target} {body:.300}"));
        let pending = credential.send(self.walk.bed, method, target, body);
        let asked = Asked { what, is_void: credential.is_void(), submission: None };
        self.walk.wait_for(asked, pending);
    }

    pub(super) fn tickets_of(&self, user: &str) -> Vec<Credential> {
        let is_own = |credential: &&Credential| match credential {
            Credential::Key(_) => false,
            Credential::Ticket(held) => held.user == user,
        };
        self.tickets.iter().filter(is_own).cloned().collect()
    }

    /// The credential of the next request: one that is void, too, at times.
    fn credential(&mut self, user: &'static str) -> Credential {
        let mut own = self.tickets_of(user);
        if self.walk.random.chance(80) {
            own.retain(|credential| !credential.is_void());
        }
        if self.walk.random.chance(85) {
            own.retain(Credential::asks);
        }
        match own.is_empty() || self.walk.random.chance(40) {
            true => Credential::Key(user),
            false => self.walk.random.pick(&own).clone(),
        }
    }

    fn decider(&self, user: &'static str) -> Option<Credential> {
        let mut all = self.tickets_of(user);
        all.push(Credential::Key(user));
        all.into_iter().find(|credential| credential.may_decide(self.by))
    }

    pub(super) fn pass(&mut self, steps: u64) {
        let bills = &mut self.bills;
        let heard = self.walk.pass(steps, |bed| bills.look_at_calls(bed));
        for (Asked { what, is_void, submission }, answer) in heard {
            let (status, code) = answer.failure();
            if code == "server_tool_failed" {
                self.failed
                    .extend(submission.filter(|(_, request)| request["ToolResults"].is_array()));
            }
            if is_void {
                // What its ticket never permitted is refused as that.
                let is_refused = (status, code) == (401, "credential_expired")
                    || (status, code) == (403, "forbidden")
                    || status == 500;
                assert!(is_refused, "{what} with a void credential: {}", answer.text);
                self.walk.note("a void credential");
                continue;
            }
            self.walk.note(&format!("{what}: {status}"));
            let foreseen = match status {
                200 | 201 | 202 | 401 | 403 | 404 | 409 => true,
                500 => ["internal", "turn_interrupted", "server_tool_failed"].contains(&code),
                413 => what == "long steer" && code == "body_too_large",
                502 => true,
                _ => false,
            };
            assert!(foreseen, "{what}: {}", answer.text);
        }
        self.look();
    }

    /// Looks at what holds at any time.
    fn look(&mut self) {
        let bed = self.walk.bed;
        let owner = |session: &str| if session.starts_with('a') { "alice" } else { "bob" };
        let lost = |session: &str| {
            let object = bed.world.session(&format!("local/~{}/{session}", owner(session)));
            object.lives.get().saturating_sub(1) as usize
        };
        for _ in 0..self.decisions.look(bed, lost) {
            self.walk.note("a decision ran a call");
        }
        for (user, sessions) in &self.sessions {
            for session in sessions {
                self.bills.look_at(bed, user, session);
            }
        }
    }

    /// Whatever was begun ends, and each session goes on.
    fn end(&mut self) {
        let bed = self.walk.bed;
        bed.world.model.mend();
        let objects: Vec<_> = bed.world.users.borrow().values().cloned().collect();
        objects.iter().for_each(|user| user.restart(&bed.world));
        let objects: Vec<_> = bed.world.sessions.borrow().values().cloned().collect();
        objects.iter().for_each(|session| session.restart(&bed.world));
        self.pass(ALL);
        bed.ring_for(10);
        self.pass(ALL);
        assert!(!self.walk.is_waited(), "a request was never answered");
        for user in USERS {
            for session in self.sessions[user].clone() {
                self.go_on(user, &session);
            }
            bed.ring_for(3);
            self.look();
            let spent = self.bills.spent(&self.sessions[user]);
            let view = bed.asked("GET", &format!("/users/{user}"), "");
            let told = view.body["Result"]["Tokens"]["Today"].as_u64().unwrap_or_default();
            let is_whole = !self.erased.contains(&user);
            assert!(told >= spent || !is_whole, "{user} has spent {spent}, of which {told} count");
        }
        // A fork whose parent has had the service delete the chain heals.
        let mut refusals = bed.world.model.refusals();
        refusals.retain(|refusal| !(self.deletes && refusal.contains("Previous response")));
        assert_eq!(refusals, Vec::<String>::new());
    }

    fn go_on(&mut self, user: &'static str, session: &str) {
        let bed = self.walk.bed;
        let seen = bed.ask_as(user, "GET", &format!("/sessions/{session}"), "");
        if seen.status == 404 {
            return;
        }
        if let Some(turn) = seen.result()["LiveTurn"]["TurnId"].as_str() {
            assert_eq!(seen.result()["LiveTurn"]["Status"], "awaiting_tools", "{session}");
            bed.ask_as(user, "POST", &format!("/sessions/{session}/turns/{turn}/cancel"), "")
                .result();
        }
        bed.say(user, session, "last", "Last").final_text();
    }
}

pub(super) fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let by = [By::Anyone, By::Actor, By::Key][(seed % 3) as usize];
    let Setting { bed, fails, in_background, deletes } = Setting::of(seed, by);
    let names = |letter: &str| vec![format!("{letter}1"), format!("{letter}2")];
    let mut story = Story {
        walk: Walk::new(&bed, seed, loud),
        by,
        deletes,
        sessions: BTreeMap::from([("alice", names("a")), ("bob", names("b"))]),
        tickets: Vec::new(),
        requests: Vec::new(),
        failed: Vec::new(),
        copied: Vec::new(),
        turns: 0,
        steers: 0,
        forks: 0,
        held: 0,
        decisions: Decisions::default(),
        bills: Bills::default(),
        erased: Vec::new(),
    };
    for user in USERS {
        story.mint(user, false);
        story.mint(user, true);
    }
    for number in 0..60 {
        story.act();
        if number == 20 && seed % 14 == 4 {
            story.steer_at_length("alice");
        }
        let steps = story.walk.steps();
        story.pass(steps);
    }
    story.serve_neighbour();
    fails.set(false);
    story.end();
    let mut met = story.walk.met;
    let mut note = |what: &str, times: usize| {
        if times > 0 {
            *met.entry(what.to_owned()).or_default() += times;
        }
    };
    note("a call was aborted", story.bills.aborted as usize);
    note("a webhook", bed.world.webhooks.received().len());
    let sessions = bed.world.sessions.borrow();
    let compacted = "SELECT 1 FROM turns WHERE progress LIKE '%\"compactions\":%'";
    note("a compaction", sessions.values().map(|session| session.disk.read(compacted).len()).sum());
    note(
        "a background response",
        if in_background { bed.world.model.bills.borrow().len() } else { 0 },
    );
    met
}
