//! Documents that are accepted, member by member, and the defaults of what they leave out.

use aptix_edge::catalog::{
    AgentContext, Approval, Budget, BuiltInTool, Catalog, ClientToolDefinition, Compaction,
    CompactionBy, ContextTools, Continuation, ConversationContext, Embeddings, HeaderTemplate,
    HostedTool, HttpService, McpServer, Mode, ModelParameter, ModelParameters, OnError, Retrieval,
    RetrievalSource, SecretTemplate, ServerTool,
};
use aptix_edge::encoding::{Jurisdiction, sha256_hex};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::documents::{full, least};
use super::{VALIDATOR, map, parsed};

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
            background: false,
            resend_tools: false,
            delete_stored: true,
            fallbacks: vec!["index".into()],
            offer_hosted_tools: false,
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
            safety_identifier: false,
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
            budget: Budget {
                turn_tokens: Some(500_000),
                session_tokens: Some(u32::MAX.into()),
                ..Budget::default()
            },
            max_iterations: Some(1000),
            retention_days: Some(90),
            file_hosts: vec!["Pictures.example.com".into()],
            residence: vec![Jurisdiction::Eu, Jurisdiction::FedRampHigh],
        })
    );
    let retrieval = |id| catalog.agent_context(id).map(|context| context.retrieval.clone());
    let embeddings = Embeddings {
        model: "embed-1".into(),
        dimensions: 256,
        base_url: Some("http://localhost:9300/v1".into()),
        headers: vec![header("Authorization", "Bearer ${EMBED_KEY}")],
        timeout_ms: 2000,
        weight: 250,
        residence: vec![Jurisdiction::Us],
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
            tools: ContextTools {
                of_client: vec![ClientToolDefinition {
                    name: "ddr_document".into(),
                    description: Some("Writes a DDR.".into()),
                    parameters: map(parameters.unwrap()),
                    strict: true,
                }],
                of_servers: vec!["crm/find_customer".into()],
            },
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
            webhooks: vec![],
            rollout: None,
            instead: None,
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
    assert_eq!(catalog.default_mode, ddr);
    assert_eq!(catalog.mode("DDR"), None);
    assert_eq!(catalog.modes.iter().map(|m| &m.key).collect::<Vec<_>>(), ["general", "ddr"]);

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
            approval: Some(Approval {
                allow_edit: true,
                message: Some("Looks abroad.".into()),
                ..Approval::default()
            }),
            parallel: true,
            http: HttpService {
                url: "https://tools.example.com/lookup?v=1".into(),
                headers: vec![
                    header("X-Org", "acme"),
                    header("Authorization", "Bearer ${LOOKUP_KEY}"),
                ],
                timeout_ms: 900_000,
            },
            file_hosts: vec!["files.example.com".into(), "[2001:db8::1]".into()],
            file_ids: true,
            trace_context: true,
            ..ServerTool::default()
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
                ("*".into(), Some(Approval { allow_edit: true, ..Approval::default() })),
                ("read_*".into(), None),
            ],
            parallels: vec![("read_*".into(), true), ("read_big".into(), false)],
            pins: vec![("search".into(), "0a".repeat(32))],
            on_error: OnError::FailTurn,
            trace_context: true,
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
            parallels: vec![],
            pins: vec![],
            on_error: OnError::ReportToModel,
            trace_context: false,
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
    let parallels = document["McpServers"]["docs"]["Parallel"].to_string();
    let text =
        document.to_string().replace(&parallels, r#"{"read_all":false,"read_*":true,"s*":true}"#);
    let catalog = Catalog::parse(&text).unwrap();
    for (tool, may) in [("read_a", true), ("read_all", false), ("search", true), ("write", false)] {
        assert_eq!(catalog.mcp_server("docs").unwrap().is_parallel(tool), may, "{tool}");
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
    let mode = Catalog::parse(&text).unwrap().default_mode;
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
            background: false,
            resend_tools: true,
            delete_stored: false,
            fallbacks: vec![],
            offer_hosted_tools: true,
            retrieval: Retrieval {
                source: RetrievalSource::Index,
                limit: 8,
                max_bytes: 24_576,
                embeddings: None
            },
            headers: vec![],
            query: vec![],
            prompt_cache_key: true,
            safety_identifier: false,
            model_parameters: ModelParameters::default(),
            compaction: Compaction { by: CompactionBy::Own, threshold: None, prompt: None },
            budget: Budget::default(),
            max_iterations: None,
            retention_days: None,
            file_hosts: vec![],
            residence: vec![],
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
            tools: ContextTools {
                of_client: vec![ClientToolDefinition {
                    name: "f".into(),
                    description: None,
                    parameters: takes_nothing.clone(),
                    strict: false,
                }],
                of_servers: vec![],
            },
            hosted_tools: vec![],
            model_parameters: ModelParameters::default(),
            webhooks: vec![],
            rollout: None,
            instead: None,
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
    assert_eq!(catalog.modes, [mode]);
    assert_eq!(
        catalog.server_tool("t"),
        Some(&ServerTool {
            name: "t".into(),
            description: "T.".into(),
            parameters: takes_nothing,
            strict: false,
            on_error: OnError::FailTurn,
            approval: None,
            parallel: false,
            http: HttpService {
                url: "https://t.example".into(),
                headers: vec![],
                timeout_ms: 30_000
            },
            file_hosts: vec![],
            file_ids: false,
            trace_context: false,
            ..ServerTool::default()
        })
    );
}

#[test]
fn the_default_mode_is_the_marked_one_else_general_else_the_first() {
    let default = |modes: Value| {
        let mut document = least();
        document["Modes"] = modes;
        parsed(&document).default_mode.key
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
        catalog.modes.iter().map(|m| (m.key.as_str(), m.display_name.as_str())).collect();
    assert_eq!(
        modes,
        [
            ("general", "General"),
            ("ddr_authoring", "DDR Authoring"),
            ("workflow_authoring", "Workflow Authoring")
        ]
    );
    assert_eq!(catalog.default_mode.key, "general");
    for mode in &catalog.modes {
        assert_eq!(mode.tools, [BuiltInTool::ListModes.as_str()]);
        assert!(!mode.instructions.is_empty() && !mode.when_to_use.is_empty());
        assert_eq!(mode.welcome_message.is_empty(), mode.is_default, "{}", mode.key);
    }
}

#[test]
fn an_agent_context_may_ask_for_background_responses() {
    let mut document = least();
    document["AgentContexts"]["b"] = json!({ "Background": "Always" });
    assert!(parsed(&document).agent_context("b").unwrap().background);
}
