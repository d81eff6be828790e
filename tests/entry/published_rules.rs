//! The rules on characters that the published document states are those of the code, and every shape in it
//! is complete enough for tools that read it.

use aptix_edge::contract::{parse, parse_comparison, parse_documents, parse_search};
use aptix_edge::entry::{Route, WorkspaceRoute, openapi};
use aptix_edge::ports::Deployment;
use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};

fn document() -> Value {
    serde_json::from_str(&openapi(&Deployment::default(), "1", true)).unwrap()
}

/// Whether a text is permitted at a place in the document, by all that is said there.
fn permits(schema: &jsonschema::Validator, text: &str) -> bool {
    schema.is_valid(&json!(text))
}

fn schema(pointer: &str) -> jsonschema::Validator {
    let schema = document().pointer(pointer).unwrap().clone();
    jsonschema::validator_for(&schema).unwrap()
}

fn member(shape: &str, name: &str) -> jsonschema::Validator {
    schema(&format!("/components/schemas/{shape}/properties/{name}"))
}

fn artifact(name: &str, text: &str) -> bool {
    let mut artifact =
        json!({ "RelativePath": "a", "FileName": "a", "Contents": "x", "Origin": "ide" });
    artifact[name] = json!(text);
    let turn = json!({ "SessionId": "s", "TurnId": "t", "InputArtifacts": [artifact] });
    parse(turn.to_string().as_bytes()).is_ok()
}

fn document_path(text: &str) -> bool {
    let document = json!({ "Documents": [{ "Path": text, "Contents": "" }] });
    parse_documents(document.to_string().as_bytes()).is_ok()
}

fn listed_path(text: &str) -> bool {
    is_comparison(&json!({ "Path": text, "Sha256": "0".repeat(64) }))
}

fn sha256(text: &str) -> bool {
    is_comparison(&json!({ "Path": "a", "Sha256": text }))
}

fn is_comparison(document: &Value) -> bool {
    let body = json!({ "Documents": [document] }).to_string();
    parse_comparison(body.as_bytes(), async || ()).now_or_never().unwrap().is_ok()
}

fn found(before: &str, text: &str, behind: &str, method: &str) -> bool {
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    Route::find(method, &format!("{before}{encoded}{behind}")).is_ok()
}

/// Whether a document or folder of this version can have the path: the index of an earlier one may have others.
fn can_be_removed(text: &str) -> bool {
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    match Route::find("DELETE", &format!("/workspaces/w/documents?Path={encoded}")) {
        Ok(Route::Workspace(_, WorkspaceRoute::Remove(paths))) => !paths.is_empty(),
        _ => false,
    }
}

fn image(text: &str) -> bool {
    let image = json!({ "Id": "i", "MimeType": "image/png", "DataBase64": text });
    let turn = json!({ "SessionId": "s", "TurnId": "t", "ClipboardImages": [image] });
    parse(turn.to_string().as_bytes()).is_ok()
}

/// Texts of pieces in which rules on paths, media types, ids and blank texts differ, of every kind of white
/// space among them.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "a", "Z", "9", "C:", "https:", "x+y-z.0:", "1:", "é:", ".", "..", "...", "/", "\\", " ", "=", "+", "_", "-",
            ";", "; charset=utf-8", "text", "😀", "ä", "~", "%2e", "\u{feff}",
            "./", "//", "./C:", "❤", "©", "👩", "\u{200d}", "\u{fe0f}", "\u{fe0f}\u{20e3}",
        ]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            '\0', '\t', '\n', '\u{b}', '\r', '\u{1f}', '\u{7f}', '\u{85}', '\u{9f}', '\u{a0}', '\u{61c}', '\u{1680}',
            '\u{180e}', '\u{2000}', '\u{200a}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}', '\u{202a}',
            '\u{202e}', '\u{202f}', '\u{205f}', '\u{2065}', '\u{2066}', '\u{2069}', '\u{206a}', '\u{3000}', '\u{feff}',
            '\u{ad}', '\u{34f}', '\u{115f}', '\u{17b5}', '\u{180b}', '\u{180f}', '\u{200c}', '\u{2060}', '\u{206f}', '\u{2070}',
            '\u{3164}', '\u{fe00}', '\u{fe0e}', '\u{ffa0}', '\u{fff0}', '\u{fffb}', '\u{fffc}', '\u{1bca0}', '\u{1d17a}', '\u{e0041}',
            '\u{e0fff}', '\u{f0000}',
        ]).prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_text_is_accepted_where_the_document_permits_it_and_nowhere_else() {
    type Accepts = fn(&str) -> bool;
    let removed = "/paths/~1workspaces~1{WorkspaceId}~1documents/delete/parameters/1/schema/items";
    let exact: [(&str, jsonschema::Validator, Accepts); 9] = [
        ("RelativePath", member("InputArtifact", "RelativePath"), |text| {
            artifact("RelativePath", text)
        }),
        ("FileName", member("InputArtifact", "FileName"), |text| artifact("FileName", text)),
        ("MimeType", member("InputArtifact", "MimeType"), |text| artifact("MimeType", text)),
        ("Document.Path", member("Document", "Path"), document_path),
        ("ListedDocument.Path", member("ListedDocument", "Path"), listed_path),
        ("Sha256", schema("/components/schemas/Sha256"), sha256),
        ("Query", member("SearchRequest", "Query"), |text| {
            parse_search(json!({ "Query": text }).to_string().as_bytes()).is_ok()
        }),
        ("WorkspaceId", schema("/components/parameters/WorkspaceId/schema"), |text| {
            found("/workspaces/", text, "", "GET")
        }),
        ("removed Path", schema(removed), can_be_removed),
    ];
    let base64 = member("ClipboardImage", "DataBase64");
    let config = ProptestConfig {
        cases: 3_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/proptest-regressions/published_rules.txt",
        ))),
        ..ProptestConfig::default()
    };
    proptest!(config, |(text in any_text())| {
        // A pattern that every validator reads cannot name single characters beyond the 16 bits of JavaScript's.
        let is_named = text.chars().all(|c| c <= '\u{ffff}');
        for (name, schema, accepts) in &exact {
            let (is_permitted, is_accepted) = (permits(schema, &text), accepts(&text));
            let agree = is_permitted == is_accepted || is_permitted && !is_named;
            prop_assert!(agree, "{}: {:?}", name, text);
        }
        // The length of base64 is a rule beside its characters.
        prop_assert!(permits(&base64, &text) || !image(&text), "{:?}", text);
    });
    let (name, schema, accepts) = &exact[5];
    for text in ["0".repeat(64), "a9".repeat(32), "A".repeat(64), "0".repeat(65)] {
        assert_eq!(permits(schema, &text), accepts(&text), "{name}: {text}");
    }
    for text in ["QUJD", "QQ==", "QQ", "+/+/"] {
        assert!(image(text) && permits(&base64, text), "{text}");
    }
}

