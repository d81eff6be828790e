//! `traceparent` and `tracestate` of a client: kept with its turn, and handed on to tools that ask for it.

use bed::*;
use serde_json::{Value, json};

const PARENT: &str = "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b173-01";
const LATER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// A bed whose tool `lookup` asks for the place in the trace, as the MCP server does, and whose other tools do not.
fn bed() -> Bed {
    let bed = Bed::new();
    bed.configure(|catalog| {
        catalog["ServerTools"][0]["TraceContext"] = json!(true);
        catalog["McpServers"]["docs"] =
            json!({ "Url": "https://docs.example/mcp", "TraceContext": true });
        catalog["Modes"][0]["Tools"] = json!(["lookup", "fragile", "agent_list_modes", "docs/*"]);
    });
    bed
}

fn post(bed: &Bed, request: &Value, headers: &[(&str, &str)]) -> Heard {
    bed.wait(&bed.ask("POST", "/execute", headers, &request.to_string())).unwrap()
}

/// The headers of that name in the requests to HTTP tools, `-` where there was none.
fn handed_on(bed: &Bed, name: &str) -> Vec<String> {
    let requests = bed.world.tool_requests.take();
    let value = |request: &RequestLine| {
        let header = request.headers.iter().find(|(known, _)| known == name);
        header.map_or("-".to_owned(), |(_, value)| value.clone())
    };
    requests.iter().map(value).collect()
}

#[test]
fn a_tool_that_asks_for_it_gets_the_client_s_place_in_its_trace_and_no_other_service_does() {
    let bed = bed();
    let headers = [("traceparent", PARENT), ("tracestate", "vendor=1")];
    post(&bed, &turn("t1", "Look [plan: server, fragile]"), &headers).final_text();
    let requests = bed.world.tool_requests.borrow().len();
    assert!(requests >= 2);
    let parents = handed_on(&bed, "traceparent");
    assert_eq!(parents.iter().filter(|parent| *parent == PARENT).count(), 1, "{parents:?}");
    for call in bed.world.model_calls.borrow().iter() {
        assert!(call.headers.iter().all(|(name, _)| !name.starts_with("trace")));
    }
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert_eq!(trace.result()["CallerTraceId"], "5b8efff798038103d269b633813fc60c");
}

#[test]
fn a_continuation_without_a_place_of_its_own_has_that_of_its_turn_and_a_malformed_one_is_none() {
    let bed = bed();
    // Of a version that is not known yet, with what fails a server that reads it.
    for (id, rest) in [("odd", "\u{7f}".to_owned()), ("long", "x".repeat(500))] {
        let later = format!("{}-{rest}", PARENT.replacen("00", "cc", 1));
        post(&bed, &turn(id, "Look [plan: server]"), &[("traceparent", &later)]).final_text();
        assert_eq!(handed_on(&bed, "traceparent"), ["-"], "{id}");
    }
    let paused = post(&bed, &turn("t1", "Ask [plan: client, server]"), &[("traceparent", PARENT)]);
    let more = results("t1", &[(&paused.calls()[0], json!(1))]);
    post(&bed, &more, &[("traceparent", "nonsense")]).final_text();
    assert_eq!(handed_on(&bed, "traceparent"), [PARENT]);

    let paused = post(&bed, &turn("t2", "Ask [plan: client, server]"), &[("traceparent", PARENT)]);
    bed.restart();
    let more = results("t2", &[(&paused.calls()[0], json!(1))]);
    post(&bed, &more, &[("traceparent", LATER)]).final_text();
    assert_eq!(handed_on(&bed, "traceparent"), [LATER]);

    // The header is no part of what makes two submissions the same.
    let again = post(&bed, &turn("t1", "Ask [plan: client, server]"), &[("traceparent", LATER)]);
    assert!(again.replayed);
}

