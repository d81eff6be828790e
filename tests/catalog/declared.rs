//! The published schema says of each object what its declaration in `src/catalog` says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{SCHEMA, map};

/// Every object whose members are declared, by its place in the schema: a JSON Pointer.
const OBJECTS: [(&str, &str); 16] = [
    ("", "Catalog"),
    ("/$defs/AgentContext", "AgentContext"),
    ("/$defs/AgentContext/properties/Compaction", "Compaction"),
    ("/$defs/AgentContext/properties/Budget", "Budget"),
    ("/$defs/IndexRetrieval", "Retrieval"),
    ("/$defs/Embeddings", "Embeddings"),
    ("/$defs/HttpRetrieval", "HttpRetrieval"),
    ("/$defs/ConversationContext", "ConversationContext"),
    ("/$defs/ConversationContext/properties/Rollout", "Rollout"),
    ("/$defs/FunctionTool", "ClientToolDefinition"),
    ("/$defs/Mode", "Mode"),
    ("/$defs/ServerTool", "ServerTool"),
    ("/$defs/ServerTool/properties/Http", "HttpService"),
    ("/$defs/Webhook", "Webhook"),
    ("/$defs/McpServer", "McpServer"),
    ("/$defs/Approval/anyOf/1", "ApprovalRule"),
];

/// A `declared_object!`.
#[derive(Default)]
struct Declaration {
    object: String,
    description: String,
    members: Vec<Member>,
}

/// A row of it.
struct Member {
    name: String,
    is_required: bool,
    description: String,
    /// The schema of its value, where the row says all of it.
    value: Option<Value>,
}

/// The text of `src/catalog`.
fn sources() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/catalog");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    files.map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// What the lines within a `declared_object!` say.
fn declaration(sources: &str, lines: &str) -> Declaration {
    let mut declared = Declaration::default();
    let (mut comment, mut row) = (String::new(), String::new());
    let (rows, _) = lines.split_once("\n    } with {\n").unwrap_or((lines, ""));
    for line in rows.lines().map(str::trim) {
        if let Some(said) = line.strip_prefix("///") {
            comment.push_str(said);
        } else if let Some((object, _)) = line.split_once(" by Findings {") {
            declared.object = object.trim_start_matches("pub struct ").to_owned();
            declared.description = std::mem::take(&mut comment);
        } else if line != "}" && !line.starts_with("#[") {
            row.push_str(line);
            row.push(' ');
            if line.ends_with(',') {
                declared.members.push(member(sources, &row, &comment));
                row.clear();
                comment.clear();
            }
        }
    }
    declared
}

fn member(sources: &str, row: &str, comment: &str) -> Member {
    let (head, reading) = row.split_once(" = ").unwrap();
    let (reader, rest) = reading.split_once('(').unwrap();
    let (arguments, _) = rest.rsplit_once(')').unwrap();
    Member {
        name: quoted(head)[0].to_owned(),
        is_required: head.contains(" required"),
        description: comment.to_owned(),
        value: value(sources, reader, arguments),
    }
}

/// The schema of what a reader takes; `None` for readers whose arguments do not say all.
fn value(sources: &str, reader: &str, arguments: &str) -> Option<Value> {
    let name = arguments.rsplit("::").next().unwrap();
    let constant = |kind: &str| {
        let (_, rest) = sources.split_once(&format!("const {name}: {kind} = ")).unwrap();
        rest.split(';').next().unwrap()
    };
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().unwrap();
    let length = || constant("usize").split('*').map(number).product::<u64>();
    Some(match reader {
        "flag" => json!({ "type": "boolean" }),
        "integer" => {
            let (least, most) = constant("RangeInclusive<u32>").split_once("..=").unwrap();
            json!({ "type": "integer", "minimum": number(least), "maximum": number(most) })
        }
        "prose" => json!({ "type": "string", "maxLength": length() }),
        "filled_prose" => json!({ "type": "string", "maxLength": length(), "pattern": "\\S" }),
        "choice" if arguments.contains('"') => json!({ "enum": quoted(arguments) }),
        "choice" => json!({ "enum": quoted(constant("[(&str, bool); 2]")) }),
        "word" => {
            let list = arguments.split("::").next().unwrap();
            let (_, rest) = sources.split_once(&format!("pub enum {list} {{")).unwrap();
            json!({ "enum": quoted(rest.split('}').next().unwrap()) })
        }
        _ => return None,
    })
}

/// The texts in quotation marks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

/// What a schema demands of a value, by a kind that it defines or by itself.
fn demands(schema: &Value, value: &Value) -> Map<String, Value> {
    let mut demands = map(value.clone());
    if let Some(Value::String(kind)) = demands.remove("$ref") {
        demands.extend(map(schema.pointer(&kind[1..]).unwrap().clone()));
    }
    demands.retain(|name, _| !["description", "default", "examples"].contains(&name.as_str()));
    demands
}

#[test]
fn the_schema_says_what_the_objects_declare() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let sources = sources();
    let blocks = sources.split("\ndeclared_object! {\n").skip(1);
    let declarations: Vec<Declaration> =
        blocks.map(|block| declaration(&sources, block.split("\n}\n").next().unwrap())).collect();
    assert_eq!(declarations.len(), OBJECTS.len());
    let said = |value: &Value| value["description"].as_str().unwrap_or_default().to_owned();
    let mut wrong = Vec::new();
    let mut hold = |place: String, published: Value, declared: Value| {
        if published != declared {
            wrong.push(format!("{place} must be {declared}"));
        }
    };
    for (pointer, name) in OBJECTS {
        let declared = declarations.iter().find(|declared| declared.object == name).unwrap();
        let object = schema.pointer(pointer).unwrap();
        let at = |what: &str| format!("{pointer}/{what}");
        let description = declared.description.trim_start();
        hold(at("description"), said(object).into(), description.into());
        hold(at("additionalProperties"), object["additionalProperties"].clone(), false.into());
        // What only some objects of a kind need stands behind its condition.
        let required = object.get("else").unwrap_or(object).get("required");
        let needed = declared.members.iter().filter(|member| member.is_required);
        let needed: Vec<&str> = needed.map(|member| member.name.as_str()).collect();
        hold(
            at("required"),
            required.cloned().unwrap_or_else(|| Vec::<Value>::new().into()),
            needed.into(),
        );
        let names: BTreeSet<&str> =
            declared.members.iter().map(|member| member.name.as_str()).collect();
        let published: Vec<&str> =
            object["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        hold(at("properties"), published.into(), names.into_iter().collect::<Vec<_>>().into());
        for member in &declared.members {
            let property = &object["properties"][&member.name];
            let at = |what: &str| at(&format!("properties/{}{what}", member.name));
            hold(at("/description"), said(property).into(), member.description.trim_start().into());
            if let Some(value) = &member.value {
                hold(at(""), demands(&schema, property).into(), value.clone());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