#[test]
fn every_shape_says_what_generators_of_clients_and_linters_ask_for() {
    fn walk(at: &str, value: &Value) {
        let (Value::Object(_) | Value::Array(_)) = value else { return };
        if value["type"] == "array" || value["type"] == json!(["array", "null"]) {
            assert!(value["items"].is_object(), "{at} has elements of no kind");
        }
        let is_literal = value["const"].is_string() || value["enum"].is_array();
        let in_not = at.ends_with("/not");
        assert!(!is_literal || in_not || !value["type"].is_null(), "{at} has no type");
        match value {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| walk(&format!("{at}/{name}"), value));
            }
            _ => value.as_array().unwrap().iter().for_each(|value| walk(at, value)),
        }
    }
    let document = document();
    walk("", &document["components"]);
    walk("", &document["paths"]);
    assert!(document["servers"][0]["url"].is_string());
    let tags: Vec<&Value> =
        document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            for name in ["operationId", "summary", "description"] {
                assert!(operation[name].as_str().is_some_and(|text| !text.is_empty()), "{path}");
            }
            assert!(tags.contains(&&operation["tags"][0]), "{path}");
        }
    }
}

#[test]
fn a_key_is_asked_for_only_where_the_deployment_asks_for_one() {
    let security = |asks: bool| {
        let text = openapi(&Deployment::default(), "1", asks);
        serde_json::from_str::<Value>(&text).unwrap()["security"].clone()
    };
    let asked = json!([{ "Key": [] }, { "Ticket": [] }, { "Token": [] }]);
    assert_eq!((security(true), security(false)), (asked.clone(), json!([])));
    let bed = bed::Bed::new();
    for (auth, security) in [("none", json!([])), ("keys", asked)] {
        bed.deploy("AUTH", auth);
        assert_eq!(bed.asked("GET", "/openapi.json", "").body["security"], security, "{auth}");
    }
}

#[test]
fn a_turn_needs_an_input_by_the_document_as_by_the_service() {
    let document = document();
    let turn =
        json!({ "$ref": "#/components/schemas/UserTurn", "components": document["components"] });
    let schema = jsonschema::validator_for(&turn).unwrap();
    let artifact =
        json!({ "RelativePath": "a", "FileName": "a", "Contents": "x", "Origin": "ide" });
    let image = json!({ "Id": "i", "MimeType": "image/png", "DataBase64": "aGVs" });
    for (input, permitted) in [
        (json!({}), false),
        (json!({ "Instruction": null }), false),
        (json!({ "Instruction": "" }), false),
        (json!({ "Instruction": " \n\t" }), false),
        (json!({ "InputArtifacts": [], "ClipboardImages": [] }), false),
        (json!({ "Instruction": "", "InputArtifacts": null, "ClipboardImages": [] }), false),
        (json!({ "Instruction": " x " }), true),
        (json!({ "InputArtifacts": [artifact] }), true),
        (json!({ "Instruction": "", "ClipboardImages": [image] }), true),
    ] {
        let mut turn = json!({ "SessionId": "s", "TurnId": "t" });
        turn.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        let taken = parse(turn.to_string().as_bytes());
        assert_eq!(
            (schema.is_valid(&turn), taken.is_ok()),
            (permitted, permitted),
            "{turn} {taken:?}"
        );
    }
}
