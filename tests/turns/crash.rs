//! The proof of survival: the instance ends at every durable step of every kind of turn and before
//! every write, and no turn is lost, doubled or stuck.
//!
//! A scenario is a list of a client's acts. It is run once to count its durable steps and its writing
//! statements; then once for each of them, the instance ending right after the step, or instead of
//! the statement, so that its transaction is rolled back. Another instance continues over the same
//! storage, and the client repeats the request that got no response, or never returns.

mod scenarios;

use std::collections::BTreeMap;

use bed::*;
use scenarios::{Act, Scenario, scenarios};
use serde_json::{Value, json};

/// The client's reaction to a missing response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// It repeats the request, at once.
    Repeats,
    /// It repeats the request after the alarm has rung and the object is idle.
    RepeatsLate,
    /// It is gone; the alarm rings.
    IsGone,
}

const CLIENTS: [Client; 3] = [Client::Repeats, Client::RepeatsLate, Client::IsGone];

/// The durable state when the instance ended.
struct Remains {
    /// Server calls whose result is stored, and how often each has run.
    executed: BTreeMap<String, usize>,
    turns: Vec<String>,
}

fn remains(bed: &Bed) -> Remains {
    let ran = bed.world.tools.executions();
    let answered = bed.disk.read(
        "SELECT call_id FROM calls WHERE runs_on = 'server' AND result LIKE '%ResultJson%found%'",
    );
    let executed = answered
        .iter()
        .map(|row| row["call_id"].as_str().unwrap().to_owned())
        .map(|id| (id.clone(), ran[&id]))
        .collect();
    let turns = bed.disk.read("SELECT turn_id FROM turns");
    let turns = turns.iter().map(|row| row["turn_id"].as_str().unwrap().to_owned()).collect();
    Remains { executed, turns }
}

/// What the client makes of a call: a result that names it, or a human's decision.
fn result_of(call: &Value) -> Value {
    if call["Name"] == "agent_approve_tool" {
        return json!({ "Approved": call["ArgumentsJson"].as_str().unwrap().contains("ann") });
    }
    json!(format!("result of {}", call["ToolCallId"].as_str().unwrap()))
}

/// Does one act; `None` when the instance ended before it responded. `sent` holds the tool results
/// that the client has sent for the act already, and then repeats.
fn act(bed: &Bed, act: &Act, sent: &mut Option<Value>) -> Option<()> {
    match act {
        Act::Turn(id, words, members) => {
            let heard = bed.try_post(&with(turn(id, words), members.clone()))?;
            assert!([200, 502].contains(&heard.status), "{}", heard.text);
        }
        Act::Index => {
            let document = json!({ "Path": "src/a.rs", "Contents": "fn alpha() {}\n" });
            let documents = json!({ "Documents": [document] }).to_string();
            bed.asked("PUT", "/workspaces/w/documents", &documents).result();
        }
        Act::Results(id) => {
            let view = bed.turn(id);
            let pending = view.result()["ToolCalls"].as_array().cloned().unwrap_or_default();
            let given: Vec<(&str, Value)> = pending
                .iter()
                .map(|call| (call["ToolCallId"].as_str().unwrap(), result_of(call)))
                .collect();
            if sent.is_none() && given.is_empty() {
                // The turn failed before it could ask.
                return Some(());
            }
            let request = sent.get_or_insert_with(|| results(id, &given));
            let heard = bed.try_post(request)?;
            assert!([200, 502].contains(&heard.status), "{}", heard.text);
        }
        Act::Cancel(id) => {
            let view = bed.try_cancel(id)?;
            assert_eq!(view.result()["Status"], "aborted");
        }
        Act::CancelRunning(id, words, calls) => {
            let running = bed.send(&turn(id, words));
            let called =
                |bed: &Bed| bed.world.model.requests() >= *calls || running.heard().is_some();
            bed.run_until(|bed| !bed.alive() || called(bed), "the turn runs");
            if !bed.alive() {
                return None;
            }
            let view = bed.try_cancel(id)?;
            assert!(["aborted", "completed"].contains(&view.result()["Status"].as_str().unwrap()));
            bed.wait(&running)?;
        }
        Act::AtOnce => bed.configure(|catalog| {
            for tool in 0..2 {
                catalog["ServerTools"][tool]["Parallel"] = json!(true);
            }
        }),
        Act::Gate => {
            bed.configure(|catalog| catalog["ServerTools"][1]["Approval"] = json!("Always"))
        }
        Act::Forget => bed.world.model.forget(),
        Act::Narrow(bytes) => {
            let too_long = http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
            bed.world.model.narrow(*bytes, too_long);
        }
        Act::KeepNothing => bed.world.model.keeps_nothing.set(true),
        Act::RefuseStorage => {
            bed.world.model.refuse_storage(http_error(400, json!({ "param": "store" }), &[]));
        }
        Act::RefuseChains => bed.world.model.rules.refuse_by(|body, _| {
            let refusal = http_error(400, json!({ "message": "Bad request." }), &[]);
            body["previous_response_id"].is_string().then_some(refusal)
        }),
        Act::Spoil(well) => {
            bed.world.model.spoil_once_after(*well, error_event("unknown", true));
        }
    }
    Some(())
}

