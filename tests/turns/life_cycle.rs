//! Turns that are repeated, cancelled, interrupted or late (interface §2, Turns).

use serde_json::json;

use super::watched;
use bed::*;

#[test]
fn a_repeat_attaches_while_the_turn_runs_and_replays_when_it_has_ended() {
    let bed = Bed::new();
    bed.world.model.script([say("One by one.").paced(10).into()]);
    let request = with(turn("t1", "Hello"), json!({ "Streaming": true }));
    let first = bed.send(&request);
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    let beside = bed.send(&request);
    let plain = bed.send(&with(request.clone(), json!({ "Streaming": true })));
    let (first, beside, plain) =
        (bed.wait(&first).unwrap(), bed.wait(&beside).unwrap(), bed.wait(&plain).unwrap());
    assert_eq!((&first.text, first.replayed), (&beside.text, beside.replayed));
    assert_eq!(watched(beside.frames.as_ref().unwrap()), watched(plain.frames.as_ref().unwrap()));
    let again = bed.post(&request);
    assert_eq!((again.replayed, &again.text), (true, &first.text));
    bed.restart();
    assert_eq!(bed.post(&request).text, first.text);
    assert_eq!(bed.world.model.requests(), 1);
}

#[test]
fn each_submission_of_a_turn_is_replayed_on_its_own() {
    let bed = Bed::new();
    let request = turn("t1", "Ask [plan: client, client]");
    let first = bed.post(&request);
    let one = results("t1", &[(&first.calls()[0], json!(1))]);
    let second = bed.post(&one);
    let two = results("t1", &[(&second.calls()[0], json!(2))]);
    let third = bed.post(&two);
    bed.restart();
    for (request, heard) in [(&request, &first), (&one, &second), (&two, &third)] {
        let again = bed.post(request);
        assert_eq!((again.replayed, &again.text), (true, &heard.text));
    }
    assert_eq!(bed.world.model.requests(), 3);
    for (id, code) in [
        (first.calls()[0].as_str(), "turn_conflict"),
        (second.calls()[0].as_str(), "turn_conflict"),
        ("call_x", "turn_not_awaiting_tools"),
    ] {
        let refused = bed.post(&results("t1", &[(id, json!("other"))]));
        assert_eq!(refused.failure(), (409, code));
        assert!(!refused.text.contains("new TurnId"), "{}", refused.text);
    }
}

#[test]
fn a_failed_turn_runs_again_from_its_last_durable_step_when_it_is_repeated() {
    let bed = Bed::new();
    let request = turn("t1", "Look [plan: server]");
    bed.world.model.spoil_after(1, failed("server_error"));
    assert_eq!(bed.post(&request).failure(), (502, "upstream_failed"));
    assert_eq!(bed.status("t1"), "failed");
    bed.world.model.mend();
    bed.restart();
    let heard = bed.post(&request);
    assert_eq!((heard.final_text(), heard.replayed), ("Answer to Look.", false));
    assert_eq!(bed.world.tools.calls().len(), 1, "the tool's result was durable");
    assert_eq!(bed.world.model.conversation().heard("Look"), 1);
    bed.assert_chain_held();
}

#[test]
fn other_content_under_a_used_turn_id_is_a_conflict() {
    let bed = Bed::new();
    bed.post(&turn("t1", "Hello"));
    let before = bed.disk.writes.get();
    let heard = bed.post(&turn("t1", "Other"));
    assert_eq!(
        (heard.failure(), heard.details()),
        ((409, "turn_conflict"), &json!({ "TurnId": "t1" }))
    );
    assert_eq!(bed.disk.writes.get(), before);
}

#[test]
fn a_cancelled_turn_takes_no_results_and_no_repeat_and_blocks_nothing() {
    let bed = Bed::new();
    let request = turn("t1", "Ask [plan: client]");
    let asked = bed.post(&request).calls();
    let view = bed.try_cancel("t1").unwrap();
    assert_eq!(view.result()["Status"], "aborted");
    assert_eq!(bed.try_cancel("t1").unwrap(), view);
    bed.restart();
    for request in [&request, &results("t1", &[(&asked[0], json!(1))])] {
        assert_eq!(bed.post(request).failure(), (409, "turn_aborted"));
    }
    assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
    let conversation = bed.world.model.conversation();
    assert_eq!(conversation.heard("Ask"), 1);
    let why = r#"{"error":"The tool was not executed: the turn was cancelled."}"#;
    assert_eq!(conversation.outputs(), [(asked[0].clone(), why.to_owned())]);
    bed.assert_chain_held();
}

