//! The spans of a turn (docs/operations.md, Traces): their tree, their attributes, and nothing of what was said.

use std::collections::BTreeSet;

use aptix_edge::contract::release;
use aptix_edge::encoding::sha256_hex;
use aptix_edge::tracing::names;
use bed::*;
use serde_json::{Value, json};

/// The attributes that the conventions and the product have, as of the release that the code names.
const ATTRIBUTES: [&str; 48] = [
    "gen_ai.operation.name",
    "gen_ai.agent.name",
    "gen_ai.conversation.id",
    "gen_ai.conversation.compacted",
    "gen_ai.data_source.id",
    "gen_ai.output.type",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.request.stream",
    "gen_ai.request.reasoning.level",
    "gen_ai.request.max_tokens",
    "gen_ai.request.previous_response.id",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.retrieval.top_k",
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "gen_ai.tool.type",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "mcp.method.name",
    "mcp.protocol.version",
    "rpc.response.status_code",
    "openai.api.type",
    "server.address",
    "server.port",
    "error.type",
    "aptix.version",
    "aptix.tenant",
    "aptix.catalog",
    "aptix.turn.status",
    "aptix.turn.attempt",
    "aptix.model_calls",
    "aptix.tool_calls",
    "aptix.waited_ms",
    "aptix.caller.trace_id",
    "aptix.caller.span_id",
    "aptix.chunks",
    "aptix.attempts",
    "aptix.resumed",
    "aptix.upstream_request_id",
    "aptix.purpose",
    "aptix.fallback_from",
    "aptix.result_bytes",
];

/// How an id of the bed's tenant stands in a trace.
fn traced_id(id: &str) -> String {
    sha256_hex(format!("local\n{id}").as_bytes()).chars().take(32).collect()
}

fn traced() -> Bed {
    let bed = Bed::new();
    bed.world.spans.are_heard.set(true);
    bed
}

/// A turn with everything that has a span, and the words that no span may hold.
fn rich() -> Bed {
    let bed = traced();
    bed.configure(|catalog| {
        catalog["McpServers"]["docs"] = json!({ "Url": "https://docs.example:8443/mcp" });
        catalog["Modes"][0]["Tools"] = json!(["lookup", "fragile", "agent_list_modes", "docs/*"]);
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Http": { "Url": "https://search.example/q" } });
    });
    bed.world.tools.think(|call| match call.get("Query") {
        Some(_) => ToolAnswer::Json(json!({ "Chunks": [
            { "Path": "canary.md", "StartLine": 1, "EndLine": 2, "Text": "canary of a chunk" },
        ] })),
        None => ToolAnswer::Json(json!({ "found": "canary of a result" })),
    });
    bed
}

fn rich_turn(id: &str) -> Value {
    let words = "Canary [plan: server, two-servers]";
    with(turn(id, words), json!({ "WorkspaceId": "w" }))
}

#[test]
fn the_names_are_those_of_the_release_that_the_code_names() {
    assert_eq!(names::SOURCE, "github.com/open-telemetry/semantic-conventions-genai");
    assert_eq!(names::VERSION, "v0.1.0");
    let listed = ATTRIBUTES.iter().chain(&["aptix.approval"]).copied().collect::<Vec<_>>();
    assert_eq!(names::ALL, listed);
}

