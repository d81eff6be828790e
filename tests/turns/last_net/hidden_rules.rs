//! A service with a hidden rule that a seed draws: it refuses whatever breaks the rule, in one of twenty wordings. Every
//! turn that can be sent without the turns before it ends well, and plain messages keep what was said.
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::{BTreeMap, BTreeSet};

use super::super::forks::Forking;
use super::super::replays::assert_rebuilds;
use super::*;

const SEEDS: u64 = 120;
const LONG_SEEDS: u64 = 10_000;
const TURNS: u64 = 10;

/// Whether a conversation breaks a rule.
type Breaks = Box<dyn Fn(&[ConversationItem]) -> bool>;

/// A rule with its name.
struct HiddenRule {
    name: &'static str,
    breaks: Breaks,
}

fn kind(item: &Value) -> String {
    let role = item["role"].as_str().unwrap_or_default();
    format!("{}{role}", item["type"].as_str().unwrap_or("message"))
}

/// The items before the latest message of a user.
fn past(items: &[ConversationItem]) -> &[ConversationItem] {
    let latest = items.iter().rposition(|item| item["role"] == "user").unwrap_or(0);
    &items[..latest]
}

fn hidden_rule(random: &mut Random) -> HiddenRule {
    const KINDS: [&str; 6] = [
        "reasoning",
        "web_search_call",
        "function_call",
        "function_call_output",
        "messageassistant",
        "custom_tool_call",
    ];
    let of_past = random.chance(60);
    let (name, breaks): (_, Breaks) = match random.below(7) {
        0 => {
            let refused = *random.pick(&KINDS);
            ("a kind", Box::new(move |items| items.iter().any(|item| kind(item) == refused)))
        }
        1 => {
            let (one, other) = (*random.pick(&KINDS), *random.pick(&KINDS));
            let follow =
                move |two: &[ConversationItem]| kind(&two[0]) == one && kind(&two[1]) == other;
            ("neighbours", Box::new(move |items| items.windows(2).any(follow)))
        }
        2 => {
            let member = *random.pick(&["id", "call_id"]);
            let digit = random.below(10).to_string();
            let is_odd = move |item: &ConversationItem| {
                item[member].as_str().is_some_and(|id| id.ends_with(&digit))
            };
            ("an id", Box::new(move |items| items.iter().any(&is_odd)))
        }
        3 => {
            let word = format!("Words-t{}.", 1 + random.below(TURNS));
            let says = move |item: &ConversationItem| item.to_string().contains(&word);
            ("a word", Box::new(move |items| items.iter().any(&says)))
        }
        4 => {
            let member = *random.pick(&["id", "status", "arguments", "summary", "phase", "action"]);
            ("a member", Box::new(move |items| items.iter().any(|item| !item[member].is_null())))
        }
        5 => {
            let most = 4 + random.below(16) as usize;
            ("a number", Box::new(move |items| items.len() > most))
        }
        _ => {
            let length =
                |items: &[ConversationItem]| items.iter().map(|item| item.to_string().len()).sum();
            (
                "a sum",
                Box::new(move |items| {
                    let sum: usize = length(items);
                    sum % 2 == 1
                }),
            )
        }
    };
    match of_past {
        false => HiddenRule { name, breaks },
        true => HiddenRule { name, breaks: Box::new(move |items| breaks(past(items))) },
    }
}

