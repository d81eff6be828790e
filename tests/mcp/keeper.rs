//! The object that keeps a server's list for all sessions of a tenant: how often it asks, and what it still knows
//! when it has lost its memory.

use aptix_edge::catalog::{Catalog, McpServer};
use aptix_edge::mcp::{ListKeeper, ToolsAnswer};
use bed::{Disk, HttpReply, LoneStep, mcp_tool};
use futures_util::future::join_all;
use serde_json::{Value, json};

const KEPT_MS: u64 = 60_000;

fn server(change: Value) -> McpServer {
    let mut server = json!({ "Url": "https://docs.example/mcp" });
    for (name, value) in change.as_object().unwrap() {
        server[name] = value.clone();
    }
    let catalog = json!({
        "AgentContexts": { "a": {} },
        "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
        "Modes": [ { "Key": "general", "DisplayName": "General" } ],
        "McpServers": { "docs": server },
    });
    Catalog::parse(&catalog.to_string()).unwrap().mcp_server("docs").unwrap().clone()
}

/// A server that answers every request for its list after 7 ms.
fn listing(tools: Value) -> LoneStep {
    LoneStep::played_by(move |request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap();
        let result = json!({ "tools": tools, "resultType": "complete" });
        let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        let reply = HttpReply::new(200, &body.to_string()).after(7);
        Some(Ok(reply.with("content-type", "application/json")))
    })
}

/// The answers to so many that ask at once, and the time that they took.
fn asked(
    step: &LoneStep,
    keeper: &ListKeeper,
    disk: &std::rc::Rc<Disk>,
    server: &McpServer,
    times: usize,
) -> (Vec<ToolsAnswer>, u64) {
    let (database, since) = (disk.database(), step.now_ms());
    let asking = (0..times).map(|_| keeper.tools(&step.platform, &database, "docs", server));
    let answers = step.run(join_all(asking));
    (answers.into_iter().map(Result::unwrap).collect(), step.now_ms() - since)
}

#[test]
fn any_number_that_ask_at_once_cost_the_server_one_request() {
    let (step, keeper, disk) =
        (listing(json!([mcp_tool("a")])), ListKeeper::default(), Disk::new());
    let server = server(json!({}));
    let (answers, took_ms) = asked(&step, &keeper, &disk, &server, 5);
    assert_eq!(took_ms, 7, "none waits for a request of its own");
    for answer in &answers {
        let list: Value = serde_json::from_str(answer.list.as_ref().unwrap()).unwrap();
        assert_eq!(list, json!({ "era": "modern", "tools": [mcp_tool("a")] }));
        assert!(
            !answer.is_stale && answer.fresh_ms == KEPT_MS && answer.server == server.fingerprint
        );
    }
    assert_eq!(disk.rows_written.get(), 1);
}

#[test]
fn a_list_outlives_the_instance_and_not_the_server_s_definition() {
    let (step, disk) = (listing(json!([mcp_tool("a")])), Disk::new());
    let took = |server: &McpServer| asked(&step, &ListKeeper::default(), &disk, server, 1).1;
    let first = server(json!({}));
    assert_eq!((took(&first), took(&first)), (7, 0));
    let other = server(json!({ "Url": "https://docs.example/v2/mcp" }));
    assert_eq!((took(&other), took(&other), took(&first)), (7, 0, 7));
}

#[test]
fn a_list_that_is_too_long_for_a_row_is_kept_in_memory() {
    let long = |number: usize| {
        let mut tool = mcp_tool(&format!("t{number}"));
        tool["description"] = "x".repeat(32_000).into();
        tool
    };
    let (step, disk) = (listing((0..60).map(long).collect()), Disk::new());
    let (server, keeper) = (server(json!({})), ListKeeper::default());
    let took = |keeper: &ListKeeper| {
        let (answers, took_ms) = asked(&step, keeper, &disk, &server, 1);
        assert!(answers[0].list.as_ref().unwrap().len() > 60 * 32_000);
        took_ms
    };
    assert_eq!((took(&keeper), took(&keeper), took(&ListKeeper::default())), (7, 0, 7));
}
