//! The published schema and the checker agree.

use aptix_edge::catalog::BuiltInTool;
use aptix_edge::contract::ClosedList as _;
use serde_json::{Value, json};

use super::documents::{full, least, with, without};
use super::wrong_documents::{self, fault};
use super::{SCHEMA, VALIDATOR, map, parse, parsed};

#[test]
fn each_wrong_document_is_refused_by_the_checker_and_if_possible_by_the_schema() {
    for wrong in wrong_documents::all() {
        let refused = parse(&wrong.document).err().unwrap_or_default();
        let seen_by_schema = !VALIDATOR.is_valid(&wrong.document);
        assert_eq!((refused, seen_by_schema), (wrong.faults, wrong.seen_by_schema));
    }
}

#[test]
fn contexts_are_needed_of_both_kinds() {
    for (member, kind) in [("AgentContexts", "agent"), ("ConversationContexts", "conversation")] {
        let document = with(&format!("/{member}"), json!({}));
        let message = format!("must hold at least one {kind} context");
        assert_eq!(parse(&document).err(), Some(vec![fault(&format!("/{member}"), &message)]));
        assert!(!VALIDATOR.is_valid(&document));
    }
}

#[test]
fn the_schema_and_the_checker_accept_the_same_right_documents() {
    let texts = ["p".repeat(65_536), "\u{feff}x".to_owned(), "a\nb\tc".to_owned()];
    let mut right: Vec<Value> = vec![full(), least(), without("/ServerTools/0/Parameters")];
    right.extend(texts.iter().map(|text| with("/Modes/1/Instructions", json!(text))));
    right.extend([
        with("/ConversationContexts/default/BootPrompt", json!("p".repeat(262_144))),
        with("/ServerTools/0/Parameters/properties/q", json!({ "type": "array", "items": {} })),
        with("/ServerTools/0/Parameters", json!({})),
        with("/Modes/0/Tools", json!(BuiltInTool::NAMES)),
        with("/Modes/0/Key", json!("A-z_0.9")),
        with("/Version", json!("2026-11-26:v1.2_a")),
        with("/AgentContexts/team:a.b-c_1", json!({})),
        with("/ServerTools/0/Http/Url", json!("http://[::1]:8787/x")),
        // Without a secret http may go anywhere.
        with("/AgentContexts/plain/BaseUrl", json!("http://10.0.0.5:8000/v1")),
        with("/ServerTools/0/FileHosts", json!([])),
        with("/ServerTools/0/FileIds", json!(false)),
        with("/AgentContexts/plain/FileHosts", json!(["10.0.0.5"])),
        with("/AgentContexts/plain/Residence", json!([])),
        with("/ServerTools/0/Http/TimeoutMs", json!(1)),
        with("/ServerTools/0/Http/Headers/Content-Type", json!("application/json")),
    ]);
    for document in right {
        assert_eq!(parse(&document).err(), None);
        assert!(VALIDATOR.is_valid(&document), "{document}");
    }
}

#[test]
fn the_schema_is_valid_and_states_the_parser_s_defaults() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema));

    // A document that spells out every default reads like one that leaves them out.
    let mut spelled = least();
    for (definition, pointer) in [
        ("AgentContext", "/AgentContexts/a"),
        ("ConversationContext", "/ConversationContexts/c"),
        ("Mode", "/Modes/0"),
    ] {
        let members = map(schema["$defs"][definition]["properties"].clone());
        let place = spelled.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        for (name, member) in members {
            if let Some(default) = member.get("default") {
                place.insert(name, default.clone());
            }
        }
    }
    assert_ne!(spelled, least());
    assert_eq!(parsed(&spelled), parsed(&least()));
    let bounds = ["Limit", "MaxBytes", "TimeoutMs"].map(|name| &schema["$defs"][name]["default"]);
    assert_eq!(bounds, [&json!(8), &json!(24_576), &json!(30_000)]);
}
