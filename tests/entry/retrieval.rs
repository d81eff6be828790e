//! The chunks that a user turn gets from its workspace (interface §7), from the request to the
//! model.

use aptix_edge::ports::ObjectClass;
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
fn a_turn_is_given_what_a_search_gives_however_few_its_bytes_are() {
    let bed = Bed::new();
    let words = format!("{}\n", "word ".repeat(20)).repeat(6);
    let section = |title: &str| format!("# {title}\n\n{words}the needle\n{words}\n");
    let small = format!("the needle needle needle\n{}\n", "other ".repeat(10));
    let (one, long) = (section("One").len(), ["One", "Two"].map(section).concat());
    let documents = json!({ "Documents": [
        { "Path": "small.md", "Contents": small }, { "Path": "long.md", "Contents": long },
    ] });
    bed.asked("PUT", "/workspaces/w/documents", &documents.to_string()).result();
    let all = small.len() + long.len();
    let mut given = Vec::new();
    for (number, most) in [all, all - 1, small.len() + one - 1, one, 10].into_iter().enumerate() {
        bed.configure(|catalog| {
            catalog["AgentContexts"]["default"]["Retrieval"] =
                json!({ "Index": { "MaxBytes": most } });
        });
        let heard = bed.asked("POST", "/workspaces/w/search", r#"{"Query":"needle"}"#);
        let found = heard.result()["Chunks"].as_array().unwrap().clone();
        let asked = with(turn(&format!("t{number}"), "needle"), json!({ "WorkspaceId": "w" }));
        bed.post(&asked).final_text();
        let context = shown(&bed).unwrap_or_default();
        assert_eq!(context.matches("=== CHUNK ").count(), found.len(), "{most}: {context}");
        for chunk in &found {
            assert!(context.contains(chunk["Text"].as_str().unwrap()), "{most}: {context}");
        }
        let left_out = composition(&bed, &format!("t{number}")).matches("budget of bytes").count();
        given.push((found.len(), left_out));
    }
    // What no turn is given stands in its trace.
    assert_eq!(given, [(2, 0), (2, 0), (1, 2), (1, 2), (0, 3)]);
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
fn a_workspace_that_begins_again_while_a_turn_searches_it_is_asked_once_more() {
    let bed = with_workspace();
    bed.world.begins_again.set(Some(ObjectClass::Workspace));
    bed.post(&asking("t1", json!({}))).final_text();
    assert_eq!(bed.world.begins_again.get(), None);
    assert!(shown(&bed).unwrap().contains("alpha"));
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

#[test]
fn a_key_of_the_scope_that_no_document_has_is_named_with_the_nearest_one() {
    let bed = with_workspace();
    let condition = |key: &str| json!({ "Key": key, "Operator": "==", "Values": ["src/a.rs"] });
    let scope = |keys: &[&str]| {
        let conditions: Vec<Value> = keys.iter().map(|key| condition(key)).collect();
        json!({ "RagScope": { "Conditions": conditions } })
    };
    let warning = |index: usize, message: &str, nearest: &str| {
        json!({
            "ErrorCode": "scope_key_unknown",
            "Message": message,
            "Path": format!("/RagScope/Conditions/{index}/Key"),
            "Details": { "DidYouMean": nearest },
            "SystemError": false,
        })
    };
    let warnings =
        |heard: &Heard| serde_json::from_str::<Value>(&heard.text).unwrap()["Warnings"].clone();

    // Each key once, at its first place; the search is as before.
    let misspelt = scope(&["Path", "path", "Teams", "colour", "path", "team"]);
    let expected = json!([
        warning(1, "No document of the workspace has the key path; did you mean Path?", "Path"),
        warning(2, "No document of the workspace has the key Teams; did you mean team?", "team"),
        warning(3, "No document of the workspace has the key colour.", "Path"),
    ]);
    let heard = bed.post(&asking("t1", misspelt.clone()));
    assert_eq!(warnings(&heard), expected);
    assert_eq!((heard.result().get("UserWarnings"), shown(&bed)), (None, None));
    let search = with(json!({ "Query": "alpha" }), misspelt.clone());
    let search = |workspace: &str| {
        bed.asked("POST", &format!("/workspaces/{workspace}/search"), &search.to_string())
    };
    assert_eq!(warnings(&search("w")), expected);
    // The warnings stay with the turn.
    assert!(bed.post(&asking("t1", misspelt)).text.contains("scope_key_unknown"));

    let known = bed.post(&asking("t2", scope(&["Path", "Language", "team"])));
    assert_eq!(warnings(&known), json!([]));
    // A workspace without documents has no key to compare with, and nothing to find either.
    assert_eq!(warnings(&search("empty")), json!([]));
    bed.asked("DELETE", "/workspaces/w/documents?Path=src%2F", "").result();
    assert_eq!(warnings(&search("w")), json!([]));
}

#[test]
fn a_key_is_unknown_under_every_operator_and_however_many_keys_the_documents_have() {
    let bed = Bed::new();
    let documents: Vec<Value> = (0..4)
        .map(|document| {
            let keys = (0..60).map(|key| (format!("a{document}_{key}"), json!("x")));
            let properties: serde_json::Map<String, Value> = keys.collect();
            json!({ "Path": format!("{document}.md"), "Contents": "alpha", "Properties": properties })
        })
        .collect();
    let documents = json!({ "Documents": documents }).to_string();
    bed.asked("PUT", "/workspaces/w/documents", &documents).result();
    for (key, operator, nearest) in [
        ("path", "==", Some("Path")),
        ("path", "!=", Some("Path")),
        ("A0_1", "contains", Some("a0_1")),
        ("language", "does_not_contain", Some("Language")),
        ("a3_59", "==", None),
    ] {
        let condition = json!({ "Key": key, "Operator": operator, "Values": ["x"] });
        let search = json!({ "Query": "alpha", "RagScope": { "Conditions": [condition] } });
        let heard = bed.asked("POST", "/workspaces/w/search", &search.to_string());
        let envelope: Value = serde_json::from_str(&heard.text).unwrap();
        let named = envelope["Warnings"][0]["Details"]["DidYouMean"].as_str();
        assert_eq!(named, nearest, "{key} {operator}: {}", heard.text);
    }
}
