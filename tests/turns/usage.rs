//! Tokens and response ids, whatever becomes of a model call: turn, session, log and trace agree with
//! what the service told, and the receipt of an erasure with what it stored (interface §2, Usage; §9).
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::BTreeMap;

use bed::*;
use serde_json::{Value, json};

const SEEDS: u64 = 200;
const LONG_SEEDS: u64 = 20_000;

const COUNTS: [&str; 5] =
    ["PromptTokens", "CachedTokens", "CompletionTokens", "ReasoningTokens", "TotalTokens"];

/// A response that may tell its cost early, late, or never, and may be cut anywhere.
fn response(random: &mut Random) -> Reply {
    let text = || Item::Text(["Some ", "text ", "here."].map(str::to_owned).to_vec());
    let items = match random.below(4) {
        0 => vec![call("lookup", json!({ "of": "x" }))],
        1 => vec![Item::Reasoning, text()],
        _ => vec![text()],
    };
    let mut answer = says(items);
    answer.usage = std::array::from_fn(|_| 1 + random.below(1000));
    answer.early_usage = random.chance(30).then(|| [7, 0, random.below(9), 0]);
    answer.failing_usage = random.chance(50);
    answer.ending = match random.below(9) {
        0 => Ending::Failed("server_error"),
        1 => Ending::Failed("previous_response_not_found"),
        2 => Ending::Failed("invalid_prompt"),
        3 => Ending::ErrorEvent { code: "server_error", nested: random.chance(50) },
        4 => Ending::Incomplete("max_output_tokens"),
        _ => Ending::Completed,
    };
    answer.as_json = random.chance(20);
    answer.chunk_bytes = random.chance(40).then(|| 1 + random.below(900) as usize);
    answer.pause_ms = random.below(3) * 20;
    let cut = random.below(if answer.chunk_bytes.is_some() { 40 } else { 12 }) as usize;
    match random.below(8) {
        0 => answer.breaks_after(cut),
        1 => answer.ends_after(cut),
        2 => answer.silent_after(cut),
        _ => answer,
    }
    .into()
}

fn reply(random: &mut Random) -> Reply {
    match random.below(10) {
        0 => http_error(500, json!({}), &[]),
        1 => http_error(429, json!({ "code": "rate_limit_exceeded" }), &[("retry-after", "1")]),
        2 => http_error(400, json!({ "code": "previous_response_not_found" }), &[]),
        3 => Reply::Unreachable,
        4 if random.chance(30) => Reply::Silence,
        _ => response(random),
    }
}

fn run(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x3_0001));
    let bed = Bed::new();
    bed.configure(|catalog| {
        for id in ["default", "replay"] {
            catalog["AgentContexts"][id]["DeleteStored"] = json!(true);
        }
    });
    bed.world.shake(seed);
    let context = if random.chance(70) { "default" } else { "replay" };
    for number in 1..=1 + random.below(6) {
        let id = format!("t{number}");
        bed.world.model.script((0..random.below(6)).map(|_| reply(&mut random)));
        let words = format!("Words {}", random.pick(&["", "[plan: server]", "[plan: mixed]"]));
        let more = json!({ "ConversationContextId": context, "Streaming": random.chance(50) });
        let request = with(turn(&id, &words), more);
        bed.send(&request);
        if random.chance(30) {
            for _ in 0..random.below(80) {
                bed.step();
            }
            bed.send_cancel(&id);
        }
        bed.settle();
        while bed.world.model.drop_scripted() {}
        if bed.status(&id) == "awaiting_tools" {
            let calls = bed.turn(&id).result()["ToolCalls"].clone();
            let calls = calls.as_array().unwrap().iter().map(|call| call["ToolCallId"].as_str());
            let given: Vec<_> = calls.map(|id| (id.unwrap(), json!(1))).collect();
            bed.world.model.script([reply(&mut random)]);
            bed.send(&results(&id, &given));
        } else if random.chance(20) {
            bed.send(&request);
        }
        bed.settle();
        while bed.world.model.drop_scripted() {}
        if bed.status(&id) == "awaiting_tools" {
            bed.try_cancel(&id).unwrap();
        }
    }
    agree(&bed, seed);
    erased(&bed, context, &mut random);
}

