//! What stands on the spans of turns that are unlike the plain one (docs/operations.md, Traces): each way in which a call
//! ends, retries, approvals, steers, failures of tools and searches.

use bed::*;
use serde_json::{Value, json};

fn traced(change: impl Fn(&mut Value)) -> Bed {
    let bed = Bed::new();
    bed.configure(change);
    bed.world.spans.are_heard.set(true);
    bed
}

fn last(bed: &Bed, name: &str) -> Value {
    bed.world.spans.named(name).pop().unwrap()
}

const AGENT: &str = "invoke_agent default";

#[test]
fn a_call_says_how_its_output_ended_and_a_failed_one_by_what() {
    for (ending, finish, error) in [
        (Ending::Completed, "stop", None),
        (Ending::Incomplete("max_output_tokens"), "length", None),
        (Ending::Incomplete("content_filter"), "content_filter", None),
        (Ending::Failed("invalid_prompt"), "error", Some("invalid_prompt")),
        // What is no word of the service's is no word of a span's.
        (Ending::Failed("said the user: hello"), "error", Some("failed")),
    ] {
        let bed = traced(|_| ());
        bed.world.model.script([Answer { ending, ..say("An answer.") }.into()]);
        bed.post(&turn("t1", "One"));
        let chat = last(&bed, "chat m");
        assert_eq!(chat["gen_ai.response.finish_reasons"], finish);
        assert_eq!(chat.get("error.type").and_then(Value::as_str), error, "{finish}");
        assert_eq!(chat["gen_ai.response.model"], "m");
        let failed = last(&bed, AGENT).get("error.type").cloned();
        assert_eq!(failed, error.map(|_| json!("upstream_failed")));
    }
}

#[test]
fn a_call_says_what_it_asked_for_and_its_turn_whether_json() {
    let bed = traced(|catalog| {
        catalog["AgentContexts"]["default"]["ModelParameters"] = json!({
            "reasoning": { "effort": "low" }, "max_output_tokens": 900,
            "text": { "format": { "type": "json_object" } },
        });
    });
    bed.world.model.script([say("{}").into()]);
    bed.post(&turn("t1", "One")).final_text();
    let chat = last(&bed, "chat m");
    assert_eq!(chat["gen_ai.request.reasoning.level"], "low");
    assert_eq!(chat["gen_ai.request.max_tokens"], 900.0);
    assert_eq!(chat["openai.api.type"], "responses");
    assert_eq!(chat["server.address"], "model.example");
    assert_eq!(last(&bed, AGENT)["gen_ai.output.type"], "json");
}

#[test]
fn a_call_that_is_made_again_is_one_span_with_the_tokens_of_all_attempts() {
    let bed = traced(|_| ());
    let failed = Answer { ending: Ending::Failed("server_error"), ..say("") };
    bed.world.model.script([failed.into(), http_error(503, json!({}), &[]), say("Yes.").into()]);
    bed.post(&turn("t1", "One")).final_text();
    assert_eq!(bed.world.spans.names(), [AGENT, "  chat m"]);
    let chat = last(&bed, "chat m");
    assert_eq!((&chat["aptix.attempts"], chat.get("error.type")), (&json!(3.0), None));
    let usage = bed.turn("t1").result()["Usage"].clone();
    assert_eq!(chat["gen_ai.usage.input_tokens"].as_f64(), usage["PromptTokens"].as_f64());
    assert_eq!(chat["gen_ai.usage.output_tokens"].as_f64(), usage["CompletionTokens"].as_f64());
}

#[test]
fn a_call_that_a_human_has_decided_about_says_how_and_one_that_was_refused_is_none() {
    for approved in [true, false] {
        let bed = traced(|catalog| catalog["ServerTools"][0]["Approval"] = json!("Always"));
        let asked = bed.post(&turn("t1", "Look [plan: server]")).calls().remove(0);
        bed.post(&results("t1", &[(&asked, json!({ "Approved": approved }))])).final_text();
        let tools = bed.world.spans.named("execute_tool lookup");
        let decisions: Vec<_> = tools.iter().map(|tool| &tool["aptix.approval"]).collect();
        assert_eq!(decisions, if approved { vec!["approved"] } else { vec![] });
        // The question itself is the client's, and no span.
        let names = bed.world.spans.names();
        assert!(names.iter().all(|name| !name.contains("agent_approve_tool")), "{names:?}");
        assert!(last(&bed, AGENT)["aptix.waited_ms"].is_number());
    }
}

#[test]
fn a_steer_that_interrupts_ends_the_span_of_the_call_that_it_drops() {
    let bed = traced(|_| ());
    let pending = bed.send_to_silence(&turn("t1", "One"));
    let interrupt = with(steer("s1", "Canary."), json!({ "Interrupt": true }));
    assert_eq!(bed.steer("t1", &interrupt).status, 202);
    bed.wait(&pending).unwrap().final_text();
    assert_eq!(bed.world.spans.names(), [AGENT, "  chat m", "  chat m"]);
    let chats = bed.world.spans.named("chat m");
    assert_eq!(chats[0]["error.type"], "interrupted");
    assert_eq!(chats[1].get("error.type"), None);
    assert!(!bed.world.spans.trees().to_string().contains("Canary"));
}

