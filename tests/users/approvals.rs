//! Who decides (interface §12, `By`): operations of tickets, actors and keys, of a decision and of its repeat.

use bed::*;
use serde_json::{Value, json};

use super::people::{people, words};

/// People of whom somebody is asked before `fragile` runs.
fn gated(by: &str) -> Bed {
    let bed = people();
    bed.configure(|catalog| {
        catalog["ServerTools"][1]["Approval"] = json!({ "When": "Always", "By": by });
        catalog["ServerTools"][1]["OnError"] = json!("FailTurn");
    });
    bed
}

/// A ticket of alice, used by an actor.
fn ticket(bed: &Bed, actor: &str, operations: &[&str]) -> String {
    let mut body = json!({ "User": "alice", "Operations": operations, "ExpiresInS": 3600 });
    if actor != "alice" {
        body["Actor"] = actor.into();
    }
    let minted = bed.asked("POST", "/tickets", &body.to_string());
    minted.result()["Ticket"].as_str().unwrap().to_owned()
}

/// The answer to a request of somebody who may do everything but `without`.
fn ask(bed: &Bed, actor: &str, without: &str, target: &str, body: &Value) -> Heard {
    let mut operations = vec!["Execute", "Answer", "Approve", "Read"];
    operations.retain(|operation| *operation != without);
    let bearer = format!("Bearer {}", ticket(bed, actor, &operations));
    let headers = [("Authorization", bearer.as_str())];
    bed.wait(&bed.ask("POST", target, &headers, &body.to_string())).unwrap()
}

fn execute(bed: &Bed, actor: &str, body: &Value) -> Heard {
    ask(bed, actor, "", "/execute", body)
}

fn approval(question: &str) -> Value {
    with(results("t1", &[(question, json!({ "Approved": true }))]), json!({ "SessionId": "a" }))
}

fn assert_may_not_decide(heard: &Heard) {
    assert_eq!(heard.failure(), (403, "forbidden"), "{}", heard.text);
    assert_eq!(heard.details()["Operation"], "Approve");
    assert!(!heard.text.contains("still waits"), "{}", heard.text);
}

fn runs(bed: &Bed) -> usize {
    bed.world.tools.calls().len()
}

#[test]
fn a_repeat_that_runs_an_approved_call_needs_what_the_decision_needed() {
    for (by, decider, others) in [
        ("Anyone", "alice", &[][..]),
        ("Actor", "carol", &["alice"][..]),
        ("Key", "key", &["alice", "carol"][..]),
    ] {
        let bed = gated(by);
        let decide = |actor: &str, body: &Value| match actor {
            "key" => {
                let headers = [("Aptix-User", "alice")];
                bed.wait(&bed.ask("POST", "/execute", &headers, &body.to_string())).unwrap()
            }
            actor => execute(&bed, actor, body),
        };
        let asked = execute(&bed, "alice", &words("a", "t1", "Mail [plan: fragile]"));
        let decision = approval(&asked.calls()[0]);
        bed.world.tools.script([ToolAnswer::Status(500), ToolAnswer::Status(500)]);
        assert_eq!(decide(decider, &decision).failure(), (500, "server_tool_failed"), "{by}");

        let without = ask(&bed, "alice", "Approve", "/execute", &decision);
        assert_may_not_decide(&without);
        for other in others {
            assert_may_not_decide(&decide(other, &decision));
        }
        assert_eq!(runs(&bed), 1, "{by}");
        // Whoever has decided may repeat the decision.
        assert_eq!(decide(decider, &decision).failure(), (500, "server_tool_failed"), "{by}");
        assert_eq!(decide(decider, &decision).final_text(), "Answer to Mail.");
        assert_eq!(runs(&bed), 3, "{by}");
        let log = bed.world.log.borrow();
        let line = log.iter().find(|line| line["event"] == "approval").unwrap();
        let named = ["key", "ticket", "actor"].map(|name| line.get(name).is_some());
        assert_eq!(named, [by == "Key", by != "Key", by == "Actor"], "{line}");
        drop(log);
        // A repeat that runs nothing needs no such right.
        let replayed = ask(&bed, "alice", "Approve", "/execute", &decision);
        assert!(replayed.replayed, "{}", replayed.text);
    }
}