/// Turn, trace, log, session and service tell the same numbers.
fn agree(bed: &Bed, seed: u64) {
    let (mut total, mut estimated) = (0, 0);
    let turns = bed.asked("GET", "/sessions/s/turns?Limit=100", "");
    for turn in turns.result()["Turns"].as_array().unwrap() {
        let id = turn["TurnId"].as_str().unwrap();
        let trace = bed.asked("GET", &format!("/sessions/s/turns/{id}/trace"), "");
        let mut sums: Option<[u64; 5]> = None;
        for call in trace.result()["ModelCalls"].as_array().unwrap() {
            let retries = call["Retries"].as_array().unwrap().iter();
            for usage in retries.chain([call]).map(|attempt| &attempt["Usage"]) {
                if !usage.is_null() {
                    if usage["Estimated"] == true {
                        estimated += usage["TotalTokens"].as_u64().unwrap();
                    }
                    let told = COUNTS.map(|count| usage[count].as_u64().unwrap());
                    let sum = sums.get_or_insert_default();
                    *sum = std::array::from_fn(|at| sum[at] + told[at]);
                }
            }
        }
        let usage = &turn["Usage"];
        let told = (!usage.is_null()).then(|| COUNTS.map(|count| usage[count].as_u64().unwrap()));
        assert_eq!(told, sums, "seed {seed}, {id}: {}", trace.text);
        let log = bed.world.log.borrow();
        // A line has the tokens of its submission, so the lines of a turn add up.
        let lines = log.iter().filter(|line| line["event"] == "submission" && line["turn"] == id);
        let logged = lines.map(|line| &line["report"]["usage"]).filter(|usage| !usage.is_null());
        let logged = logged.fold([0; 5], |sum, usage| {
            let own = COUNTS.map(|count| usage[count].as_u64().unwrap());
            std::array::from_fn(|at| sum[at] + own[at])
        });
        assert_eq!(logged, told.unwrap_or_default(), "seed {seed}, {id}");
        let outcome = bed.turn(id).result()["Outcome"]["Result"].clone();
        if outcome["Kind"] == "final" {
            assert_eq!(outcome["Usage"], *usage, "seed {seed}, {id}");
        }
        total += sums.unwrap_or_default()[4];
    }
    assert_eq!(bed.disk.session().unwrap()["state"]["total_tokens"], total, "seed {seed}");
    // Of what was cancelled, more counts than was told.
    let told = bed.world.model.told_tokens.get();
    assert!((total - estimated..=total).contains(&told), "seed {seed}: {told} of {total}");
}

/// Every response that the service stores is in one count of the receipt.
fn erased(bed: &Bed, context: &str, random: &mut Random) {
    let model = &bed.world.model;
    let held = model.held.borrow().len();
    assert!(context == "default" || held == 0);
    model.keeps_everything.set(random.chance(30));
    let nameless = if context == "default" { model.requests() - held } else { 0 };
    let counts = |deleted: usize, pending: usize| json!({ "Deleted": deleted, "Pending": pending, "Refused": 0, "Unreachable": 0 });
    let told = |heard: Heard| {
        let mut told = heard.result()["StoredResponses"].clone();
        let unknown = told.as_object_mut().unwrap().remove("Unknown").unwrap();
        assert!(unknown.as_u64().unwrap() <= nameless as u64, "{unknown} of {nameless}");
        told
    };
    if model.keeps_everything.get() {
        assert_eq!(told(bed.try_erase().unwrap()), counts(0, held));
        assert_eq!(model.held.borrow().len(), held);
        model.keeps_everything.set(false);
        if held > 0 {
            assert_eq!(told(bed.try_erase().unwrap()), counts(held, 0));
        }
    } else {
        assert_eq!(told(bed.try_erase().unwrap()), counts(held, 0));
    }
    assert!(model.held.borrow().is_empty());
    assert_eq!(bed.try_erase().unwrap().status, 404);
    assert!(context == "default" || model.deletions.borrow().is_empty(), "nothing was stored");
}

#[test]
fn turn_session_log_and_trace_agree_to_the_token_and_receipts_with_what_is_stored() {
    run_seeds(SEEDS, LONG_SEEDS, &[], |seed, _| {
        run(seed);
        BTreeMap::new()
    });
}

