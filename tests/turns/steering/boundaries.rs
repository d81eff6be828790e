//! A steer reaches the model at the first boundary after it, wherever the turn is.

use serde_json::json;

use super::*;

/// A kind of turn: what it is called, how the world is prepared, and the request.
type Kind = (&'static str, fn(&Bed), Value);

fn kinds() -> Vec<Kind> {
    let in_replay = || json!({ "ConversationContextId": "replay" });
    let nothing = |_: &Bed| ();
    let gate = |bed: &Bed| {
        bed.configure(|catalog| catalog["ServerTools"][1]["Approval"] = json!("Always"));
    };
    let retried = |bed: &Bed| {
        bed.world.model.spoil_once_after(0, http_error(503, json!({}), &[]));
    };
    let indexed = |bed: &Bed| {
        let document = json!({ "Path": "a.rs", "Contents": "fn words() {}\n" });
        let documents = json!({ "Documents": [document] }).to_string();
        bed.asked("PUT", "/workspaces/w/documents", &documents).result();
    };
    let narrow = |bed: &Bed| {
        for number in 0..4 {
            let words = format!("Earlier{number} {}", "word ".repeat(400));
            bed.post(&turn(&format!("e{number}"), &words)).final_text();
        }
        let too_long = http_error(400, json!({ "code": "context_length_exceeded" }), &[]);
        bed.world.model.narrow(6_000, too_long);
    };
    let threshold = |bed: &Bed| {
        bed.configure(|catalog| {
            catalog["AgentContexts"]["default"]["Compaction"] = json!({ "Threshold": 1_500 });
        });
        bed.world.model.counts.set(true);
        for number in 0..3 {
            let words = format!("Earlier{number} {}", "word ".repeat(400));
            bed.post(&turn(&format!("e{number}"), &words)).final_text();
        }
    };
    vec![
        ("plain", nothing, turn("t1", "Words")),
        ("in replay", nothing, with(turn("t1", "Words [plan: server, client]"), in_replay())),
        ("with tools", nothing, turn("t1", "Words [plan: mixed, two-servers]")),
        ("with a mode", nothing, turn("t1", "Words [plan: mode:ddr, client]")),
        ("with approvals", gate, turn("t1", "Words [plan: gated]")),
        ("with a retry", retried, turn("t1", "Words [plan: server]")),
        ("with retrieval", indexed, with(turn("t1", "Words"), json!({ "WorkspaceId": "w" }))),
        ("too long", narrow, turn("t1", "Words [plan: server]")),
        ("over the threshold", threshold, turn("t1", "Words [plan: server]")),
    ]
}

#[test]
fn a_steer_at_any_moment_is_delivered_exactly_once_or_refused_because_the_turn_has_ended() {
    for (name, prepare, request) in kinds() {
        let (mut accepted, mut refused) = (0, 0);
        for interrupt in [false, true] {
            let steered = with(steer("s1", "Instead this."), json!({ "Interrupt": interrupt }));
            for at in 0.. {
                let bed = Bed::new();
                // Each event of a response is a moment of its own.
                bed.world.model.think(|conversation| match planned(conversation) {
                    Reply::Answer(answer) => answer.paced(3).into(),
                    other => other,
                });
                prepare(&bed);
                let Some(Driven { steer, turn }) = drive(&bed, &request, &steered, at) else {
                    break;
                };
                let place = format!("{name}, step {at}, interrupt {interrupt}");
                match steer.failure() {
                    (202, _) => {
                        accepted += 1;
                        assert_eq!(steer.result()["State"], "pending", "{place}");
                        let text = turn.final_text();
                        assert!(text.ends_with("Answer to Instead."), "{place}: {text}");
                        assert_each_once(&bed, &["Instead this."]);
                        assert_eq!(states(&bed, "t1"), [state("s1", "delivered")], "{place}");
                    }
                    (409, "turn_ended") => {
                        refused += 1;
                        assert_eq!(steer.details()["Status"], "completed", "{place}");
                        assert!(turn.final_text().ends_with("Answer to Words."), "{place}");
                        assert_eq!(bed.world.model.conversation().heard("Instead this."), 0);
                        assert_eq!(states(&bed, "t1"), []);
                        break;
                    }
                    other => panic!("{place}: {other:?} {}", steer.text),
                }
            }
        }
        assert!(accepted > 3 && refused > 0, "{name}: {accepted} accepted, {refused} refused");
    }
}

#[test]
fn steers_reach_the_model_in_the_order_of_their_acceptance_behind_the_outputs_of_all_calls() {
    for context in ["default", "replay"] {
        let bed = Bed::new();
        let request =
            with(turn("t1", "Words [plan: mixed]"), json!({ "ConversationContextId": context }));
        let calls = bed.post(&request).calls();
        for (id, words) in [("a", "First."), ("b", "Second."), ("c", "Third.")] {
            assert_eq!(bed.steer("t1", &steer(id, words)).status, 202);
        }
        assert_eq!(states(&bed, "t1")[2], state("c", "pending"));
        let given: Vec<(&str, Value)> = calls.iter().map(|id| (id.as_str(), json!(1))).collect();
        bed.post(&results("t1", &given)).final_text();
        let said = said(&bed);
        let output = said.iter().rposition(|said| matches!(said, Said::Output(..))).unwrap();
        let message = |words| Said::User(format!("[MODE: general]\n\n[INSTRUCTION]\n{words}"));
        assert_eq!(said[output + 1..output + 4], ["First.", "Second.", "Third."].map(message));
        assert_each_once(&bed, &["First.", "Second.", "Third."]);
        let view = bed.turn("t1");
        assert_eq!(view.result()["Steers"][1]["ModelCall"], 1);
        assert!(view.result()["Steers"][1]["AcceptedAt"].is_string());
    }
}

#[test]
fn a_final_text_that_a_steer_follows_stays_in_the_conversation_and_is_taken_back() {
    let bed = Bed::new();
    bed.world.model.script([say("Too long an answer.").paced(5).into(), say("Short.").into()]);
    let request = with(turn("t1", "Words"), json!({ "Streaming": true }));
    let streamed = bed.send(&request);
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    assert_eq!(bed.steer("t1", &steer("s1", "Shorter.")).status, 202);
    let heard = bed.wait(&streamed).unwrap();
    assert_eq!(heard.final_text(), "Short.");
    let frames = heard.frames.clone().unwrap();
    assert!(frames.contains("event: output_text.discard"), "{frames}");
    assert_eq!(super::super::watched(&frames).0, "Short.");
    assert_eq!(
        said(&bed)[1..],
        [
            Said::User("[MODE: general]\n\n[INSTRUCTION]\nWords".to_owned()),
            Said::Assistant("Too long an answer.".to_owned()),
            Said::User("[MODE: general]\n\n[INSTRUCTION]\nShorter.".to_owned()),
            Said::Assistant("Short.".to_owned()),
        ]
    );
    // JSON, stream and replay are one outcome.
    let replayed = bed.post(&with(request, json!({ "Streaming": false })));
    assert_eq!((replayed.text.as_str(), replayed.replayed), (heard.text.as_str(), true));
    let again = bed.wait(&bed.attach("t1", None)).unwrap();
    assert_eq!(again.text, heard.text);
    assert_eq!(super::super::watched(&again.frames.unwrap()).0, "Short.");
}

#[test]
fn a_watcher_from_before_the_discard_ends_up_with_the_right_text() {
    let whole = {
        let bed = Bed::new();
        steered_stream(&bed).frames.unwrap()
    };
    let ids: Vec<String> =
        whole.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect();
    assert!(ids.len() > 3);
    for id in ids {
        let bed = Bed::new();
        steered_stream(&bed);
        let headers = [("Last-Event-ID", id.as_str())];
        let heard = bed.wait(&bed.ask("GET", "/sessions/s/turns/t1/stream", &headers, ""));
        let heard = heard.unwrap();
        let known = whole.split(&format!("id: {id}\n")).next().unwrap();
        let end = known.rfind("event: ").unwrap();
        let rest = &whole[end..];
        let frame = &rest[..rest.find("\n\n").unwrap() + 2];
        let both = format!("{}{frame}{}", &whole[..end], heard.frames.unwrap_or_default());
        if id != "end" {
            assert_eq!(super::super::watched(&both).0, "Short.", "from {id}");
        }
    }
}

fn steered_stream(bed: &Bed) -> Heard {
    bed.world.model.script([say("Too long an answer.").paced(5).into(), say("Short.").into()]);
    let streamed = bed.send(&with(turn("t1", "Words"), json!({ "Streaming": true })));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    bed.steer("t1", &steer("s1", "Shorter."));
    bed.wait(&streamed).unwrap()
}

#[test]
fn the_call_that_carries_a_steer_is_the_first_that_counts_for_the_limit() {
    let bed = Bed::new();
    bed.deploy("MAX_ITERATIONS", "2");
    let server = || Reply::from(says(vec![call("lookup", json!({}))]).paced(5));
    bed.world.model.script([server(), server(), say("Done.").into()]);
    let pending = bed.send(&turn("t1", "Words"));
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    assert_eq!(bed.steer("t1", &steer("s1", "Look closer.")).status, 202);
    assert_eq!(bed.wait(&pending).unwrap().final_text(), "Done.");
    // Without a steer the same turn is over after two calls.
    bed.world.model.script([server(), server()]);
    assert_eq!(bed.post(&turn("t2", "Words")).failure(), (500, "iteration_limit_exceeded"));
}

#[test]
fn progress_trace_log_and_export_show_a_steer() {
    let bed = Bed::new();
    bed.world.model.script([says(vec![call("lookup", json!({}))]).paced(5).into()]);
    let request = with(turn("t1", "Words"), json!({ "Streaming": true }));
    let pending = bed.ask("POST", "/execute?Progress=true", &[], &request.to_string());
    bed.run_until(|bed| bed.world.model.requests() == 1, "the model is called");
    let words = with(
        steer("s1", "Read this."),
        json!({ "InputArtifacts": [
            { "RelativePath": "", "FileName": "a.txt", "Contents": "Alpha", "Origin": "user" }],
            "ClipboardImages": [{ "Id": "i", "MimeType": "image/png", "DataBase64": "iVBO" }] }),
    );
    assert_eq!(bed.steer("t1", &words).status, 202);
    let pending_export = bed.export();
    let waiting = &pending_export["Result"]["Turns"][0]["Steers"][0];
    assert_eq!(
        (&waiting["State"], &waiting["Instruction"]),
        (&json!("pending"), &json!("Read this."))
    );
    let heard = bed.wait(&pending).unwrap();
    let frames = heard.frames.unwrap();
    for step in ["accepted", "delivered"] {
        let data = format!("data: {{\"Kind\":\"steer\",\"SteerId\":\"s1\",\"State\":\"{step}\"}}");
        assert_eq!(frames.matches(&data).count(), 1, "{step}: {frames}");
    }
    let message = bed.world.model.conversation().0;
    let message = message.iter().rfind(|item| item["role"] == "user").unwrap();
    let content = message["content"].as_array().unwrap();
    assert_eq!(content[0]["text"], "[MODE: general]\n\n[INSTRUCTION]\nRead this.");
    let context = content[1]["text"].as_str().unwrap();
    assert!(
        context.starts_with("[CONTEXT]\n\n=== CHUNK 1 ===\nId: ctx_1\nPath: a.txt"),
        "{context}"
    );
    assert_eq!(content[2]["image_url"], "data:image/png;base64,iVBO");
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    let traced = &trace.result()["Steers"][0];
    assert_eq!((&traced["State"], &traced["Interrupted"]), (&json!("delivered"), &json!(false)));
    assert!(traced["WaitedMs"].is_u64() && traced["ModelCall"] == 1, "{traced}");
    assert!(!trace.text.contains("Read this."));
    let export = bed.export();
    let turn = &export["Result"]["Turns"][0];
    let entry = turn["Conversation"].as_array().unwrap().iter().find(|e| e["Kind"] == "steer");
    assert_eq!(entry.unwrap()["Sequence"], turn["Steers"][0]["Sequence"]);
    let exported = bed.asked("GET", "/sessions/s/export", "").text;
    let report = replay::report(&exported).unwrap().text;
    assert_eq!(report.matches("rebuilt, ").count(), 2, "{report}");
    let line = bed.world.log.borrow().iter().find(|line| line["event"] == "submission").cloned();
    assert_eq!(line.unwrap()["report"]["steers"], 1);
}

#[test]
fn a_turn_without_steers_stores_nothing_of_them() {
    let bed = Bed::new();
    bed.post(&turn("t1", "Words [plan: server]")).final_text();
    assert!(bed.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'steers'").is_empty());
    assert!(bed.disk.read("SELECT 1 FROM turns WHERE progress LIKE '%steers%'").is_empty());
    assert!(!bed.turn("t1").text.contains("Steers"));
}
