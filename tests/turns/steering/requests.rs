//! The requests of steers: what is taken, repeated and refused.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// A turn that waits for its client.
fn waiting() -> (Bed, Vec<String>) {
    let bed = Bed::new();
    let calls = bed.post(&turn("t1", "Words [plan: client]")).calls();
    (bed, calls)
}

#[test]
fn every_fault_of_a_steer_is_named_at_once_and_nothing_is_written() {
    let (bed, _) = waiting();
    let writes = bed.disk.writes.get();
    let forbidden = [
        "ToolResults",
        "ToolsJson",
        "ToolChoiceName",
        "RagScope",
        "WorkspaceId",
        "SolutionContextText",
        "Repo",
        "Language",
        "Streaming",
        "AgentContextId",
        "ConversationContextId",
        "SessionId",
        "TurnId",
        "Mode",
        "ConversationId",
        "User",
        "PreviousResponseId",
        "Model",
        "Kind",
    ];
    let mut body = json!({ "SteerId": "not an id", "Interrupt": "yes", "Instrution": "x" });
    for name in forbidden {
        body[name] = json!("x");
    }
    let refused = bed.steer("t1", &body);
    let errors = refused.body["Errors"].as_array().unwrap();
    let found: BTreeSet<(&str, &str)> = errors
        .iter()
        .map(|e| (e["ErrorCode"].as_str().unwrap(), e["Path"].as_str().unwrap_or_default()))
        .collect();
    let paths: Vec<String> = forbidden.iter().map(|name| format!("/{name}")).collect();
    let mut expected: BTreeSet<(&str, &str)> =
        paths.iter().map(|path| ("forbidden_field", path.as_str())).collect();
    expected.extend([
        ("invalid_field", "/SteerId"),
        ("invalid_field", "/Interrupt"),
        ("unknown_field", "/Instrution"),
        ("empty_turn", ""),
    ]);
    assert_eq!((refused.status, found), (400, expected));
    for (body, code) in [
        (json!({ "Instruction": "x" }), "missing_field"),
        (json!({ "SteerId": "s" }), "empty_turn"),
        (json!({ "SteerId": "s", "Instruction": " \n" }), "empty_turn"),
        (json!({ "SteerId": "..", "Instruction": "x" }), "invalid_field"),
        (json!({ "SteerId": "s", "InputArtifacts": [{}] }), "missing_field"),
        (json!([]), "malformed_json"),
    ] {
        assert_eq!(bed.steer("t1", &body).failure(), (400, code), "{body}");
    }
    // What says nothing is absent.
    let quiet = with(
        steer("s1", "x"),
        json!({ "ToolResults": [], "ToolsJson": null, "Streaming": false, "InputArtifacts": null }),
    );
    assert_eq!(bed.disk.writes.get(), writes);
    assert_eq!(bed.steer("t1", &quiet).status, 202);
    assert_eq!(bed.asked("GET", "/sessions/s/turns/t1/steer", "").status, 405);
}

#[test]
fn a_repeat_shows_what_has_become_of_the_steer_and_other_content_is_a_conflict() {
    let (bed, calls) = waiting();
    let words = steer("s1", "Rather this.");
    let first = bed.steer("t1", &words);
    let expected = json!({ "SessionId": "s", "TurnId": "t1", "SteerId": "s1", "State": "pending" });
    assert_eq!((first.status, first.result(), first.replayed), (202, &expected, false));
    let conflicts = |bed: &Bed| {
        let conflict = bed.steer("t1", &steer("s1", "Something else."));
        assert_eq!(conflict.failure(), (409, "steer_conflict"));
    };
    // `Interrupt` is delivery, and no content.
    let repeat = |bed: &Bed, state: &str| {
        let again = bed.steer("t1", &with(words.clone(), json!({ "Interrupt": true })));
        assert_eq!((again.status, again.replayed), (200, true), "{}", again.text);
        assert_eq!(again.result()["State"], state);
        conflicts(bed);
    };
    repeat(&bed, "pending");
    bed.restart();
    repeat(&bed, "pending");
    bed.post(&results("t1", &[(&calls[0], json!(1))])).final_text();
    repeat(&bed, "delivered");
    bed.restart();
    repeat(&bed, "delivered");
    assert_eq!(bed.steer("t1", &steer("s2", "Late.")).failure(), (409, "turn_ended"));
    assert_each_once(&bed, &["Rather this."]);
    bed.try_erase().unwrap();
    assert_eq!(bed.steer("t1", &words).failure(), (404, "session_not_found"));
    assert!(bed.disk.read("SELECT 1 FROM sqlite_master WHERE name = 'steers'").is_empty());
    // The session begins anew under the same ids, and knows nothing of them.
    let calls = bed.post(&turn("t1", "Words [plan: client]")).calls();
    assert_eq!(bed.turn("t1").result().get("Steers"), None);
    assert_eq!(bed.steer("t1", &words).status, 202);
    bed.post(&results("t1", &[(&calls[0], json!(1))])).final_text();
    assert_eq!(states(&bed, "t1"), [state("s1", "delivered")]);
}