/// Durable steps and writing statements of a scenario without a crash.
fn count(scenario: &Scenario) -> (u64, u64) {
    let bed = Bed::new();
    for next in &scenario.acts {
        act(&bed, next, &mut None).expect("the instance lives");
    }
    (bed.disk.steps.get(), bed.disk.writes.get())
}

/// Writing statements that create the tables.
pub(super) fn table_writes() -> u64 {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    bed.disk.read("SELECT 1 FROM sqlite_master WHERE type = 'table'").len() as u64
}

/// Runs a scenario with a crash, and checks the invariants.
fn survive(scenario: &Scenario, crash: Option<Crash>, client: Client) -> Bed {
    let bed = Bed::with_crash(crash);
    let mut left = None;
    for next in &scenario.acts {
        let mut sent = None;
        if act(&bed, next, &mut sent).is_some() {
            continue;
        }
        assert!(left.is_none(), "an instance ends once");
        left = Some(remains(&bed));
        bed.restart();
        if client != Client::Repeats {
            assert!(bed.alarm());
            bed.settle();
        }
        if client == Client::IsGone {
            break;
        }
        act(&bed, next, &mut sent).expect("the second instance lives");
    }
    bed.settle();
    if !bed.alive() {
        // The instance ended after the last response.
        left = Some(remains(&bed));
        bed.restart();
        bed.alarm();
        bed.settle();
    }
    check(&bed, left.as_ref());
    bed
}