/// A refusal in one of twenty wordings.
fn wording(number: u64, body: &Value) -> Reply {
    let error = |status, error: Value| http_error(status, error, &[]);
    let plain = |status, text: &str| Reply::Http(HttpReply::new(status, text));
    let said = |message: &str| error(400, json!({ "message": message }));
    match number {
        0 => said("Bad request."),
        1 => error(400, json!({ "message": "Invalid input.", "param": "input" })),
        2 => error(
            400,
            json!({ "message": "Unsupported.", "param": "input[3]", "code": "unsupported_value" }),
        ),
        3 => error(422, json!({ "message": "Unprocessable.", "code": "unprocessable" })),
        4 => error(404, json!({ "message": "Item not found.", "code": "item_not_found" })),
        5 => error(409, json!({ "message": "Conflict." })),
        6 => error(413, json!({ "message": "Too large." })),
        7 => said("No tool output found for custom tool call call_7."),
        8 => said(
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        ),
        9 => said("The encrypted content could not be verified."),
        10 => said("messages: roles must alternate between \"user\" and \"assistant\""),
        11 => error(
            400,
            json!({ "message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded" }),
        ),
        12 => plain(
            422,
            r#"{"detail":[{"type":"union","loc":["body","input",4,"content"],"msg":"no match"}]}"#,
        ),
        13 => plain(400, r#"{"detail":"Unknown item."}"#),
        14 => plain(400, r#"{"error":"invalid parameter"}"#),
        15 => plain(
            400,
            r#"[{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}]"#,
        ),
        16 => failed_at_once("unsupported_item"),
        17 => raw(&[
            "data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"code\":null,\"message\":\"no\"}}\n\n",
        ]),
        18 => {
            let continued = body["previous_response_id"].as_str().unwrap_or("resp_0");
            error(
                400,
                json!({ "message": format!("Previous response with id '{continued}' not found."), "code": "previous_response_not_found" }),
            )
        }
        _ => error(
            400,
            json!({ "message": "Duplicate item found.", "param": "messages", "code": "duplicate" }),
        ),
    }
}

fn failed_at_once(code: &'static str) -> Reply {
    Answer { ending: Ending::Failed(code), ..says(Vec::new()) }.into()
}

/// The planned model, which also thinks, searches, and calls what nobody offered.
fn thoughtful(conversation: &Conversation) -> Reply {
    let Reply::Answer(mut answer) = planned(conversation) else { panic!("a plan is an answer") };
    let place = conversation.0.len();
    if conversation.user_texts().last().is_some_and(|text| !is_record(text)) {
        if place.is_multiple_of(3) {
            answer.items.insert(0, searched());
        }
        if place.is_multiple_of(2) {
            answer.items.insert(0, Item::Reasoning);
        }
        if place.is_multiple_of(5) {
            answer.items.insert(0, unasked(&format!("ctc_{place}")));
        }
    }
    answer.into()
}

struct Session<'a> {
    bed: &'a Bed,
    random: Random,
    id: &'static str,
    shortened: bool,
    /// The words of turns that ended well.
    ended_well: Vec<String>,
    met: BTreeMap<String, usize>,
}

impl Session<'_> {
    fn met(&mut self, what: &str) {
        *self.met.entry(what.to_owned()).or_default() += 1;
    }

    /// The end of a request, however often its instance is lost.
    fn end_of(&mut self, request: &Value) -> Heard {
        loop {
            let heard = self.bed.try_post(request);
            if let Some(heard) = heard.filter(|heard| heard.failure().1 != "turn_interrupted") {
                return heard;
            }
            self.met("a crash");
            self.bed.restart();
        }
    }

    fn turn(&mut self, number: u64) {
        const PLANS: [&str; 6] =
            ["", "", "[plan: server]", "[plan: client]", "[plan: mixed]", "[plan: server, server]"];
        let id = format!("t{number}");
        let words = format!("Words-{id}. {}", self.random.pick(&PLANS));
        let request = with(turn(&id, &words), json!({ "SessionId": self.id }));
        if self.id == "s" && self.random.chance(15) {
            let writes = self.bed.disk.writes.get() + 1 + self.random.below(30);
            self.bed.restart_to_crash(Some(Crash::BeforeWrite(writes)));
        }
        if self.random.chance(10) {
            let now = self.bed.world.executor.now_ms();
            self.bed.world.executor.set_now_ms(now + 25 * 60 * 60 * 1000);
        }
        if self.id == "s" && self.random.chance(15) {
            let pending = self.bed.send(&request);
            for _ in 0..self.random.below(40) {
                self.bed.step();
            }
            if pending.heard().is_none() && self.bed.alive() {
                let words = with(
                    steer(&format!("s{number}"), &format!("Steer-{id}.")),
                    json!({ "Interrupt": self.random.chance(50) }),
                );
                drop(self.bed.send_steer(&id, &words));
                self.met("a steer");
            }
            self.bed.settle();
        }
        let mut heard = self.end_of(&request);
        while heard.status == 200 && heard.result()["Kind"] == "client_tool_continuation" {
            let calls = heard.calls();
            let given: Vec<_> =
                calls.iter().map(|call| (call.as_str(), json!(format!("told-{id}")))).collect();
            let results = with(results(&id, &given), json!({ "SessionId": self.id }));
            heard = self.end_of(&results);
        }
        match heard.status {
            200 => {
                self.met("well");
                self.look_at_plain(&id);
                self.ended_well.push(id);
            }
            _ => self.look_at_refusal(&id, &heard),
        }
    }

    /// A turn fails only where it was refused without anything of the turns before it.
    fn look_at_refusal(&mut self, id: &str, heard: &Heard) {
        let code = heard.failure().1;
        let foreseen = [
            "upstream_rejected",
            "upstream_failed",
            "upstream_unavailable",
            "context_window_exceeded",
        ];
        assert!(foreseen.contains(&code), "{}", heard.text);
        self.met("refused alone");
        let target = format!("/sessions/{}/turns/{id}/trace", self.id);
        let trace = self.bed.asked("GET", &target, "");
        self.shortened |= !trace.result()["Compactions"].as_array().unwrap().is_empty();
        let refused = self.bed.world.model.rules.refused.borrow();
        let is_bare = |item: &Value| {
            let known = ["function_call", "function_call_output", "message"];
            known.contains(&item["type"].as_str().unwrap_or("message"))
                && (item["id"].is_null() || item["type"] == "function_call_output")
        };
        let other = |text: &str| {
            (1..=TURNS + 1)
                .map(|number| format!("Words-t{number}."))
                .any(|words| words != format!("Words-{id}.") && text.contains(&words))
        };
        let was_alone = refused.iter().rev().take(12).any(|body| {
            let input = body["input"].as_array().unwrap();
            let text = body["input"].to_string();
            body["previous_response_id"].is_null()
                && text.contains(&format!("Words-{id}."))
                && !text.contains("[RECORD]")
                && !other(&text)
                && !text.contains("[SUMMARY OF")
                && input.iter().all(is_bare)
        });
        assert!(was_alone, "{id} was never sent alone: {}", heard.text);
    }

    /// What plain messages promise, of the latest request.
    fn look_at_plain(&mut self, id: &str) {
        let target = format!("/sessions/{}/turns/{id}/trace", self.id);
        let trace = self.bed.asked("GET", &target, "");
        let trace = trace.result();
        self.shortened |= !trace["Compactions"].as_array().unwrap().is_empty();
        let latest = trace["ModelCalls"].as_array().unwrap().last().unwrap();
        self.met(latest["Reduced"].as_str().unwrap_or("whole or chained"));
        if latest["Reduced"] != "plain" || latest["Summary"] == true {
            return;
        }
        let body = self.bed.world.model.bodies().last().unwrap().clone();
        let items = body["input"].as_array().unwrap();
        let export = self.bed.asked("GET", &format!("/sessions/{}/export", self.id), "");
        let turns = export.result()["Turns"].as_array().unwrap();
        let calls_of =
            |turn: &Value| -> Vec<Value> { turn["ToolCalls"].as_array().unwrap().clone() };
        let own = turns.iter().find(|turn| turn["TurnId"] == *id).unwrap();
        let own_ids: BTreeSet<String> =
            calls_of(own).iter().map(|call| call["CallId"].as_str().unwrap().to_owned()).collect();
        let mut said: Vec<&str> = Vec::new();
        for item in items {
            let kind = item["type"].as_str().unwrap_or("message");
            assert!(["message", "function_call", "function_call_output"].contains(&kind), "{item}");
            assert!(item["id"].is_null(), "{item}");
            if let Some(call) = item["call_id"].as_str() {
                assert!(own_ids.contains(call), "{item}");
            }
            let text = item["content"].to_string();
            match item["role"].as_str() {
                Some("assistant") => said.push(item["content"].as_str().unwrap()),
                _ => assert!(!text.contains("[tool "), "{item}"),
            }
        }
        if self.shortened {
            return;
        }
        for earlier in turns.iter().filter(|turn| turn["TurnId"] != *id) {
            let name = earlier["TurnId"].as_str().unwrap();
            if !self.ended_well.iter().any(|well| well == name) {
                continue;
            }
            let words = format!("[INSTRUCTION]\nWords-{name}.");
            let heard = items.iter().filter(|item| item["role"] == "user").any(|item| {
                item["content"][0]["text"].as_str().is_some_and(|text| text.contains(&words))
            });
            assert!(heard, "{words} is missing: {items:?}");
            for call in calls_of(earlier) {
                let line = format!(
                    "[tool {}({}) → ",
                    call["Name"].as_str().unwrap(),
                    Value::from(call["ArgumentsJson"].as_str().unwrap())
                );
                assert!(said.iter().any(|text| text.contains(&line)), "{line}: {said:?}");
                if call["RunsOn"] == "client" {
                    let told = format!("told-{name}");
                    assert!(said.iter().any(|text| text.contains(&told)), "{told}: {said:?}");
                }
            }
        }
        self.met("looked at plain words");
    }
}

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let mut random = Random(seed.wrapping_mul(0x1_0001) ^ 0x1a57);
    let context = *random.pick(&["default", "replay"]);
    let id = if random.chance(30) { "p" } else { "s" };
    let bed = Bed::new();
    bed.configure(|catalog| {
        let agent = catalog["ConversationContexts"][context].clone();
        catalog["ConversationContexts"]["default"] = agent;
        if random.chance(25) {
            catalog["AgentContexts"][context]["Compaction"] = json!({ "Threshold": 1_000 });
        }
    });
    bed.world.model.think(thoughtful);
    let rule = hidden_rule(&mut random);
    let number = random.below(20);
    if loud {
        println!("{} refused in wording {number}, {context}", rule.name);
    }
    let begins = 1 + random.below(4);
    let mut session = Session {
        bed: &bed,
        random,
        id,
        shortened: false,
        ended_well: Vec::new(),
        met: BTreeMap::from([(rule.name.to_owned(), 1)]),
    };
    let breaks = std::rc::Rc::new(rule.breaks);
    for turn in 1..=TURNS {
        if turn == begins {
            let breaks = std::rc::Rc::clone(&breaks);
            bed.world
                .model
                .rules
                .refuse_by(move |body, items| breaks(items).then(|| wording(number, body)));
        }
        session.turn(turn);
    }
    assert_rebuilds(&bed, id);
    if id == "p" && !session.ended_well.is_empty() {
        let after = session.random.pick(&session.ended_well.clone()).clone();
        let made = bed.fork(json!({ "AfterTurnId": after }));
        assert_eq!(made.status, 201, "{}", made.text);
        session.met("a fork");
        session.id = "f";
        session.shortened = true;
        session.turn(TURNS + 1);
    }
    // What was refused is remembered, so the session goes on at once when the rule is gone.
    bed.world.model.rules.refuse_nothing();
    let last = with(turn("last", "Last."), json!({ "SessionId": session.id }));
    session.end_of(&last).final_text();
    assert_rebuilds(&bed, session.id);
    bed.assert_chain_held();
    session.met
}

#[test]
fn whatever_the_rule_every_turn_that_can_be_sent_alone_ends_well() {
    let expected = [
        "well",
        "refused alone",
        "a crash",
        "a steer",
        "a fork",
        "items",
        "plain",
        "turn",
        "whole",
        "looked at plain words",
        "a kind",
        "neighbours",
        "an id",
        "a word",
        "a member",
        "a number",
        "a sum",
    ];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
