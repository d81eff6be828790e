//! The catalog's promises: the documents that it accepts, all faults of a document in one report, and
//! agreement between the published schema and the checker.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod documents;
mod spoiled_documents;
mod tool_schemas;
mod wrong_documents;

use std::sync::LazyLock;

use aptix_edge::catalog::{
    AgentContext, Approval, Budget, BuiltInTool, Catalog, CatalogFault, ClientToolDefinition,
    Compaction, CompactionBy, Continuation, ConversationContext, Embeddings, HeaderTemplate,
    HostedTool, HttpService, McpServer, Mode, ModelParameter, ModelParameters, NeededSecret,
    OnError, Retrieval, RetrievalSource, SecretTemplate, ServerTool, needed_secrets,
};
use aptix_edge::encoding::sha256_hex;
use documents::{full, least, with, without};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wrong_documents::fault;

const SCHEMA: &str = include_str!("../../src/catalog/catalog.schema.json");

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    jsonschema::draft202012::new(&serde_json::from_str(SCHEMA).expect("the schema is JSON"))
        .expect("the schema is a schema")
});

fn parse(document: &Value) -> Result<Catalog, Vec<CatalogFault>> {
    Catalog::parse(&document.to_string())
}

fn parsed(document: &Value) -> Catalog {
    parse(document).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn header(name: &str, value: &str) -> HeaderTemplate {
    let value = SecretTemplate::parse(value).expect("a template");
    HeaderTemplate { name: name.to_owned(), value }
}

/// Parameters as a document's text holds them.
fn added(members: &[(&str, &str)]) -> ModelParameters {
    let member = |(name, json): &(&str, &str)| ModelParameter {
        name: (*name).to_owned(),
        json: RawValue::from_string((*json).to_owned()).expect("JSON"),
    };
    ModelParameters { members: members.iter().map(member).collect(), ..Default::default() }
}

/// A hosted tool as a document's text holds it.
fn hosted(json: &str, server_label: Option<&str>) -> HostedTool {
    let kind: Value = serde_json::from_str(json).expect("JSON");
    HostedTool {
        kind: kind["type"].as_str().expect("a type").to_owned(),
        server_label: server_label.map(str::to_owned),
        json: RawValue::from_string(json.to_owned()).expect("JSON"),
    }
}

#[test]
fn a_full_document_is_read_member_by_member() {
    // As text, because the order of headers is part of the promise.
    let text = full().to_string().replace(
        r#"{"Authorization":"Bearer ${LOOKUP_KEY}","X-Org":"acme"}"#,
        r#"{"X-Org":"acme","Authorization":"Bearer ${LOOKUP_KEY}"}"#,
    );
    let catalog = Catalog::parse(&text).unwrap();

    assert_eq!(
        catalog.agent_context("default"),
        Some(&AgentContext {
            base_url: Some("https://api.example.com/v1".into()),
            api_key_secret: Some("OPENAI_API_KEY".into()),
            model: Some("gpt-5.1".into()),
            continuation: Continuation::Replay,
            resend_tools: false,
            delete_stored: true,
            retrieval: Retrieval {
                source: RetrievalSource::Http(HttpService {
                    url: "http://localhost:9200/find".into(),
                    headers: vec![header("X-Key", "${FIND_KEY}")],
                    timeout_ms: 5000,
                }),
                limit: 3,
                max_bytes: 1000,
                embeddings: None,
            },
            headers: vec![header("OpenAI-Project", "p"), header("X-Gateway", "key ${GATEWAY_KEY}"),],
            query: vec![("api-version".into(), "v 1".into()), ("e&".into(), "é".into())],
            prompt_cache_key: false,
            model_parameters: ModelParameters {
                include: Some(vec!["web_search_call.results".into()]),
                text_is_json: Some(false),
                ..added(
                    &[("reasoning", r#"{"effort":"low"}"#), ("text", r#"{"verbosity":"low"}"#),]
                )
            },
            compaction: Compaction {
                by: CompactionBy::Service,
                threshold: Some(200_000),
                prompt: Some("Sum up.".into()),
            },
            budget: Budget { turn_tokens: Some(500_000), session_tokens: Some(u32::MAX.into()) },
            max_iterations: Some(1000),
            retention_days: Some(90),
        })
    );
    let retrieval = |id| catalog.agent_context(id).map(|context| context.retrieval.clone());
    let embeddings = Embeddings {
        model: "embed-1".into(),
        dimensions: 256,
        base_url: Some("http://localhost:9300/v1".into()),
        headers: vec![header("Authorization", "Bearer ${EMBED_KEY}")],
        timeout_ms: 2000,
        ..Embeddings::default()
    };
    let index = Retrieval {
        source: RetrievalSource::Index,
        limit: 100,
        max_bytes: 1_048_576,
        embeddings: Some(embeddings),
    };
    assert_eq!(retrieval("index"), Some(index));
    let none = Retrieval { source: RetrievalSource::None, ..Retrieval::default() };
    assert_eq!(retrieval("plain"), Some(none));
    assert_eq!(retrieval("absent"), None);

    let parameters = full().pointer("/ConversationContexts/default/Tools/0/parameters").cloned();
    assert_eq!(
        catalog.conversation_context("default"),
        Some(&ConversationContext {
            agent_context_id: "default".into(),
            boot_prompt: "Be useful.".into(),
            model: Some("gpt-5.1-mini".into()),
            mode: Some("ddr".into()),
            tools: vec![ClientToolDefinition {
                name: "ddr_document".into(),
                description: Some("Writes a DDR.".into()),
                parameters: map(parameters.unwrap()),
                strict: true,
            }],
            mcp_tools: vec!["crm/find_customer".into()],
            hosted_tools: vec![
                hosted(r#"{"filters":{"allowed_domains":[]},"type":"web_search"}"#, None),
                hosted(
                    r#"{"require_approval":"never","server_label":"d","type":"mcp"}"#,
                    Some("d"),
                ),
            ],
            model_parameters: ModelParameters {
                text_is_json: Some(true),
                ..added(&[("text", r#"{"format":{"name":"n","schema":{},"type":"json_schema"}}"#)])
            },
        })
    );
    assert_eq!(catalog.conversation_context("absent"), None);

    let ddr = Mode {
        key: "ddr".into(),
        display_name: "DDR ✍".into(),
        when_to_use: "DDRs.".into(),
        welcome_message: "Welcome.".into(),
        instructions: "Write.".into(),
        tools: vec!["lookup".into(), "agent_list_modes".into(), "docs/*".into()],
        hosted_tools: vec![hosted(
            r#"{"environment":{"type":"container_auto"},"type":"shell"}"#,
            None,
        )],
        model_parameters: added(&[("max_output_tokens", "4000"), ("x-own", "null")]),
        is_default: true,
    };
    assert_eq!(catalog.mode("ddr"), Some(&ddr));
    assert_eq!(catalog.default_mode(), &ddr);
    assert_eq!(catalog.mode("DDR"), None);
    assert_eq!(catalog.modes().iter().map(|m| &m.key).collect::<Vec<_>>(), ["general", "ddr"]);

    assert_eq!(
        catalog.server_tool("lookup"),
        Some(&ServerTool {
            name: "lookup".into(),
            description: "Looks up.".into(),
            parameters: map(json!({
                "type": "object",
                "properties": { "q": { "type": "string" }, "any": true }, "required": ["q"]
            })),
            strict: false,
            on_error: OnError::ReportToModel,
            approval: Some(Approval { allow_edit: true, message: Some("Looks abroad.".into()) }),
            http: HttpService {
                url: "https://tools.example.com/lookup?v=1".into(),
                headers: vec![
                    header("X-Org", "acme"),
                    header("Authorization", "Bearer ${LOOKUP_KEY}"),
                ],
                timeout_ms: 900_000,
            },
        })
    );
    assert_eq!(catalog.server_tool(BuiltInTool::ChangeMode.as_str()), None);

    let fingerprint = |key: &str| sha256_hex(full()["McpServers"][key].to_string().as_bytes());
    assert_eq!(
        catalog.mcp_server("docs"),
        Some(&McpServer {
            http: HttpService {
                url: "https://docs.example.com/mcp?v=1".into(),
                headers: vec![header("X-Docs", "${DOCS_KEY}")],
                timeout_ms: 5000,
            },
            allow: Some(vec!["search".into(), "read_*".into()]),
            approvals: vec![
                ("*".into(), Some(Approval { allow_edit: true, message: None })),
                ("read_*".into(), None),
            ],
            pins: vec![("search".into(), "0a".repeat(32))],
            on_error: OnError::FailTurn,
            fingerprint: fingerprint("docs"),
        })
    );
    assert_eq!(
        catalog.mcp_server("crm"),
        Some(&McpServer {
            http: HttpService {
                url: "http://127.0.0.1:3000/mcp".into(),
                headers: vec![],
                timeout_ms: 60_000,
            },
            allow: None,
            approvals: vec![],
            pins: vec![],
            on_error: OnError::ReportToModel,
            fingerprint: fingerprint("crm"),
        })
    );
}

#[test]
fn patterns_say_which_tools_of_a_server_are_offered_and_which_are_asked_about() {
    let mut document = full();
    let server = &mut document["McpServers"]["docs"];
    server["Allow"] = json!(["search", "read_*", "*_b*c", "x**"]);
    // As text, because the first pattern that matches decides.
    let text = document.to_string().replace(
        &server_approvals(&document),
        r#"{"read_*":"Never","*_a":{"When":"Always","Message":"Sure?"},"read_a":"Always","s*":"Always"}"#,
    );
    let catalog = Catalog::parse(&text).unwrap();
    let server = catalog.mcp_server("docs").unwrap();
    for (tool, allowed, asked) in [
        ("search", true, Some(None)),
        ("searches", false, Some(None)),
        ("read_", true, None),
        ("read_a", true, None),
        ("write_a", false, Some(Some("Sure?"))),
        ("a_bc", true, None),
        ("a_bcbc", true, None),
        ("a_bcb", false, None),
        ("x", true, None),
        ("", false, None),
        ("Search", false, None),
    ] {
        assert_eq!(server.allows(tool), allowed, "{tool}");
        let approval = server.approval(tool);
        assert_eq!(approval.map(|approval| approval.message.as_deref()), asked, "{tool}");
    }
    assert!(catalog.mcp_server("crm").unwrap().allows("anything"));
}

fn server_approvals(document: &Value) -> String {
    document["McpServers"]["docs"]["Approval"].to_string()
}

#[test]
fn parameters_stay_as_they_are_written() {
    // The model writes the properties of a schema in the schema's order.
    let format = r#"{ "format": {"type":"json_schema", "schema": {"z":1.50, "a":"\u00e9"}} }"#;
    let text = least().to_string().replace(
        r#""Key":"m""#,
        &format!(r#""Key":"m","ModelParameters":{{"seed":1e2,"text":{format},"a":[]}}"#),
    );
    let mode = Catalog::parse(&text).unwrap().default_mode().clone();
    let written = added(&[("seed", "1e2"), ("text", format), ("a", "[]")]);
    assert_eq!(mode.model_parameters, ModelParameters { text_is_json: Some(true), ..written });
}

#[test]
fn absent_members_have_the_documented_defaults() {
    let mut document = least();
    document["ServerTools"] =
        json!([{ "Name": "t", "Description": "T.", "Http": { "Url": "https://t.example" } }]);
    document["AgentContexts"]["b"] =
        json!({ "Retrieval": { "Http": { "Url": "https://r.example" } } });
    document["ConversationContexts"]["c"]["Tools"] = json!([{ "type": "function", "name": "f" }]);
    let catalog = parsed(&document);

    assert_eq!(
        catalog.agent_context("a"),
        Some(&AgentContext {
            base_url: None,
            api_key_secret: None,
            model: None,
            continuation: Continuation::Stored,
            resend_tools: true,
            delete_stored: false,
            retrieval: Retrieval {
                source: RetrievalSource::Index,
                limit: 8,
                max_bytes: 24_576,
                embeddings: None
            },
            headers: vec![],
            query: vec![],
            prompt_cache_key: true,
            model_parameters: ModelParameters::default(),
            compaction: Compaction { by: CompactionBy::Own, threshold: None, prompt: None },
            budget: Budget { turn_tokens: None, session_tokens: None },
            max_iterations: None,
            retention_days: None,
        })
    );
    assert_eq!(
        catalog.agent_context("b").map(|context| &context.retrieval),
        Some(&Retrieval {
            source: RetrievalSource::Http(HttpService {
                url: "https://r.example".into(),
                headers: vec![],
                timeout_ms: 30_000,
            }),
            limit: 8,
            max_bytes: 24_576,
            embeddings: None,
        })
    );
    let takes_nothing =
        map(json!({ "type": "object", "properties": {}, "additionalProperties": false }));
    assert_eq!(
        catalog.conversation_context("c"),
        Some(&ConversationContext {
            agent_context_id: "a".into(),
            boot_prompt: "Hi.".into(),
            model: None,
            mode: None,
            tools: vec![ClientToolDefinition {
                name: "f".into(),
                description: None,
                parameters: takes_nothing.clone(),
                strict: false,
            }],
            mcp_tools: vec![],
            hosted_tools: vec![],
            model_parameters: ModelParameters::default(),
        })
    );
    let mode = Mode {
        key: "m".into(),
        display_name: "M".into(),
        when_to_use: String::new(),
        welcome_message: String::new(),
        instructions: String::new(),
        tools: vec![],
        hosted_tools: vec![],
        model_parameters: ModelParameters::default(),
        is_default: false,
    };
    assert_eq!(catalog.modes(), [mode]);
    assert_eq!(
        catalog.server_tool("t"),
        Some(&ServerTool {
            name: "t".into(),
            description: "T.".into(),
            parameters: takes_nothing,
            strict: false,
            on_error: OnError::FailTurn,
            approval: None,
            http: HttpService {
                url: "https://t.example".into(),
                headers: vec![],
                timeout_ms: 30_000
            },
        })
    );
}

#[test]
fn the_default_mode_is_the_marked_one_else_general_else_the_first() {
    let default = |modes: Value| {
        let mut document = least();
        document["Modes"] = modes;
        parsed(&document).default_mode().key.clone()
    };
    let mode = |key: &str| json!({ "Key": key, "DisplayName": key });
    let marked = |key: &str| json!({ "Key": key, "DisplayName": key, "IsDefault": true });
    assert_eq!(default(json!([mode("a"), mode("general"), marked("z")])), "z");
    assert_eq!(default(json!([mode("a"), mode("general")])), "general");
    assert_eq!(default(json!([mode("a"), mode("b")])), "a");
}

#[test]
fn the_builtin_catalog_is_complete_and_obeys_its_schema() {
    let text = include_str!("../../src/catalog/builtin.json");
    let document: Value = serde_json::from_str(text).unwrap();
    assert!(VALIDATOR.is_valid(&document));
    let catalog = Catalog::builtin().unwrap();
    assert_eq!(Catalog::parse(text).as_ref(), Ok(&catalog));

    let agent = catalog.agent_context("default").unwrap();
    assert_eq!((&agent.base_url, &agent.model), (&None, &None), "the deployment decides");
    assert_eq!(agent.api_key_secret.as_deref(), Some("OPENAI_API_KEY"));
    let conversation = catalog.conversation_context("default").unwrap();
    for label in [
        "[MODE: …]",
        "[INSTRUCTION]",
        "[CONTEXT]",
        "[SOLUTION CONTEXT]",
        "=== CHUNK n ===",
        "`aptix-json`",
        "`agent_change_mode`",
    ] {
        assert!(conversation.boot_prompt.contains(label), "{label}");
    }
    let modes: Vec<_> =
        catalog.modes().iter().map(|m| (m.key.as_str(), m.display_name.as_str())).collect();
    assert_eq!(
        modes,
        [
            ("general", "General"),
            ("ddr_authoring", "DDR Authoring"),
            ("workflow_authoring", "Workflow Authoring")
        ]
    );
    assert_eq!(catalog.default_mode().key, "general");
    for mode in catalog.modes() {
        assert_eq!(mode.tools, [BuiltInTool::ListModes.as_str()]);
        assert!(!mode.instructions.is_empty() && !mode.when_to_use.is_empty());
        assert_eq!(mode.welcome_message.is_empty(), mode.is_default, "{}", mode.key);
    }
}

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
                "unknown member \"Extra\"; the members here are $schema, AgentContexts, \
                 ConversationContexts, Modes, ServerTools, McpServers"
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
fn each_wrong_document_is_refused_by_the_checker_and_if_possible_by_the_schema() {
    for wrong in wrong_documents::all() {
        let refused = parse(&wrong.document).err().unwrap_or_default();
        let seen_by_schema = !VALIDATOR.is_valid(&wrong.document);
        assert_eq!((refused, seen_by_schema), (wrong.faults, wrong.seen_by_schema));
    }
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
        with("/Modes/0/Tools", json!(BuiltInTool::ALL.map(BuiltInTool::as_str))),
        with("/Modes/0/Key", json!("A-z_0.9")),
        with("/AgentContexts/team:a.b-c_1", json!({})),
        with("/ServerTools/0/Http/Url", json!("http://[::1]:8787/x")),
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