#[test]
fn a_turn_has_one_tree_of_spans_that_tells_what_the_trace_tells_and_nothing_that_was_said() {
    let bed = rich();
    bed.post(&rich_turn("t1")).final_text();
    let spans = &bed.world.spans;
    assert_eq!(
        spans.names(),
        [
            "invoke_agent default",
            "  retrieval",
            "  chat m",
            "  execute_tool lookup",
            "  chat m",
            "  execute_tool lookup",
            "  execute_tool lookup",
            "  chat m",
        ]
    );
    let tree = spans.trees();
    let all = tree.to_string();
    for word in ["anary", "found", "sk-test", "Boot", "plan"] {
        assert!(!all.contains(word), "{word} stands in {all}");
    }
    let agent = &spans.named("invoke_agent default")[0];
    assert_eq!(
        agent,
        &json!({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "default",
            "gen_ai.conversation.id": traced_id("s"),
            "gen_ai.provider.name": "model.example",
            "gen_ai.request.model": "m", "gen_ai.output.type": "text",
            "aptix.version": release(), "aptix.tenant": "local",
            "aptix.catalog": bed.catalog_hash(),
            "aptix.turn.status": "completed", "aptix.turn.attempt": 1.0,
            "aptix.model_calls": 3.0, "aptix.tool_calls": 3.0,
        })
    );
    assert_eq!(
        spans.named("retrieval")[0],
        json!({
            "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.top_k": 8.0,
            "gen_ai.data_source.id": traced_id("w"), "aptix.chunks": 1.0,
        })
    );
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    let calls = trace.result()["ModelCalls"].as_array().unwrap();
    let chats = spans.named("chat m");
    for (span, call) in chats.iter().zip(calls) {
        assert_eq!(span["gen_ai.response.id"], call["ResponseId"]);
        let previous = span.get("gen_ai.request.previous_response.id").unwrap_or(&Value::Null);
        assert_eq!(previous, &call["PreviousResponseId"]);
        assert_eq!(
            span["gen_ai.usage.input_tokens"].as_f64(),
            call["Usage"]["PromptTokens"].as_f64()
        );
        assert_eq!(span["gen_ai.provider.name"], "model.example");
        assert_eq!(span["gen_ai.conversation.id"], traced_id("s"));
        assert_eq!(span["aptix.upstream_request_id"], "req_1");
        assert_eq!(span["gen_ai.request.stream"], true);
        assert!(span["gen_ai.response.time_to_first_chunk"].is_number());
    }
    let finished: Vec<_> =
        chats.iter().map(|span| &span["gen_ai.response.finish_reasons"]).collect();
    assert_eq!(finished, ["tool_calls", "tool_calls", "stop"]);
    let tools = spans.named("execute_tool lookup");
    let ids: BTreeSet<_> = tools.iter().map(|span| span["gen_ai.tool.call.id"].as_str()).collect();
    assert_eq!(ids.len(), 3);
    let mut tool = tools[0].clone();
    assert!(tool.as_object_mut().unwrap().remove("gen_ai.tool.call.id").is_some());
    assert_eq!(
        tool,
        json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup",
            "gen_ai.tool.type": "extension",
            "aptix.result_bytes": r#"{"found":"canary of a result"}"#.len() as f64,
        })
    );
    assert_known(&tree);
}

/// Every attribute in the trees is a listed one.
fn assert_known(trees: &Value) {
    for span in trees.as_array().unwrap() {
        for name in span["attributes"].as_object().unwrap().keys() {
            assert!(names::ALL.contains(&name.as_str()), "{name}");
        }
        assert_known(&span["below"]);
    }
}

#[test]
fn equal_turns_have_equal_trees_and_a_turn_to_which_nobody_listens_has_none() {
    let trees = || {
        let bed = rich();
        bed.post(&rich_turn("t1")).final_text();
        bed.world.spans.trees()
    };
    assert_eq!(trees(), trees());
    let bed = rich();
    bed.world.spans.are_heard.set(false);
    bed.post(&rich_turn("t1")).final_text();
    assert_eq!(bed.world.spans.names(), Vec::<String>::new());
}

#[test]
fn an_mcp_call_is_one_span_with_the_attributes_of_both_conventions() {
    let bed = rich();
    bed.world.mcp.think(|_, _| json!({ "isError": true, "content": [] }));
    bed.post(&turn("t1", "Search [plan: mcp]")).final_text();
    let name = bed.world.spans.names().into_iter().find(|name| name.contains("execute_tool"));
    let name = name.unwrap().trim().to_owned();
    let span = bed.world.spans.named(&name)[0].clone();
    assert_eq!(span["mcp.method.name"], "tools/call");
    assert_eq!(span["mcp.protocol.version"], "2026-07-28");
    assert_eq!(span["server.address"], "docs.example");
    assert_eq!(span["server.port"], 8443.0);
    assert_eq!(span["error.type"], "tool_error");
}

#[test]
fn what_fails_says_by_what_and_a_call_that_was_cut_keeps_what_it_had_learnt() {
    let bed = traced();
    bed.world.model.spoil_once_after(0, http_error(400, json!({ "code": "odd" }), &[]));
    assert!(bed.post(&turn("t1", "One")).status >= 400);
    let agent = bed.world.spans.named("invoke_agent default").pop().unwrap();
    assert_eq!(agent["aptix.turn.status"], "failed");
    let code = bed.turn("t1").result()["Outcome"]["Errors"][0]["ErrorCode"].clone();
    assert_eq!(agent["error.type"], code);
    assert_eq!(bed.world.spans.named("chat m").pop().unwrap()["error.type"], "400");

    let bed = traced();
    bed.world.model.script([Reply::Silence]);
    let pending = bed.send_to_silence(&turn("t1", "One"));
    bed.try_cancel("t1").unwrap();
    bed.wait(&pending).unwrap();
    let chat = bed.world.spans.named("chat m").pop().unwrap();
    assert_eq!(chat["error.type"], "turn_aborted");
    assert_eq!(chat["aptix.attempts"], 1.0);
    assert_eq!(bed.world.spans.named("invoke_agent default")[0]["aptix.turn.status"], "aborted");
    bed.world.spans.clear();
}