fn check(bed: &Bed, left: Option<&Remains>) {
    let status = |bed: &Bed| -> BTreeMap<String, String> {
        let rows = bed.disk.read("SELECT turn_id, status FROM turns");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.iter().map(|row| (text(&row["turn_id"]), text(&row["status"]))).collect()
    };
    for (turn, status) in status(bed) {
        assert_ne!(status, "running", "{turn} runs although nothing is left to happen");
    }
    let left_turns = left.map(|left| left.turns.clone()).unwrap_or_default();
    for accepted in &left_turns {
        assert!(status(bed).contains_key(accepted), "{accepted} was accepted and is lost");
    }
    let ran = bed.world.tools.executions();
    for (call, times) in left.map(|left| &left.executed).into_iter().flatten() {
        assert_eq!(ran[call], *times, "{call} ran again although its result was stored");
    }

    // Turns that wait for tool results receive them. The next turn is then accepted, and the model
    // service knows everything that was ever accepted.
    for (id, _) in status(bed).iter().filter(|(_, status)| *status == "awaiting_tools") {
        let turn = if id == "t1" { "t1" } else { "t2" };
        act(bed, &Act::Results(turn), &mut None).unwrap();
        if bed.status(id) == "awaiting_tools" {
            bed.try_cancel(id).unwrap();
        }
    }
    assert_eq!(
        bed.post(&turn("last", "Last")).final_text().lines().last(),
        Some("Answer to Last.")
    );
    let conversation = bed.world.model.conversation();
    for (id, words) in [("t1", "One"), ("t2", "Two"), ("last", "Last")] {
        let times = conversation.heard(&format!("[INSTRUCTION]\n{words}"));
        let accepted = status(bed).contains_key(id);
        assert!(
            if accepted { times >= 1 } else { times == 0 },
            "{words} was said {times} times: {:#?}",
            conversation.user_texts()
        );
    }
    if !bed.world.workspaces.borrow().is_empty() {
        let shown = conversation.heard("Path: src/a.rs");
        assert_eq!(shown, conversation.heard("[INSTRUCTION]\nOne"), "a message without its chunk");
        let trace = bed.disk.read("SELECT composition FROM turns WHERE turn_id = 't1'");
        for row in trace {
            let trace = row["composition"].as_str().unwrap();
            assert_eq!(trace.matches("AgentContext.Retrieval.Index").count(), 1, "{trace}");
        }
    }
    let answered =
        bed.disk.read("SELECT call_id, result FROM calls WHERE result LIKE '%result of%'");
    for row in &answered {
        let id = row["call_id"].as_str().unwrap();
        let told = json!(format!("result of {id}")).to_string();
        assert!(
            conversation.outputs().contains(&(id.to_owned(), told)),
            "the result of {id} is lost"
        );
    }
    let ran_by_now = bed.world.tools.executions();
    for call in bed.disk.read("SELECT tool_call_id, approval FROM calls WHERE approval NOT NULL") {
        let (id, approved) = (&call["tool_call_id"], call["approval"].as_str().unwrap());
        let times = ran_by_now.get(id.as_str().unwrap());
        let may_run = approved.contains("\"approved\"");
        assert_eq!(times.is_some(), may_run, "{id} ran {times:?} times: {approved}");
    }
    assert_eq!(
        bed.disk.read("SELECT 1 FROM calls WHERE result IS NULL").len(),
        0,
        "a call is unanswered"
    );
    let session = bed.disk.session().unwrap();
    assert_eq!((&session["open_turn"], &session["open_calls_turn"]), (&Value::Null, &Value::Null));
    assert_eq!(bed.world.model.most_open.get(), 1, "two calls at once");
    assert_eq!(bed.world.model.open.get(), 0);
    bed.assert_chain_held();
}

/// What a client who asks for each turn sees of it. `has_usage`: with the tokens that it has cost.
fn seen(bed: &Bed, has_usage: bool) -> Vec<Value> {
    let turns = bed.disk.read("SELECT turn_id FROM turns ORDER BY ordinal");
    let ids = turns.iter().map(|row| row["turn_id"].as_str().unwrap().to_owned());
    ids.map(|id| {
        let view = bed.turn(&id);
        let outcome = &view.result()["Outcome"];
        json!([
            id,
            view.result()["Status"],
            outcome["Result"]["PrimaryOutputText"],
            if has_usage { &outcome["Result"]["Usage"] } else { &Value::Null },
            outcome["Warnings"],
            outcome["Result"]["ModeDisplayName"]
        ])
    })
    .collect()
}

