//! The line that a submission has in the log (docs/operations.md, The log): its own counts, who sent it, and by what it
//! failed. Codes and ids, no content.

use aptix_edge::encoding::sha256_hex;
use bed::*;
use serde_json::{Value, json};

/// The lines of an event so far, which are then forgotten.
fn lines(bed: &Bed, event: &str) -> Vec<Value> {
    let lines = bed.world.log.take();
    lines.into_iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn each_line_of_a_turn_has_the_tokens_and_the_calls_of_its_submission() {
    let bed = Bed::new();
    let paused = bed.post(&turn("t1", "Ask [plan: server, client]"));
    bed.post(&results("t1", &[(&paused.calls()[0], json!(1))])).final_text();
    let usage = bed.turn("t1").result()["Usage"]["TotalTokens"].as_u64().unwrap();
    let lines = lines(&bed, "submission");
    let reports: Vec<_> = lines.iter().map(|line| &line["report"]).collect();
    let of = |name: &str| -> Vec<u64> {
        reports.iter().map(|report| report[name].as_u64().unwrap()).collect()
    };
    let tokens: Vec<u64> =
        reports.iter().map(|report| report["usage"]["TotalTokens"].as_u64().unwrap()).collect();
    assert_eq!(tokens.len(), 2);
    assert_eq!(tokens.iter().sum::<u64>(), usage, "the lines of a turn add up to its usage");
    assert_eq!(of("model_calls").iter().sum::<u64>(), 3);
    assert_eq!(of("tool_calls"), [1, 0], "those that ran here");
    for line in &lines {
        assert_eq!(
            (&line["model"], &line["conversation_context"]),
            (&json!("m"), &json!("default"))
        );
        assert_eq!((line.get("tool"), line.get("upstream")), (None, None));
    }
}

#[test]
fn a_line_names_the_key_and_so_does_that_of_a_refusal_by_an_object() {
    let bed = Bed::new();
    bed.deploy("AUTH", "keys");
    let keys = json!([
        { "Id": "first", "Tenant": "local", "Sha256": sha256_hex(b"right") },
    ]);
    bed.deploy("API_KEYS", &keys.to_string());
    let ask = |target: &str, user: &[(&str, &str)], body: &str| {
        let headers = [&[("Authorization", "Bearer right")], user].concat();
        let method = if body.is_empty() { "GET" } else { "POST" };
        bed.wait(&bed.ask(method, target, &headers, body)).unwrap()
    };
    ask("/execute", &[], &turn("t1", "Hello").to_string()).final_text();
    let [line] = lines(&bed, "submission").try_into().unwrap();
    assert_eq!((&line["key"], line.get("user")), (&json!("first"), None));
    for (target, body) in [("/sessions/s/turns/none", ""), ("/workspaces/w/search", "{}")] {
        assert!(ask(target, &[], body).status >= 400, "{target}");
        let [line] = lines(&bed, "refused").try_into().unwrap();
        assert_eq!(line["key"], "first", "{target}: {line}");
    }
    let user = [("Aptix-User", "alice")];
    assert_eq!(ask("/sessions/s/turns/none", &user, "").status, 404);
    let [line] = lines(&bed, "refused").try_into().unwrap();
    assert_eq!(line["key"], "first");
    // The bed's log names users as they are; what a deployment's does, LOG_USERS says.
    assert_eq!(line["user"], "alice");
}

#[test]
fn the_line_of_a_failure_names_the_tool_or_what_the_model_service_said() {
    let bed = Bed::new();
    bed.world.tools.script([ToolAnswer::Status(500)]);
    assert_eq!(bed.post(&turn("t1", "Look [plan: server]")).status, 500);
    let [line] = lines(&bed, "submission").try_into().unwrap();
    assert_eq!((&line["tool"], line.get("upstream")), (&json!("lookup"), None));

    let bed = Bed::new();
    let refusal = json!({ "code": "odd_code", "message": "canary: the words of a prompt" });
    bed.world.model.script([http_error(400, refusal, &[("x-request-id", "req_9")])]);
    assert_eq!(bed.post(&turn("t2", "Hello")).status, 502);
    let [line] = lines(&bed, "submission").try_into().unwrap();
    let upstream = json!({ "status": 400, "code": "odd_code", "request_id": "req_9" });
    assert_eq!((&line["upstream"], line.get("tool")), (&upstream, None));
    assert!(!line.to_string().contains("canary"));

    bed.world.model.script([Reply::Unreachable, Reply::Unreachable, Reply::Unreachable]);
    assert_eq!(bed.post(&turn("t3", "Hello")).status, 502);
    let [line] = lines(&bed, "submission").try_into().unwrap();
    assert_eq!(line.get("upstream"), None);
    assert_eq!(
        (&line["report"]["model_calls"], &line["report"]["retries"]),
        (&json!(1), &json!(2))
    );
}