#[test]
fn a_turn_that_lost_its_instance_has_a_whole_tree_for_its_second_attempt() {
    let bed = traced();
    bed.world.model.script([Reply::Silence]);
    let _lost = bed.send(&turn("t1", "One"));
    bed.run_until(|bed| bed.world.model_calls.borrow().len() == 1, "the model is asked");
    bed.run_at_once();
    bed.restart();
    bed.post(&turn("t1", "One")).final_text();
    let agents = bed.world.spans.named("invoke_agent default");
    assert_eq!(agents.len(), 2);
    assert_eq!(agents[1]["aptix.turn.attempt"], 2.0);
    let names = bed.world.spans.names();
    assert_eq!(names, ["invoke_agent default", "  chat m", "invoke_agent default", "  chat m"]);
}

#[test]
fn two_sessions_at_once_are_two_trees() {
    let bed = traced();
    let requests = ["s", "other"]
        .map(|session| with(turn("t1", "Look [plan: server]"), json!({ "SessionId": session })));
    let pending = requests.each_ref().map(|request| bed.send(request));
    for pending in &pending {
        assert_eq!(bed.wait(pending).unwrap().status, 200);
    }
    let one = ["invoke_agent default", "  chat m", "  execute_tool lookup", "  chat m"];
    assert_eq!(bed.world.spans.names(), [one, one].concat());
}

#[test]
fn a_continuation_says_how_long_its_turn_waited_and_log_and_trace_name_the_trace() {
    let bed = traced();
    bed.world.spans.are_told.set(true);
    let paused = bed.post(&turn("t1", "Ask [plan: client]"));
    let now = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(now + 5_000);
    bed.post(&results("t1", &[(&paused.calls()[0], json!(1))])).final_text();
    let agents = bed.world.spans.named("invoke_agent default");
    assert_eq!(agents[0]["aptix.turn.status"], "awaiting_tools");
    assert!(agents[1]["aptix.waited_ms"].as_f64().unwrap() >= 5_000.0);
    let id = "5b8efff798038103d269b633813fc60c";
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert_eq!(trace.result()["TraceId"], id);
    let lines = bed.world.log.take();
    let line = lines.iter().rfind(|line| line["event"] == "submission").unwrap();
    assert_eq!(line["trace_id"], id);
}

#[test]
fn the_operator_says_how_sessions_stand_in_traces() {
    for (setting, shown) in [("id", json!("s")), ("none", Value::Null)] {
        let bed = traced();
        bed.deploy("TRACE_SESSION_ID", setting);
        bed.post(&turn("t1", "One")).final_text();
        let agent = bed.world.spans.named("invoke_agent default").pop().unwrap();
        assert_eq!(agent.get("gen_ai.conversation.id").unwrap_or(&Value::Null), &shown);
    }
}

#[test]
fn sessions_of_one_id_are_a_conversation_for_each_user() {
    let bed = traced();
    let words = turn("t1", "One").to_string();
    for user in ["alice", "bob"] {
        let asked = bed.ask("POST", "/execute", &[("Aptix-User", user)], &words);
        bed.wait(&asked).unwrap().final_text();
        for name in ["invoke_agent default", "chat m"] {
            let span = bed.world.spans.named(name).pop().unwrap();
            assert_eq!(span["gen_ai.conversation.id"], traced_id(&format!("~{user}\ns")));
        }
    }
}

#[test]
fn a_summary_is_a_model_call_with_a_purpose() {
    let bed = traced();
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Compaction"] = json!({ "Threshold": 1_500 });
    });
    bed.world.model.counts.set(true);
    for number in 0..6 {
        let words = format!("Earlier{number} {}", "word ".repeat(400));
        bed.post(&turn(&format!("e{number}"), &words)).final_text();
    }
    let chats = bed.world.spans.named("chat m");
    assert!(chats.iter().any(|chat| chat["aptix.purpose"] == "summary"));
    assert!(chats.iter().any(|chat| chat["gen_ai.conversation.compacted"] == true));
}
