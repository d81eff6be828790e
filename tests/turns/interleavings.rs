//! One session with several clients, restarts and faults, in a random order from a seed: the
//! promises of the interface hold in every order.
//!
//! `APTIX_SEED=n` runs one seed alone and says what happens; `APTIX_LONG_TESTS=1` runs many more.

use std::cell::RefCell;
use std::collections::BTreeMap;

use bed::*;
use serde_json::{Value, json};

const SEEDS: u64 = 200;
const LONG_SEEDS: u64 = 40_000;

/// What is watched while a session runs.
#[derive(Default)]
struct Watch {
    /// The status in which each turn was seen last.
    statuses: BTreeMap<String, String>,
    /// Server calls whose answer is stored, and how often each had run by then.
    executed: BTreeMap<String, usize>,
    /// What was ever answered to a request with success.
    answers: BTreeMap<String, String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Watch {
    /// Looks at the storage: no turn changes its status in a way that is not foreseen, and at most
    /// one is live.
    fn look(&mut self, bed: &Bed) {
        let rows = bed.disk.read("SELECT turn_id, status FROM turns");
        let mut live = 0;
        for row in rows {
            let (turn, status) = (text(&row["turn_id"]), text(&row["status"]));
            live += usize::from(["running", "awaiting_tools"].contains(&status.as_str()));
            let before = self.statuses.insert(turn.clone(), status.clone());
            let before = before.as_deref().unwrap_or("running");
            let legal = before == status
                || match before {
                    "running" => true,
                    "awaiting_tools" => ["running", "aborted"].contains(&status.as_str()),
                    "failed" => status == "running",
                    _ => false,
                };
            assert!(legal, "{turn}: {before} -> {status}");
        }
        assert!(live <= 1, "{live} turns are live");
        assert_told(bed);
        assert!(bed.world.model.open.get() <= 1, "two calls to the model at once");
    }

    /// Looks at what server tools have answered.
    fn look_at_tools(&mut self, bed: &Bed) {
        let ran = bed.world.tools.executions();
        let stored = bed
            .disk
            .read("SELECT call_id FROM calls WHERE runs_on = 'server' AND result LIKE '%found%'");
        for row in stored {
            let call = text(&row["call_id"]);
            self.executed.entry(call.clone()).or_insert(ran[&call]);
        }
    }

    fn hear(&mut self, request: &str, heard: &Heard) {
        let (status, code) = heard.failure();
        let foreseen = match status {
            200 => true,
            400 => code == "invalid_field",
            404 => ["session_not_found", "turn_not_found"].contains(&code),
            409 => true,
            500 => ["turn_interrupted", "server_tool_failed"].contains(&code),
            502 | 504 => true,
            _ => false,
        };
        assert!(foreseen, "{request}: {}", heard.text);
        if status == 200 && !request.is_empty() {
            let first =
                self.answers.entry(request.to_owned()).or_insert_with(|| heard.text.clone());
            assert_eq!(first, &heard.text, "two successful answers to {request}");
        }
    }
}

/// Whoever reads the storage now learns which turn is live, if one is.
fn assert_told(bed: &Bed) {
    let Some(session) = bed.disk.session() else { return };
    let live =
        "SELECT MAX(ordinal) AS live FROM turns WHERE status IN ('running', 'awaiting_tools')";
    assert_eq!(session["open_turn"], bed.disk.read(live)[0]["live"]);
}

/// What clients do with a session, as a seed decides.
struct Clients<'a> {
    /// What is known of a request is its text; empty for what has no lasting answer.
    walk: Walk<'a, String>,
    watch: RefCell<Watch>,
    /// Requests that were sent to `/execute`.
    requests: Vec<Value>,
    turns: u64,
}