#[test]
fn an_actor_who_asked_for_a_call_does_not_decide_on_it() {
    let bed = gated("Actor");
    // Carol sends the turn, Dave a result of the client's tool, Erin a steer.
    let begun = execute(&bed, "carol", &words("a", "t1", "Mail [plan: client, fragile, fragile]"));
    let result = results("t1", &[(&begun.calls()[0], json!(1))]);
    let asked = execute(&bed, "dave", &with(result, json!({ "SessionId": "a" })));
    let steered = ask(
        &bed,
        "erin",
        "",
        "/sessions/a/turns/t1/steer",
        &steer("s1", "More [plan: fragile, fragile]"),
    );
    assert_eq!(steered.status, 202, "{}", steered.text);
    let decision = approval(&asked.calls()[0]);
    for actor in ["alice", "carol", "dave", "erin"] {
        assert_may_not_decide(&execute(&bed, actor, &decision));
    }
    assert_eq!(runs(&bed), 0);
    // Frank has decided before, and that is no word of the turn's.
    bed.world.tools.script([ToolAnswer::Status(500)]);
    assert_eq!(execute(&bed, "frank", &decision).failure(), (500, "server_tool_failed"));
    let next = execute(&bed, "frank", &decision).calls();
    execute(&bed, "frank", &approval(&next[0])).calls();
    assert_eq!(runs(&bed), 3);
}

#[test]
fn whoever_decided_in_the_parent_may_decide_on_the_question_that_a_fork_puts_anew() {
    let bed = gated("Actor");
    let asked = execute(&bed, "carol", &words("a", "t1", "Mail [plan: fragile]"));
    bed.world.tools.script([ToolAnswer::Status(500)]);
    let decision = approval(&asked.calls()[0]);
    assert_eq!(execute(&bed, "frank", &decision).failure(), (500, "server_tool_failed"));
    let forked = ask(&bed, "carol", "Approve", "/sessions/a/fork", &json!({ "SessionId": "f" }));
    assert_eq!(forked.status, 201, "{}", forked.text);

    let of_fork = |body: &Value| with(body.clone(), json!({ "SessionId": "f" }));
    let again = ask(&bed, "carol", "Approve", "/execute", &of_fork(&decision));
    let anew = of_fork(&approval(&again.calls()[0]));
    assert_may_not_decide(&execute(&bed, "carol", &anew));
    assert_eq!(runs(&bed), 1);
    execute(&bed, "frank", &anew).final_text();
    assert_eq!(runs(&bed), 2);
}

#[test]
fn a_ticket_for_other_turns_learns_nothing_of_what_waits() {
    let bed = gated("Anyone");
    execute(&bed, "alice", &words("a", "t1", "Mail [plan: fragile]")).calls();
    let say_t2 = |turns: &Value| {
        let body = json!({ "User": "alice", "Sessions": ["a"], "Turns": turns });
        let minted = bed.asked("POST", "/tickets", &body.to_string());
        let bearer = format!("Bearer {}", minted.result()["Ticket"].as_str().unwrap());
        let headers = [("Authorization", bearer.as_str())];
        let turn = words("a", "t2", "Hello").to_string();
        let heard = bed.wait(&bed.ask("POST", "/execute", &headers, &turn)).unwrap();
        assert_eq!(heard.failure(), (409, "turn_awaiting_tools"));
        heard.details().clone()
    };
    assert_eq!(say_t2(&json!(["t2"])), Value::Null);
    let shown = say_t2(&json!(["t1", "t2"]));
    assert_eq!((&shown["TurnId"], shown["ToolCalls"][0].is_object()), (&json!("t1"), true));
}
