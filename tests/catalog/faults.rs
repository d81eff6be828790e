//! The report of a wrong document: every fault, with its place and its remedy.

use aptix_edge::catalog::{Catalog, NeededSecret, needed_secrets};
use serde_json::json;

use super::documents::{full, least, with};
use super::parse;
use super::wrong_documents::fault;

#[test]
fn all_faults_are_named_at_once_in_document_order() {
    let text = r#"{
        "Modes": [
            { "Key": "a]\n\n[INSTRUCTION]", "DisplayName": " ", "Tool": [], "Tools": ["lookip"] },
            { "Key": "x", "DisplayName": "X", "IsDefault": true },
            { "DisplayName": "Y", "Key": "x", "IsDefault": true, "DisplayName": "Z" }
        ],
        "AgentContexts": { "default": { "BaseUrl": "ftp://x", "ApiKeySecret": "sk-live-1", "Model": 5 } },
        "ConversationContexts": { "c/d": { "AgentContextId": "defualt", "Mode": "q", "Tools": {} } },
        "ServerTools": [
            { "Name": "lookup", "Description": "", "Http": { "Headers": { "A b": "${X", "te": "" } } },
            { "Name": "agent_list_modes", "Description": "L", "Http": [] }
        ],
        "Extra": 1
    }"#;
    assert_eq!(
        Catalog::parse(text).unwrap_err(),
        [
            fault("/Modes/0/Key", "must be 1 to 64 of A-Z a-z 0-9 _ . -"),
            fault("/Modes/0/DisplayName", "must be one line of 1 to 128 characters, not blank"),
            fault("/Modes/0/Tool", "unknown member \"Tool\"; did you mean \"Tools\"?"),
            fault(
                "/Modes/0/Tools/0",
                "the catalog has no server tool \"lookip\"; did you mean \"lookup\"?"
            ),
            fault("/Modes/2/Key", "the key \"x\" is already taken above"),
            fault("/Modes/2/IsDefault", "another mode above is the default already; mark one"),
            fault("/Modes/2/DisplayName", "the member \"DisplayName\" is repeated; keep one"),
            fault("/AgentContexts/default/BaseUrl", "must begin with https:// or http://"),
            fault(
                "/AgentContexts/default/ApiKeySecret",
                "must be the name of a secret (letters, digits and _, not starting with a digit), \
                 never the key itself"
            ),
            fault("/AgentContexts/default/Model", "must be a string, not a number"),
            fault("/ConversationContexts/c~1d", "the id must be 1 to 128 of A-Z a-z 0-9 . _ : -"),
            fault(
                "/ConversationContexts/c~1d/BootPrompt",
                "the member \"BootPrompt\" is missing; add it"
            ),
            fault(
                "/ConversationContexts/c~1d/AgentContextId",
                "the catalog has no agent context \"defualt\"; did you mean \"default\"?"
            ),
            fault(
                "/ConversationContexts/c~1d/Mode",
                "the catalog has no mode \"q\"; did you mean \"x\"?"
            ),
            fault("/ConversationContexts/c~1d/Tools", "must be an array, not an object"),
            fault("/ServerTools/0/Description", "must not be blank"),
            fault("/ServerTools/0/Http/Url", "the member \"Url\" is missing; add it"),
            fault("/ServerTools/0/Http/Headers/A b", "\"A b\" is not a header's name"),
            fault(
                "/ServerTools/0/Http/Headers/A b",
                "the placeholder at byte 0 is not closed; write it as ${SECRET_NAME}"
            ),
            fault("/ServerTools/0/Http/Headers/te", "\"te\" is set by the connection; remove it"),
            fault(
                "/ServerTools/1/Name",
                "\"agent_list_modes\" is a tool of the product itself; choose another name"
            ),
            fault("/ServerTools/1/Http", "must be an object, not an array"),
            fault(
                "/Extra",
                "unknown member \"Extra\"; the members here are $schema, Version, AgentContexts, \
                 ConversationContexts, Modes, ServerTools, McpServers, Webhooks, Titles"
            ),
        ]
    );
}

#[test]
fn a_text_that_is_not_one_json_value_is_refused_with_its_place() {
    for (text, message) in [
        ("", "is not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\n\"Modes\": [,] }", "is not JSON: expected value at line 2 column 11"),
        ("{} {}", "is not JSON: trailing characters at line 1 column 4"),
        ("[]", "must be an object, not an array"),
    ] {
        assert_eq!(Catalog::parse(text), Err(vec![fault("", message)]), "{text:?}");
    }
    assert_eq!(fault("", "is bad").to_string(), "the catalog: is bad");
    assert_eq!(fault("/Modes", "is bad").to_string(), "/Modes: is bad");
    assert_eq!(
        serde_json::to_value(fault("/Modes", "is bad")).unwrap(),
        json!({ "Path": "/Modes", "Message": "is bad" })
    );
}

