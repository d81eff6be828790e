//! Random histories, forked at each of their turns: a fork composes the same next request as a session that really stopped
//! at that turn.
//!
//! `APTIX_SEED=n` runs one seed alone; `APTIX_LONG_TESTS=1` runs many more.

use std::collections::BTreeMap;

use replay::{Bundle, NotRebuilt, rebuild};

use super::*;

const SEEDS: u64 = 25;
const LONG_SEEDS: u64 = 2_000;

/// What the client does for one turn, from its beginning to its end.
#[derive(Clone, Debug)]
struct Act {
    words: String,
    members: Value,
    /// The model service fails the turn's first call.
    fails: bool,
    /// A turn that fails is repeated at once.
    is_repeated: bool,
    ending: Ending,
}

/// How a turn that waits for its client goes on.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Results,
    SteerAndResults,
    Cancel,
    SteerAndCancel,
}

fn acts(random: &mut Random) -> Vec<Act> {
    let mut acts = Vec::new();
    for number in 0..2 + random.below(5) {
        let plan = *random.pick(&[
            "",
            "",
            "[plan: server]",
            "[plan: client]",
            "[plan: mixed]",
            "[plan: mode:plain]",
            "[plan: mode:ddr, client]",
        ]);
        let long = if random.chance(30) { "word ".repeat(400) } else { String::new() };
        let mut members = json!({});
        match random.below(10) {
            0..2 => members["SolutionContextText"] = json!(format!("Context {number}.")),
            2 => members["SolutionContextText"] = json!(""),
            3 => members["ToolsJson"] = json!(client_tool(&format!("more_{number}"))),
            _ => {}
        }
        acts.push(Act {
            words: format!("Words-{number}. {long}{plan}"),
            members,
            fails: random.chance(15),
            is_repeated: random.chance(50),
            ending: *random.pick(&[
                Ending::Results,
                Ending::Results,
                Ending::SteerAndResults,
                Ending::Cancel,
                Ending::SteerAndCancel,
            ]),
        });
    }
    acts
}

fn client_tool(name: &str) -> String {
    json!([{ "type": "function", "name": name, "parameters": { "type": "object", "properties": {} } }])
        .to_string()
}

/// A bed in which the conversation is compacted at some length.
fn bed(context: &str) -> Bed {
    let bed = Bed::new();
    bed.world.model.counts.set(true);
    // All ids have one length, since what the conversation counts includes them.
    bed.world.model.numbers.set(10_000);
    bed.configure(|catalog| {
        for context in ["default", "replay"] {
            catalog["AgentContexts"][context]["Compaction"] = json!({ "Threshold": 1_500 });
        }
    });
    let first =
        with(turn("t0", "Begin"), json!({ "SessionId": "p", "ConversationContextId": context }));
    bed.post(&first).final_text();
    bed
}

fn perform(bed: &Bed, number: usize, act: &Act) {
    let id = format!("t{}", number + 1);
    let request =
        with(with(turn(&id, &act.words), json!({ "SessionId": "p" })), act.members.clone());
    if act.fails {
        bed.world.model.script([http_error(401, json!({}), &[])]);
    }
    let mut heard = bed.post(&request);
    bed.world.model.drop_scripted();
    if heard.status >= 500 && act.is_repeated {
        heard = bed.post(&request);
    }
    for step in 0..4 {
        if heard.body["Result"]["Kind"] != "client_tool_continuation" {
            return;
        }
        if matches!(act.ending, Ending::SteerAndResults | Ending::SteerAndCancel) {
            let body = steer(&format!("s{step}"), &format!("Steer-{number}.")).to_string();
            bed.asked("POST", &format!("/sessions/p/turns/{id}/steer"), &body);
        }
        match act.ending {
            Ending::Cancel | Ending::SteerAndCancel => {
                bed.asked("POST", &format!("/sessions/p/turns/{id}/cancel"), "").result();
                return;
            }
            Ending::Results | Ending::SteerAndResults => {
                let calls = heard.calls();
                let given: Vec<_> = calls.iter().map(|call| (call.as_str(), json!(1))).collect();
                heard = bed.post(&with(results(&id, &given), json!({ "SessionId": "p" })));
            }
        }
    }
}

/// The next request of a session, and those of the turn's other calls.
fn next_request(bed: &Bed, session: &str) -> Vec<Value> {
    let before = bed.world.model.bodies().len();
    bed.say(session, "next", "Next [plan: server]").final_text();
    bed.say(session, "after", "After").final_text();
    let mut bodies = bed.world.model.bodies().split_off(before);
    for body in &mut bodies {
        body.as_object_mut().unwrap().remove("prompt_cache_key");
    }
    bodies
}

/// A text with the service's ids of calls numbered in their order.
fn renumbered(text: &str) -> String {
    let mut parts = text.split("call_");
    let mut renumbered = parts.next().unwrap_or_default().to_owned();
    let mut known: Vec<String> = Vec::new();
    for part in parts {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        let place = known.iter().position(|id| *id == digits).unwrap_or_else(|| {
            known.push(digits.clone());
            known.len() - 1
        });
        renumbered.push_str(&format!(
            "call_#{place}{}",
            part.trim_start_matches(|c: char| c.is_ascii_digit())
        ));
    }
    renumbered
}