#[test]
fn a_failed_turn_that_is_sent_again_has_the_place_of_whoever_sends_it() {
    let bed = bed();
    let request = turn("t1", "Look [plan: server]");
    bed.world.tools.script([ToolAnswer::Status(500)]);
    let failed = post(&bed, &request, &[("traceparent", PARENT)]);
    assert_eq!(failed.failure().1, "server_tool_failed");
    bed.restart();
    post(&bed, &request, &[("traceparent", LATER)]).final_text();
    assert_eq!(handed_on(&bed, "traceparent"), [PARENT, LATER]);

    // So has one that runs.
    let request = turn("t2", "Look [plan: server, server]");
    let slow = ToolAnswer::After(1_000, Box::new(ToolAnswer::Json(json!(1))));
    bed.world.tools.script([slow]);
    let running = bed.send(&request);
    bed.run_until(|bed| !bed.world.tool_requests.borrow().is_empty(), "a tool runs");
    post(&bed, &request, &[("traceparent", LATER)]).final_text();
    bed.wait(&running).unwrap().final_text();
    assert_eq!(handed_on(&bed, "traceparent"), ["-", LATER]);
}

#[test]
fn a_turn_that_fails_has_the_place_of_whoever_joined_it_last() {
    let bed = bed();
    let request = turn("t1", "Look [plan: server]");
    bed.world.tools.script([ToolAnswer::After(1_000, Box::new(ToolAnswer::Status(500)))]);
    let running = bed.ask("POST", "/execute", &[("traceparent", PARENT)], &request.to_string());
    bed.run_until(|bed| !bed.world.tool_requests.borrow().is_empty(), "a tool runs");
    let joined = post(&bed, &request, &[("traceparent", LATER)]);
    assert_eq!(joined.failure().1, "server_tool_failed");
    assert_eq!(bed.wait(&running).unwrap().failure(), joined.failure());
    let trace = bed.asked("GET", "/sessions/s/turns/t1/trace", "");
    assert_eq!(trace.result()["CallerTraceId"], "0af7651916cd43dd8448eb211c80319c");
}

#[test]
fn a_steer_brings_its_own_place() {
    let bed = bed();
    let paused = post(&bed, &turn("t1", "Ask [plan: client, server]"), &[("traceparent", PARENT)]);
    let target = "/sessions/s/turns/t1/steer";
    let words = steer("more", "Be brief. [plan: server]").to_string();
    let taken = bed.wait(&bed.ask("POST", target, &[("traceparent", LATER)], &words)).unwrap();
    assert_eq!(taken.status, 202);
    bed.restart();
    bed.post(&results("t1", &[(&paused.calls()[0], json!(1))])).final_text();
    // The model follows the plan in the newest words.
    assert_eq!(handed_on(&bed, "traceparent"), [LATER]);
}

#[test]
fn an_mcp_server_gets_it_in_meta() {
    for state in [McpState::Modern, McpState::Legacy] {
        let bed = bed();
        bed.world.mcp.state.set(state);
        let headers = [("traceparent", PARENT), ("tracestate", "vendor=\"1\"")];
        post(&bed, &turn("t1", "Search [plan: mcp]"), &headers).final_text();
        for request in bed.world.mcp.requests() {
            let meta = &request.body["params"]["_meta"];
            let is_call = request.body["method"] == "tools/call";
            let expected = if is_call { json!(PARENT) } else { Value::Null };
            assert_eq!(meta["traceparent"], expected, "{state:?}");
            if is_call {
                assert_eq!(meta["tracestate"], "vendor=\"1\"");
            }
        }
    }
}

#[test]
fn where_no_client_has_a_place_a_tool_gets_that_of_its_own_span() {
    let bed = bed();
    bed.world.spans.are_heard.set(true);
    bed.world.spans.are_told.set(true);
    post(&bed, &turn("t1", "Look [plan: server]"), &[]).final_text();
    let parents = handed_on(&bed, "traceparent");
    assert!(parents[0].starts_with("00-5b8efff798038103d269b633813fc60c-"), "{parents:?}");

    let bed = self::bed();
    post(&bed, &turn("t1", "Look [plan: server]"), &[]).final_text();
    assert_eq!(handed_on(&bed, "traceparent"), ["-"]);
}