#[test]
fn a_turn_that_is_out_of_time_says_so_on_the_step_that_was_under_way() {
    let bed = traced(|_| ());
    bed.deploy("TURN_TIMEOUT_MS", "1000");
    bed.world.model.script([Reply::Silence]);
    assert_eq!(bed.post(&turn("t1", "One")).failure(), (504, "upstream_timeout"));
    for name in [AGENT, "chat m"] {
        assert_eq!(last(&bed, name)["error.type"], "upstream_timeout", "{name}");
    }
}

#[test]
fn a_tool_that_runs_when_its_turn_is_cancelled_says_so() {
    let bed = traced(|_| ());
    bed.world.tools.think(|_| ToolAnswer::Never);
    let pending = bed.send(&turn("t1", "Look [plan: server]"));
    bed.run_until(|bed| !bed.world.tools.calls().is_empty(), "the tool is called");
    bed.run_at_once();
    bed.try_cancel("t1").unwrap();
    assert_eq!(bed.wait(&pending).unwrap().failure(), (409, "turn_aborted"));
    let tool = last(&bed, "execute_tool lookup");
    assert_eq!(tool["error.type"], "turn_aborted");
    assert_eq!(tool.get("aptix.result_bytes"), None);
    assert_eq!(last(&bed, AGENT)["aptix.turn.status"], "aborted");
    // Every span has ended.
    bed.world.spans.clear();
}

#[test]
fn a_tool_that_fails_says_by_what_and_an_mcp_server_s_error_has_its_code() {
    for (on_error, status) in [("ReportToModel", 200), ("FailTurn", 500)] {
        let bed = traced(|catalog| catalog["ServerTools"][0]["OnError"] = json!(on_error));
        bed.world.tools.think(|_| ToolAnswer::Status(503));
        assert_eq!(bed.post(&turn("t1", "Look [plan: server]")).status, status);
        let tool = last(&bed, "execute_tool lookup");
        let error = if status == 200 { "503" } else { "server_tool_failed" };
        assert_eq!(tool["error.type"], error);
        assert_eq!(tool.get("aptix.result_bytes").is_some(), status == 200);
    }
    let bed = traced(|catalog| {
        catalog["McpServers"]["docs"] = json!({ "Url": "https://docs.example/mcp" });
        catalog["Modes"][0]["Tools"] = json!(["docs/*"]);
    });
    bed.post(&turn("t1", "Hello")).final_text();
    bed.world.mcp.refuses.set(Some(-32_602));
    bed.post(&turn("t2", "Search [plan: mcp]")).final_text();
    let tool = last(&bed, "execute_tool docs__search");
    assert_eq!(tool["rpc.response.status_code"], "-32602");
    assert_eq!(tool["error.type"], "-32602");
    assert_eq!(tool["server.address"], "docs.example");
    assert_eq!(tool["gen_ai.tool.type"], "extension");
}

#[test]
fn a_search_that_fails_is_an_error_of_its_span_and_none_of_the_turn() {
    let bed = traced(|catalog| {
        catalog["AgentContexts"]["default"]["Retrieval"] =
            json!({ "Http": { "Url": "https://search.example/q" } });
    });
    bed.world.tools.think(|_| ToolAnswer::Status(500));
    let request = with(turn("t1", "Where?"), json!({ "WorkspaceId": "w" }));
    bed.post(&request).final_text();
    let retrieval = last(&bed, "retrieval");
    assert_eq!(retrieval["error.type"], "retrieval_failed");
    assert_eq!(retrieval["aptix.chunks"], 0.0);
    assert_eq!(last(&bed, AGENT).get("error.type"), None);
}

#[test]
fn a_fork_s_turns_have_a_tree_and_a_name_of_their_own_and_making_it_has_none() {
    let bed = traced(|_| ());
    let of = |session: &str, id: &str| with(turn(id, "Hello"), json!({ "SessionId": session }));
    bed.post(&of("parent", "t1")).final_text();
    let made = bed.asked("POST", "/sessions/parent/fork", r#"{"SessionId":"child"}"#);
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(bed.world.spans.names(), [AGENT, "  chat m"]);
    bed.post(&of("child", "t2")).final_text();
    assert_eq!(bed.world.spans.names(), [AGENT, "  chat m", AGENT, "  chat m"]);
    let [parent, child] = &bed.world.spans.named(AGENT)[..] else { panic!("other runs") };
    assert_ne!(parent["gen_ai.conversation.id"], child["gen_ai.conversation.id"]);
    // In the service, the fork goes on from the parent's response.
    let [of_parent, of_child] = &bed.world.spans.named("chat m")[..] else { panic!("other calls") };
    let previous = &of_child["gen_ai.request.previous_response.id"];
    assert_eq!(previous, &of_parent["gen_ai.response.id"]);
}