/// Builds the bodies of all calls again. A copied turn that was repeated late has sent words that its fork has not.
fn assert_rebuilds(bed: &Bed, session: &str) {
    let export = bed.asked("GET", &format!("/sessions/{session}/export"), "").text;
    let bundle = Bundle::read(&export).unwrap();
    for turn in &bundle.turns {
        for call in &turn.model_calls {
            match rebuild(&bundle, turn, call) {
                Ok(_) => {}
                Err(NotRebuilt::MissingEntry(_)) if bundle.parent.is_some() => {}
                Err(why) => panic!("{session}: {why}"),
            }
        }
    }
}

#[test]
fn a_fork_goes_on_as_a_session_that_stopped_at_its_turn() {
    run_seeds(SEEDS, LONG_SEEDS, &["default", "replay", "chained", "compacted"], |seed, _| {
        let mut met = BTreeMap::new();
        let mut random = Random(seed * 2 + 1);
        let acts = acts(&mut random);
        let context = *random.pick(&["default", "replay"]);
        *met.entry(context.to_owned()).or_default() += 1;
        let whole = bed(context);
        acts.iter().enumerate().for_each(|(number, act)| perform(&whole, number, act));
        for turns in 0..=acts.len() {
            let stopped = bed(context);
            let kept = acts.iter().take(turns).enumerate();
            kept.for_each(|(number, act)| perform(&stopped, number, act));
            let id = format!("f{turns}");
            let body = json!({ "SessionId": id, "AfterTurnId": format!("t{turns}") });
            let forked = whole.asked("POST", "/sessions/p/fork", &body.to_string());
            assert_eq!(forked.result()["Turns"], turns + 1);
            let (expected, found) = (next_request(&stopped, "p"), next_request(&whole, &id));
            for (found, expected) in found.iter().zip(&expected) {
                for member in ["input", "tools", "instructions", "include", "store"] {
                    let named = |body: &Value| renumbered(&body[member].to_string());
                    assert_eq!(named(found), named(expected), "{member} after {turns} of {acts:?}");
                }
            }
            assert_eq!(found.len(), expected.len());
            let is_chained = expected[0]["previous_response_id"].is_string();
            assert_eq!(found[0]["previous_response_id"].is_string(), is_chained);
            if is_chained {
                *met.entry("chained".to_owned()).or_default() += 1;
            }
            if expected[0].to_string().contains("Summary of") {
                *met.entry("compacted".to_owned()).or_default() += 1;
            }
            assert_rebuilds(&whole, &id);
        }
        // A fork of a fork, and the parent, go on.
        let body = json!({ "SessionId": "g", "AfterTurnId": "t1" }).to_string();
        whole.asked("POST", &format!("/sessions/f{}/fork", acts.len()), &body).result();
        next_request(&whole, "g");
        next_request(&whole, "p");
        assert_rebuilds(&whole, "p");
        assert_eq!(whole.world.model.refusals(), Vec::<String>::new());
        met
    });
}

/// Failed turns are repeated after later ones, so that forks leave out what stands between their entries.
#[test]
fn a_fork_of_turns_that_were_repeated_late_sends_all_that_it_has_and_nothing_else() {
    run_seeds(SEEDS, LONG_SEEDS, &["whole"], |seed, _| {
        let mut random = Random(seed * 2 + 1);
        let context = *random.pick(&["default", "replay"]);
        let bed = bed(context);
        let mut failed = Vec::new();
        for number in 0..6 {
            let (id, words) = (format!("t{}", number + 1), format!("Words-{number}."));
            if random.chance(40) {
                bed.world.model.script([http_error(401, json!({}), &[])]);
                failed.push((id.clone(), words.clone()));
            }
            bed.say("p", &id, &words);
            if random.chance(30) && !failed.is_empty() {
                let (id, words) = failed.remove(random.below(failed.len() as u64) as usize);
                bed.say("p", &id, &words).final_text();
            }
        }
        let mut met = BTreeMap::new();
        for turns in 1..=6_usize {
            let id = format!("f{turns}");
            let body = json!({ "SessionId": id, "AfterTurnId": format!("t{turns}") });
            bed.asked("POST", "/sessions/p/fork", &body.to_string()).result();
            bed.say(&id, "next", "Next").final_text();
            let request = bed.latest_request();
            assert_rebuilds(&bed, &id);
            if request["previous_response_id"].is_null() {
                *met.entry("whole".to_owned()).or_default() += 1;
                for number in 0..6 {
                    let has = request["input"]
                        .to_string()
                        .contains(&format!("INSTRUCTION]\\nWords-{number}."));
                    assert_eq!(has, number < turns, "{turns}: {request}");
                }
            }
        }
        bed.assert_chain_held();
        met
    });
}