/// Each lost instance serves three proofs: the session is right, a client who repeats can see
/// nothing of the loss, and the session's export replays.
#[test]
fn every_kind_of_turn_survives_a_crash_at_every_durable_step_and_in_every_write() {
    let mut survived = 0;
    for scenario in scenarios() {
        let has = |is_meant: fn(&Act) -> bool| scenario.acts.iter().any(is_meant);
        // A summary that was made and not yet used is made again, and both have cost tokens. No
        // record tells whether an instance was lost before or after a summary was put to use.
        let compacts = has(|act| matches!(act, Act::Narrow(_)));
        // The crash would consume a transient failure.
        let may_differ = has(|act| matches!(act, Act::Spoil(_) | Act::CancelRunning(..)));
        let whole = survive(&scenario, None, Client::Repeats);
        super::replays::assert_replays(&whole, scenario.name);
        let expected = seen(&whole, !compacts);

        let (steps, writes) = count(&scenario);
        // Every session begins with the same tables: one scenario crosses their creation.
        let first = if scenario.name == "plain" { 1 } else { table_writes() };
        let crashes =
            (1..=steps).map(Crash::AfterStep).chain((first..=writes).map(Crash::BeforeWrite));
        for crash in crashes {
            // Writes of one step leave the same rows, so they share the three between them.
            let clients = match crash {
                Crash::AfterStep(_) => CLIENTS.to_vec(),
                Crash::BeforeWrite(write) => vec![CLIENTS[write as usize % CLIENTS.len()]],
            };
            for client in clients {
                let told = format!("{}: {crash:?}, and the client {client:?}", scenario.name);
                let run = std::panic::AssertUnwindSafe(|| {
                    let bed = survive(&scenario, Some(crash), client);
                    if !matches!(crash, Crash::AfterStep(_)) {
                        return;
                    }
                    if client != Client::IsGone && !may_differ {
                        assert_eq!(seen(&bed, !compacts), expected, "{told}");
                    }
                    if client == Client::Repeats && !compacts {
                        super::replays::assert_replays(&bed, &told);
                    }
                });
                if let Err(panic) = std::panic::catch_unwind(run) {
                    println!("{told}");
                    std::panic::resume_unwind(panic);
                }
                survived += 1;
            }
        }
        println!("{}: {steps} durable steps, {writes} writes", scenario.name);
    }
    println!("{survived} crashes survived");
}

#[test]
fn two_crashes_in_a_row_fail_the_turn_at_worst_and_a_repeat_goes_on() {
    let mut survived = 0;
    let request = turn("t1", "One [plan: two-servers, mode:ddr]");
    let whole = Bed::new();
    whole.post(&request).final_text();
    for first in 1..=whole.disk.steps.get() {
        for second in first..=whole.disk.steps.get() + 1 {
            let bed = Bed::with_crash(Some(Crash::AfterStep(first)));
            assert_eq!(bed.try_post(&request).is_none(), !bed.alive());
            bed.restart_to_crash(Some(Crash::AfterStep(second)));
            let _ = bed.try_post(&request);
            bed.restart();
            let heard = bed.post(&request);
            let heard = match heard.failure() {
                (500, "turn_interrupted") => bed.post(&request),
                _ => heard,
            };
            assert_eq!(heard.final_text(), "Welcome to records.\n\nAnswer to One.");
            bed.settle();
            check(&bed, None);
            survived += 1;
        }
    }
    println!("{survived} double crashes survived");
}

#[test]
fn a_write_that_fails_fails_its_request_at_worst_and_a_repeat_goes_on() {
    let request = turn("t1", "One [plan: two-servers, mode:ddr]");
    let whole = Bed::new();
    whole.post(&request).final_text();
    for write in 1..=whole.disk.writes.get() {
        let bed = Bed::new();
        bed.disk.failing_write.set(Some(write));
        let heard = bed.post(&request);
        let heard = match heard.failure() {
            (500, "internal") => bed.post(&request),
            _ => heard,
        };
        assert_eq!(heard.final_text(), "Welcome to records.\n\nAnswer to One.", "write {write}");
        assert_eq!(bed.world.model.conversation().heard("One"), 1);
        check(&bed, None);
    }
}

#[test]
fn a_storage_that_fails_for_a_while_loses_nothing_that_was_accepted() {
    let bed = Bed::new();
    bed.post(&turn("t1", "One")).final_text();
    // The outcome cannot be stored: the client sees the turn fail, and it is still completed.
    bed.disk.write(
        "CREATE TRIGGER spoiled BEFORE INSERT ON conversation WHEN NEW.kind = 'answer'
         BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END",
    );
    let request = turn("t2", "Two");
    assert_eq!(bed.post(&request).failure(), (500, "internal"));
    bed.disk.write("DROP TRIGGER spoiled");
    assert_eq!(bed.post(&request).final_text(), "Answer to Two.");
    assert_eq!(bed.world.model.conversation().heard("Two"), 1);
    check(&bed, None);
}