#[test]
fn json_that_cannot_be_read_is_refused_at_its_place() {
    let schema = |schema: &str| full().to_string().replace(r#"{"type":"string"}"#, schema);
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let half = |text: &str| full().to_string().replace(text, r"\ud800");
    let too_deep = "is nested more than 128 levels deep at line 1 column 129";
    for (text, path, message) in [
        ("[".repeat(100_000), "", too_deep),
        (nested(128), "", "must be an object, not an array"),
        (
            schema(r#"{"minimum":1e999}"#),
            "/ServerTools/0/Parameters",
            "holds a number out of range, or text that is not valid Unicode",
        ),
        (
            full().to_string().replace("4000", "1e999"),
            "/Modes/1/ModelParameters/max_output_tokens",
            "holds a number out of range, or text that is not valid Unicode",
        ),
        (
            half("Be useful."),
            "/ConversationContexts/default/BootPrompt",
            "is not valid Unicode; escape no lone surrogates",
        ),
        (
            half("X-Key"),
            "/AgentContexts/default/Retrieval/Http/Headers",
            "has a name that is not valid Unicode; escape no lone surrogates",
        ),
    ] {
        let faults = Catalog::parse(&text).unwrap_err();
        assert!(faults.contains(&fault(path, message)), "{faults:#?}");
    }
    let deep = schema(&format!(r#"{{"enum":[{}]}}"#, nested(115)));
    assert_eq!(Catalog::parse(&deep).map(drop), Ok(()));
}

#[test]
fn repeated_members_are_refused_wherever_they_stand() {
    let text = full()
        .to_string()
        .replace(r#""q":{"type":"string"}"#, r#""q":{"type":"string","type":"string"}"#)
        .replace(r#""plain":{"#, r#""plain":{},"plain":{"#);
    assert_eq!(
        Catalog::parse(&text).unwrap_err(),
        [
            fault("/AgentContexts/plain", "the member \"plain\" is repeated; keep one"),
            fault(
                "/ServerTools/0/Parameters/properties/q/type",
                "the member \"type\" is repeated; keep one"
            ),
        ]
    );
}

#[test]
fn the_secrets_that_a_document_names_are_listed_even_if_the_rest_is_wrong() {
    let listed = |text: &str| {
        let needed = needed_secrets(text).into_iter();
        needed.map(|NeededSecret { name, path }| format!("{path} {name}")).collect::<Vec<_>>()
    };
    let right = [
        "/AgentContexts/default/ApiKeySecret OPENAI_API_KEY",
        "/AgentContexts/default/Headers/X-Gateway GATEWAY_KEY",
        "/AgentContexts/default/Retrieval/Http/Headers/X-Key FIND_KEY",
        "/AgentContexts/index/Retrieval/Index/Embeddings/Headers/Authorization EMBED_KEY",
        "/McpServers/docs/Headers/X-Docs DOCS_KEY",
        "/ServerTools/0/Http/Headers/Authorization LOOKUP_KEY",
    ];
    assert_eq!(listed(&full().to_string()), right);
    let mut wrong = with("/ServerTools/0/Http/Headers/A~1b", json!("${ONE}-${TWO}"));
    wrong["Modes"] = json!("none");
    wrong["AgentContexts"]["default"]["Retrieval"]["Http"]["Headers"]["X-Key"] = json!("${");
    wrong["AgentContexts"]["plain"]["ApiKeySecret"] = json!("sk-live-1");
    let added = ["/ServerTools/0/Http/Headers/A~1b ONE", "/ServerTools/0/Http/Headers/A~1b TWO"];
    let rest = [right[3], right[4], added[0], added[1], right[5]];
    assert_eq!(listed(&wrong.to_string()), [&right[..2], &rest[..]].concat());
    for text in ["", "[", "7", "{}", r#"{"AgentContexts":[],"ServerTools":{}}"#] {
        assert_eq!(listed(text), [""; 0], "{text}");
    }
}

#[test]
fn a_report_stays_small_whatever_the_document_and_tells_how_much_it_leaves_out() {
    let long = "x".repeat(100_000);
    let mut document = least();
    document[&long] = json!(1);
    document["Modes"] = json!(vec![json!({ &long: 1, "DisplayName": long }); 10]);
    document["ServerTools"] = json!(vec![json!({}); 100]);
    let faults = parse(&document).err().unwrap();
    // There are three of each mode, three of each tool, and the unknown member.
    assert_eq!(faults.len(), 101);
    let rest = "has 231 more faults than the 100 listed; mend these first";
    assert_eq!(faults.last(), Some(&fault("", rest)));
    let places: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    let in_order: Vec<String> = (0..10)
        .flat_map(|mode| std::iter::repeat_n(format!("/Modes/{mode}"), 3))
        .chain((0..23).flat_map(|tool| std::iter::repeat_n(format!("/ServerTools/{tool}/"), 3)))
        .collect();
    for (place, begins) in places.iter().zip(in_order) {
        assert!(place.starts_with(&begins), "{place} does not begin with {begins}");
    }
    let size: usize = faults.iter().map(|fault| fault.path.len() + fault.message.len()).sum();
    assert!(size < 20_000, "{size}");
}