impl Clients<'_> {
    fn post(&mut self, request: Value) {
        self.walk.say(format_args!("post {request}"));
        let pending = self.walk.bed.send(&request);
        self.walk.wait_for(request.to_string(), pending);
        self.requests.push(request);
    }

    fn some_turn(&mut self) -> String {
        format!("t{}", 1 + self.walk.random.below(self.turns.max(1)))
    }

    fn act(&mut self) {
        const PLANS: [&str; 12] = [
            "",
            "",
            "[plan: server]",
            "[plan: client]",
            "[plan: mixed]",
            "[plan: client, server, client]",
            "[plan: mode:ddr, two-servers]",
            "[plan: modes, mixed]",
            "[plan: fragile, unoffered]",
            "[plan: two-servers]",
            "[plan: gated]",
            "[plan: client, gated, gated]",
        ];
        match self.walk.random.below(100) {
            0..30 => {
                self.turns += 1;
                let id = format!("t{}", self.turns);
                let words = format!("Words-{id}. {}", self.walk.random.pick(&PLANS));
                let streaming = self.walk.random.chance(50);
                let workspace = self.walk.random.chance(30).then_some("w");
                let more = json!({ "Streaming": streaming, "WorkspaceId": workspace });
                self.post(with(turn(&id, &words), more));
            }
            30..50 if !self.requests.is_empty() => {
                let again = self.walk.random.pick(&self.requests).clone();
                self.post(again);
            }
            50..70 => self.answer(),
            70..78 => {
                let turn = self.some_turn();
                self.walk.say(format_args!("cancel {turn}"));
                let pending = self.walk.bed.send_cancel(&turn);
                self.walk.wait_for(String::new(), pending);
            }
            78..83 => {
                let turn = self.some_turn();
                let pending = self.walk.bed.attach(&turn, None);
                self.walk.wait_for(String::new(), pending);
            }
            83..88 => {
                self.walk.say(format_args!("restart"));
                self.walk.bed.restart();
                if self.walk.random.chance(50) {
                    self.walk.bed.alarm();
                }
            }
            88..92 => {
                let (steps, writes) =
                    (self.walk.bed.disk.steps.get(), self.walk.bed.disk.writes.get());
                let crash = match self.walk.random.chance(50) {
                    true => Crash::AfterStep(steps + 1 + self.walk.random.below(5)),
                    false => Crash::BeforeWrite(writes + 1 + self.walk.random.below(20)),
                };
                self.walk.say(format_args!("restart, to end {crash:?}"));
                self.walk.bed.restart_to_crash(Some(crash));
            }
            92..97 => self.spoil(),
            97..99 => {
                self.walk.say(format_args!("the service forgets"));
                self.walk.bed.world.model.forget();
            }
            _ => _ = self.walk.bed.alarm(),
        }
    }

    /// Tool results for the turn that waits for some, right ones or wrong ones.
    fn answer(&mut self) {
        let waiting = self.walk.bed.disk.read(
            "SELECT turn_id, CASE WHEN approval IS NULL THEN call_id ELSE 'apr_' || call_id END AS call_id
             FROM session JOIN turns ON turns.ordinal = session.open_turn
             JOIN calls ON calls.turn = open_calls_turn AND calls.model_call = open_calls_model_call
             WHERE status = 'awaiting_tools' AND (runs_on = 'client' OR approval IS NOT NULL) ORDER BY position",
        );
        let Some(turn) = waiting.first().map(|row| text(&row["turn_id"])) else {
            return;
        };
        let calls: Vec<String> = waiting.iter().map(|row| text(&row["call_id"])).collect();
        let mut given: Vec<(&str, Value)> = Vec::new();
        for id in &calls {
            let result = match id.starts_with("apr_") {
                false => json!(format!("result of {id}")),
                true if self.walk.random.chance(10) => json!({ "Approved": "yes" }),
                true => json!({ "Approved": self.walk.random.chance(50) }),
            };
            given.push((id, result));
        }
        if self.walk.random.chance(10) {
            given.reverse();
            given.push(("call_x", json!(0)));
        }
        self.post(results(&turn, &given));
    }

    fn spoil(&mut self) {
        self.walk.say(format_args!("a fault"));
        let fault = match self.walk.random.below(8) {
            0 => http_error(500, json!({}), &[]),
            1 => http_error(401, json!({ "code": "invalid_api_key" }), &[]),
            2 => Reply::Unreachable,
            3 => Reply::Silence,
            4 => failed("server_error"),
            5 => say("Half an answer.").breaks_after(6).into(),
            6 => say("Half an answer.").silent_after(6).into(),
            _ => {
                self.walk.bed.world.tools.script([ToolAnswer::Status(500)]);
                return;
            }
        };
        let well = self.walk.random.below(3) as usize;
        self.walk.bed.world.model.spoil_once_after(well, fault);
    }

    /// Lets time pass.
    fn pass(&mut self, steps: u64) {
        let watch = &self.watch;
        let answers = self.walk.pass(steps, |bed| watch.borrow_mut().look(bed));
        let mut watch = self.watch.borrow_mut();
        watch.look_at_tools(self.walk.bed);
        for (request, heard) in answers {
            watch.hear(&request, &heard);
        }
    }
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["ServerTools"][1]["Approval"] = json!("Always");
        if seed.is_multiple_of(3) {
            catalog["AgentContexts"]["default"]["Background"] = json!("Always");
        }
    });
    let documents = json!({ "Documents": [{ "Path": "a.md", "Contents": "Words\n" }] });
    bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
    let mut clients = Clients {
        walk: Walk::new(&bed, seed, loud),
        watch: RefCell::default(),
        requests: Vec::new(),
        turns: 0,
    };
    bed.world.late_bodies.set(true);
    for _ in 0..16 {
        clients.act();
        clients.watch.borrow_mut().look(&bed);
        let steps = clients.walk.steps();
        clients.pass(steps);
    }
    // All that was begun ends, and everybody who still listens hears how.
    bed.world.model.mend();
    while bed.world.tools.drop_scripted() {}
    clients.pass(u64::MAX);
    bed.restart();
    assert!(bed.alarm());
    clients.pass(u64::MAX);
    assert!(!clients.walk.is_waited(), "a request was never answered");
    for turn in clients.watch.borrow().statuses.keys() {
        match bed.status(turn).as_str() {
            "awaiting_tools" => _ = bed.try_cancel(turn).unwrap(),
            status => assert_ne!(status, "running"),
        }
    }
    bed.post(&turn("last", "Last")).final_text();
    clients.watch.borrow_mut().look(&bed);

    // Whatever was accepted is known to the model service.
    let conversation = bed.world.model.conversation();
    let (watch, met) = (clients.watch.into_inner(), clients.walk.met);
    for turn in watch.statuses.keys().filter(|turn| *turn != "last") {
        assert!(conversation.heard(&format!("Words-{turn}.")) >= 1, "the words of {turn} are lost");
    }
    for row in bed.disk.read("SELECT call_id FROM calls WHERE result LIKE '%result of%'") {
        let call = text(&row["call_id"]);
        let told = (call.clone(), json!(format!("result of {call}")).to_string());
        assert!(conversation.outputs().contains(&told), "the result of {call} is lost");
    }
    for request in watch.answers.keys().filter(|request| request.contains("ToolResults")) {
        for result in
            serde_json::from_str::<Value>(request).unwrap()["ToolResults"].as_array().unwrap()
        {
            let told = (text(&result["ToolCallId"]), text(&result["ResultJson"]));
            if told.0.starts_with("apr_") {
                continue;
            }
            assert!(conversation.outputs().contains(&told), "{request} was answered and is lost");
        }
    }
    let ran = bed.world.tools.executions();
    for (call, times) in &watch.executed {
        assert_eq!(ran[call], *times, "{call} ran again although its answer was stored");
    }
    for call in bed.disk.read("SELECT call_id, approval FROM calls WHERE approval NOT NULL") {
        let approved = text(&call["approval"]).contains("\"approved\"");
        assert!(approved || !ran.contains_key(&text(&call["call_id"])), "{call:?} ran");
    }
    assert_eq!(bed.disk.read("SELECT 1 FROM calls WHERE result IS NULL").len(), 0);
    bed.assert_chain_held();
    met
}

#[test]
fn whatever_the_order_of_events_nothing_is_lost_doubled_or_stuck() {
    let expected = [
        "200 ",
        "400 invalid_field",
        "409 turn_in_progress",
        "409 turn_awaiting_tools",
        "409 turn_aborted",
        "409 tool_results_mismatch",
        "409 turn_not_awaiting_tools",
        "500 turn_interrupted",
        "500 server_tool_failed",
        "502 upstream_failed",
        "504 upstream_timeout",
    ];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