#[test]
fn a_call_that_is_cut_counts_what_was_reported_until_then_and_keeps_its_id() {
    let early = |answer: Answer| Answer { early_usage: Some([50, 0, 3, 0]), ..answer };
    for (name, reply, code) in [
        ("cut", early(say("Half.")).breaks_after(4), "upstream_protocol"),
        ("silent", early(say("Half.")).silent_after(4), "upstream_timeout"),
        ("cancelled", early(say("Half.")).silent_after(4), "turn_aborted"),
    ] {
        let bed = Bed::new();
        // A cut is repeated twice.
        let calls = if name == "cut" { 3 } else { 1 };
        bed.world.model.script(std::iter::repeat_n(Reply::from(reply), calls));
        let asked = bed.send(&turn("t1", "Hello"));
        if name == "cancelled" {
            bed.run_until(|bed| bed.world.model.told_tokens.get() > 0, "usage is told");
            bed.try_cancel("t1").unwrap();
        }
        assert_eq!(bed.wait(&asked).unwrap().failure().1, code, "{name}");
        let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
        let call = &trace.result()["ModelCalls"][0];
        let attempts = 1 + call["Retries"].as_array().unwrap().len() as u64;
        assert_eq!(attempts, calls as u64);
        let id = json!(format!("resp_{attempts}"));
        assert_eq!((&call["ResponseId"], &call["Stored"]), (&id, &json!(true)));
        assert_eq!(call["Fault"]["ErrorCode"], code, "{name}");
        assert_eq!(call["Usage"]["TotalTokens"], 53, "{name}");
        assert_eq!(call["Usage"]["Estimated"] == true, name == "cancelled");
        assert_eq!(bed.turn("t1").result()["Usage"]["TotalTokens"], 53 * attempts, "{name}");
        assert_eq!(bed.session().result()["ContextTokens"], 50, "{name}");
        bed.post(&turn("t2", "Next")).final_text();
        assert_eq!(bed.session().result()["ContextTokens"], 100, "{name}");
        bed.assert_chain_held();
    }
}

fn budget(bed: &Bed, budget: &Value) {
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["Budget"] = budget.clone());
}

#[test]
fn a_turn_that_has_spent_its_tokens_makes_no_further_call_until_the_operator_grants_more() {
    let bed = Bed::new();
    budget(&bed, &json!({ "TurnTokens": 240 }));
    let request = turn("t1", "Hello [plan: server, server, server]");
    let refused = bed.post(&request);
    assert_eq!(refused.failure(), (403, "budget_exceeded"));
    let limits = json!({ "TurnTokens": 240, "SessionTokens": null });
    let details = json!({ "TurnTokens": 240, "SessionTokens": 240, "Budget": limits });
    assert_eq!(*refused.details(), details);
    assert!(refused.text.contains("a ticket of more TurnTokens"), "{}", refused.text);
    assert_eq!((bed.world.model.requests(), bed.status("t1").as_str()), (2, "failed"));
    // Another turn has tokens of its own.
    assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
    budget(&bed, &json!({ "TurnTokens": 1000 }));
    assert_eq!(bed.post(&request).result()["Kind"], "final");
    assert_eq!(bed.world.tools.executions().values().max(), Some(&1));
    bed.assert_chain_held();
}

#[test]
fn a_session_that_has_spent_its_tokens_can_be_read_and_goes_on_when_the_operator_grants_more() {
    let bed = Bed::new();
    budget(&bed, &json!({ "SessionTokens": 121 }));
    for id in ["t1", "t2"] {
        bed.post(&turn(id, "Hello")).final_text();
    }
    for _ in 0..2 {
        let refused = bed.post(&turn("t3", "More"));
        assert_eq!(refused.failure(), (403, "budget_exceeded"));
        assert_eq!(refused.details()["SessionTokens"], 240);
        assert!(!refused.text.contains("ticket"), "{}", refused.text);
    }
    assert_eq!(bed.world.model.requests(), 2);
    bed.restart();
    assert_eq!(bed.post(&turn("t3", "More")).failure(), (403, "budget_exceeded"));
    assert_eq!(bed.session().result()["TurnCount"], 3);
    budget(&bed, &json!({ "SessionTokens": 1000 }));
    assert_eq!(bed.post(&turn("t3", "More")).final_text(), "Answer to More.");
    assert_eq!(bed.world.model.conversation().heard("More"), 1);
    bed.assert_chain_held();
}