#[test]
fn a_cancelled_pause_keeps_what_was_said_beside_its_calls() {
    let bed = Bed::new();
    let asks = vec![Item::Text(vec!["I need a file.".to_owned()]), call("ask", json!({}))];
    bed.world.model.script([says(asks).into()]);
    bed.post(&turn("t1", "Ask")).calls();
    assert_eq!(bed.try_cancel("t1").unwrap().result()["TextSoFar"], "I need a file.");
}

#[test]
fn a_running_turn_can_be_cancelled_at_each_wait_and_drops_what_it_waits_for() {
    // While the model speaks.
    let bed = Bed::new();
    bed.world.model.script([say("Much to say.").silent_after(6).into()]);
    let running = bed.send(&turn("t1", "Talk"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    let watcher = bed.attach("t1", None);
    bed.run_at_once();
    let view = bed.try_cancel("t1").unwrap();
    assert_eq!(
        (&view.result()["Status"], &view.result()["TextSoFar"]),
        (&"aborted".into(), &"Much to ".into())
    );
    assert_eq!(bed.wait(&running).unwrap().failure(), (409, "turn_aborted"));
    assert!(bed.wait(&watcher).unwrap().frames.unwrap().ends_with(
        r#""Warnings":[]}

"#
    ));
    assert_eq!((bed.world.model.aborted.get(), bed.world.model.open.get()), (1, 0));
    assert_eq!(bed.post(&turn("t2", "Next")).final_text(), "Answer to Next.");
    assert_eq!(bed.world.model.conversation().heard("Talk"), 1);

    // While a server tool works, so that its effect stays unknown, and the next has not begun.
    bed.world.tools.script([ToolAnswer::Never]);
    let running = bed.send(&turn("t3", "Look [plan: two-servers]"));
    bed.run_until(|bed| bed.world.tools.calls().len() == 1, "the tool is called");
    bed.try_cancel("t3").unwrap();
    assert_eq!(bed.wait(&running).unwrap().failure(), (409, "turn_aborted"));
    assert_eq!(bed.post(&turn("t4", "Last")).final_text(), "Answer to Last.");
    assert_eq!(bed.world.tools.calls().len(), 1);
    let unknown =
        r#"{"error":"It is not known whether the tool was executed: the turn was cancelled."}"#;
    let not_begun = r#"{"error":"The tool was not executed: the turn was cancelled."}"#;
    let outputs = bed.world.model.conversation().outputs();
    assert_eq!(outputs.iter().map(|(_, output)| output).collect::<Vec<_>>(), [unknown, not_begun]);
    bed.assert_chain_held();
}

#[test]
fn a_repeat_of_an_older_turn_closes_the_calls_that_another_failed_turn_left_open() {
    let bed = Bed::new();
    let (one, two) = (turn("t1", "One [plan: server]"), turn("t2", "Two [plan: two-servers]"));
    for request in [&one, &two] {
        bed.world.tools.script([ToolAnswer::Status(500)]);
        assert_eq!(bed.post(request).failure(), (500, "server_tool_failed"));
    }
    assert_eq!(bed.post(&one).final_text(), "Answer to One.");
    let heard = bed.post(&two);
    assert_eq!(heard.final_text(), "Answer to Two.");
    let told = bed.world.model.conversation().outputs();
    assert!(told.iter().any(|(_, output)| output.contains("was not executed")), "{told:?}");
    // What the server has not executed is no result of its tools.
    let shown = heard.result()["ToolResults"].to_string();
    assert!(shown.contains("found") && !shown.contains("was not executed"), "{shown}");
    bed.assert_chain_held();
}

#[test]
fn an_interrupted_turn_resumes_once_by_itself_then_it_fails_and_can_be_repeated() {
    let bed = Bed::new();
    bed.world.model.spoil_after(0, say("Never.").silent_after(3).into());
    let request = turn("t1", "Hello");
    bed.send(&request);
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    bed.restart();
    bed.alarm();
    bed.run_until(|bed| bed.world.model.requests() == 2, "the turn is taken up");
    assert_eq!(bed.turn("t1").result()["Attempts"], 2);
    bed.restart();
    // The repeat attaches to the running turn, and gets its outcome.
    let heard = bed.post(&request);
    assert_eq!((heard.failure(), heard.replayed), ((500, "turn_interrupted"), false));
    assert_eq!(bed.status("t1"), "failed");
    bed.world.model.mend();
    assert_eq!(bed.post(&request).final_text(), "Answer to Hello.");
    assert_eq!(bed.turn("t1").result()["Attempts"], 1);
    assert_eq!(bed.world.model.conversation().heard("Hello"), 1);
}

#[test]
fn a_turn_interrupted_for_good_frees_the_session() {
    let bed = Bed::new();
    bed.world.model.spoil_after(0, Reply::Silence);
    bed.send(&turn("t1", "Hello"));
    for life in 1..=2 {
        bed.run_until(|bed| bed.world.model.requests() == life, "the model is called");
        bed.restart();
        bed.alarm();
    }
    assert_eq!(bed.status("t1"), "failed");
    bed.world.model.mend();
    bed.post(&turn("t2", "Next")).final_text();
    assert_eq!(bed.world.model.conversation().heard("Hello"), 1);
    let attached = bed.wait(&bed.attach("t1", None)).unwrap();
    assert_eq!(attached.failure(), (500, "turn_interrupted"));
}

#[test]
fn a_turn_that_takes_too_long_times_out() {
    let bed = Bed::new();
    bed.deploy("TURN_TIMEOUT_MS", "1000");
    bed.world.model.script([say("Very slow indeed.").paced(300).into()]);
    assert_eq!(bed.post(&turn("t1", "Hello")).failure(), (504, "upstream_timeout"));
    assert_eq!((bed.world.model.aborted.get(), bed.world.model.open.get()), (1, 0));
}

#[test]
fn an_outcome_is_delivered_only_once_durable_and_a_late_cancel_does_not_change_it() {
    for seed in 0..200 {
        let bed = Bed::new();
        bed.world.shake(seed);
        let running = bed.send(&turn("t1", "Hello"));
        let mut wait = Random(seed).below(40);
        while running.heard().is_none() && wait > 0 {
            bed.step();
            wait -= 1;
        }
        let cancelled = bed.try_cancel("t1").unwrap();
        let heard = bed.wait(&running).unwrap();
        match cancelled.result()["Status"].as_str().unwrap() {
            "completed" => assert_eq!(heard.final_text(), "Answer to Hello."),
            _ => assert_eq!(heard.failure(), (409, "turn_aborted")),
        }
        assert_eq!(bed.turn("t1").result()["Outcome"], heard.body);
        bed.post(&turn("t2", "Next")).final_text();
        assert_eq!(bed.world.model.conversation().heard("Hello"), 1);
        bed.assert_chain_held();
    }
}

#[test]
fn a_turn_that_begins_while_the_last_outcome_is_made_durable_runs_once() {
    for seed in 0..200 {
        let bed = Bed::new();
        bed.world.shake(seed);
        let first = bed.send(&turn("t1", "One"));
        bed.run_until(
            |bed| bed.disk.read("SELECT 1 FROM turns WHERE status = 'completed'").len() == 1,
            "it ends",
        );
        let second = bed.send(&turn("t2", "Two"));
        bed.wait(&first).unwrap().final_text();
        // Every request looks for turns that no instance runs.
        bed.session();
        bed.wait(&second).unwrap().final_text();
        bed.settle();
        assert_eq!((bed.world.model.requests(), bed.world.model.most_open.get()), (2, 1));
    }
}

#[test]
fn results_that_come_too_late_have_no_arguments_and_no_earlier_results_read() {
    let bed = Bed::new();
    bed.world.tools.think(|_| ToolAnswer::Json(json!("x".repeat(900_000))));
    bed.post(&turn("t1", "Look [plan: server, server]")).final_text();
    let before = bed.disk.bytes_returned.get();
    let late = bed.post(&results("t1", &[("call_x", json!(1))]));
    assert_eq!(late.failure(), (409, "turn_not_awaiting_tools"));
    let read = bed.disk.bytes_returned.get() - before;
    assert!(read < 200_000, "{read}");
}
