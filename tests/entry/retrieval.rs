//! The chunks that a user turn gets from its workspace (interface §7), from the request to the
//! model.

use bed::*;
use serde_json::{Value, json};

const WARNING: &str =
    "Nothing could be retrieved from the workspace; the answer was given without it.";

fn with_workspace() -> Bed {
    let bed = Bed::new();
    let documents = json!({ "Documents": [
        { "Path": "src/a.rs", "Contents": "fn alpha() {}\n", "Properties": { "team": "one" } },
        { "Path": "src/b.rs", "Contents": "fn alpha_beta() {}\n" },
    ] });
    bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
    bed
}

fn asking(id: &str, more: Value) -> Value {
    with(with(turn(id, "Where is alpha?"), json!({ "WorkspaceId": "w" })), more)
}

/// The context block in the latest request to the model, if any.
fn shown(bed: &Bed) -> Option<String> {
    let body = bed.world.model.bodies().pop().unwrap();
    let message =
        body["input"].as_array().unwrap().iter().rfind(|item| item["role"] == "user").unwrap();
    let parts = message["content"].as_array().unwrap();
    let text = |part: &Value| Some(part["text"].as_str()?.to_owned());
    parts.iter().filter_map(text).find(|text| text.starts_with("[CONTEXT]"))
}

fn composition(bed: &Bed, turn: &str) -> String {
    bed.asked("GET", &format!("/sessions/s/turns/{turn}/trace"), "").result()["Composition"]
        .to_string()
}

#[test]
fn a_turn_is_given_the_best_chunks_of_its_workspace_within_its_scope() {
    let bed = with_workspace();
    bed.post(&asking("t1", json!({}))).final_text();
    let context = shown(&bed).unwrap();
    assert!(context.contains("Path: src/a.rs\nLines: 1-1\nLanguage: rust\n```rust\nfn alpha() {}"));
    assert!(context.contains("Path: src/b.rs"));
    let scope = json!({ "Conditions": [{ "Key": "team", "Operator": "==", "Values": ["one"] }] });
    bed.post(&asking("t2", json!({ "RagScope": scope }))).final_text();
    let context = shown(&bed).unwrap();
    assert!(context.contains("src/a.rs") && !context.contains("src/b.rs"));
    assert!(composition(&bed, "t2").contains("retrieval: src/a.rs"));
    // A turn without a workspace triggers no retrieval.
    bed.post(&turn("t3", "Where is alpha?")).final_text();
    assert_eq!(shown(&bed), None);
}

#[test]
fn a_repeat_is_not_retrieved_for_again() {
    let bed = with_workspace();
    let first = bed.post(&asking("t1", json!({})));
    bed.asked("DELETE", "/workspaces/w", "");
    bed.world.objects_fail.set(true);
    let again = bed.post(&asking("t1", json!({})));
    assert!(again.replayed);
    assert_eq!(again.text, first.text);
}

#[test]
fn a_retrieval_that_fails_is_a_warning_to_the_user_and_never_the_turn_s_end() {
    let bed = with_workspace();
    bed.world.objects_fail.set(true);
    let heard = bed.post(&asking("t1", json!({})));
    assert_eq!(heard.result()["UserWarnings"], json!([WARNING]));
    assert_eq!(shown(&bed), None);
    assert!(composition(&bed, "t1").contains("it failed"));
}

#[test]
fn a_service_of_the_operator_is_asked_and_its_chunks_are_kept_within_the_limits() {
    let bed = with_workspace();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Http": { "Url": "https://search.example/q" }, });
        catalog["AgentContexts"]["default"]["Retrieval"]["Http"]["MaxBytes"] = json!(20);
    });
    let chunk = |path: &str, text: &str| json!({ "Path": path, "StartLine": 3, "EndLine": 4, "Text": text });
    bed.world.tools.script([ToolAnswer::Json(json!({ "Chunks": [
        chunk("docs/a.md", "twelve bytes"), chunk("docs/b.md", "too long for what is left"),
        chunk("../c.md", "no"), chunk("docs/d.md", "fits"),
    ] }))]);
    let asked = asking("t1", json!({ "Repo": "r", "Language": "de" }));
    bed.post(&asked).final_text();
    let call = bed.world.tools.calls().pop().unwrap();
    assert_eq!(
        call,
        json!({ "Query": "Where is alpha?", "WorkspaceId": "w", "Repo": "r", "Language": "de", "Limit": 8 })
    );
    let context = shown(&bed).unwrap();
    assert!(context.contains("Path: docs/a.md\nLines: 3-4\nLanguage: markdown"));
    assert!(
        context.contains("docs/d.md") && !context.contains("b.md") && !context.contains("c.md")
    );
    let composition = composition(&bed, "t1");
    assert!(composition.contains("it does not fit the budget of bytes"), "{composition}");
    assert!(composition.contains("its path is not a relative one"));
    bed.world.tools.script([ToolAnswer::Json(json!({ "Chunks": 7 }))]);
    let heard = bed.post(&asking("t2", json!({})));
    assert_eq!(heard.result()["UserWarnings"], json!([WARNING]));
}