#[test]
fn a_turn_takes_a_hundred_steers_and_not_one_more() {
    let (bed, calls) = waiting();
    assert_eq!(bed.steer("t0", &steer("s1", "x")).failure(), (404, "turn_not_found"));
    let pending: Vec<Pending> = (0..100)
        .map(|number| {
            bed.send_steer("t1", &steer(&format!("s{number}"), &format!("Word{number}.")))
        })
        .collect();
    for pending in pending {
        assert_eq!(bed.wait(&pending).unwrap().status, 202);
    }
    let over = bed.steer("t1", &steer("s100", "x"));
    assert_eq!((over.failure(), &over.details()["MaxSteers"]), ((403, "forbidden"), &json!(100)));
    assert_eq!(bed.steer("t1", &steer("s7", "Word7.")).status, 200);
    bed.restart();
    bed.post(&results("t1", &[(&calls[0], json!(1))])).final_text();
    let heard = bed.world.model.conversation().user_texts();
    let words: Vec<String> = heard
        .iter()
        .filter_map(|text| text.split_once("[INSTRUCTION]\nWord"))
        .map(|(_, rest)| rest.to_owned())
        .collect();
    let expected: Vec<String> = (0..100).map(|number| format!("{number}.")).collect();
    assert!(words.ends_with(&expected), "{words:?}");
    bed.assert_chain_held();
}

#[test]
fn a_long_steer_is_kept_whole() {
    let (bed, calls) = waiting();
    let long = format!("Long {}", "word ".repeat(300_000));
    assert_eq!(bed.steer("t1", &steer("s1", &long)).status, 202);
    bed.restart();
    bed.post(&results("t1", &[(&calls[0], json!(1))])).final_text();
    assert_each_once(&bed, &[&long]);
    bed.post(&turn("t2", "Next")).final_text();
}

#[test]
fn the_states_of_steers_are_shown_without_their_words_being_read() {
    let (bed, _) = waiting();
    for number in 0..4 {
        let long = format!("Long {}", "word ".repeat(60_000));
        assert_eq!(bed.steer("t1", &steer(&format!("s{number}"), &long)).status, 202);
    }
    bed.restart();
    bed.disk.watch();
    assert_eq!(bed.turn("t1").result()["Steers"].as_array().unwrap().len(), 4);
    for (statement, seen) in bed.disk.statements() {
        assert!(seen.most_bytes < 100_000, "{statement}: {seen:?}");
    }
}

#[test]
fn a_steer_that_was_received_before_an_erasure_is_turn_aborted() {
    let (bed, _) = waiting();
    bed.world.late_bodies.set(true);
    let steering = bed.send_steer("t1", &steer("s1", "x"));
    bed.step();
    let erasing = bed.send_erase();
    bed.wait(&erasing).unwrap();
    let failure = bed.wait(&steering).unwrap();
    assert!([(409, "turn_aborted"), (202, "")].contains(&failure.failure()), "{}", failure.text);
    assert!(!failure.text.contains("Send it again"), "{}", failure.text);
    assert_eq!(bed.steer("t1", &steer("s2", "x")).failure(), (404, "session_not_found"));
}
