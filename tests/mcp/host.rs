//! The object that stores a server's list for all sessions of a tenant: how often it asks the server, and what survives
//! the loss of its memory.

use std::pin::pin;
use std::rc::Rc;

use aptix_edge::catalog::{Catalog, McpServer};
use aptix_edge::mcp::{McpListHost, ToolListReply};
use aptix_edge::ports::Machine;
use bed::{Disk, HttpReply, LoneStep, SqliteDatabase, mcp_tool};
use futures_util::future::{join, join_all, select};
use serde_json::{Value, json};

type Host = McpListHost<SqliteDatabase>;

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

/// The replies to `times` requests at once, and the time until the last of them.
fn replies(
    step: &LoneStep,
    host: &Host,
    server: &McpServer,
    times: usize,
) -> (Vec<ToolListReply>, u64) {
    let since = step.now_ms();
    let asking = (0..times).map(|_| host.tools(&step.platform, server));
    let replies = step.run(join_all(asking));
    (replies.into_iter().map(Result::unwrap).collect(), step.now_ms() - since)
}

fn host(disk: &Rc<Disk>) -> Host {
    McpListHost::new(disk.database())
}

fn list_of(reply: &ToolListReply) -> &str {
    reply.list.as_ref().unwrap().get()
}

#[test]
fn any_number_of_sessions_that_ask_at_once_cost_the_server_one_request() {
    let (step, disk) = (listing(json!([mcp_tool("a")])), Disk::new());
    let server = server(json!({}));
    let (replies, took_ms) = replies(&step, &host(&disk), &server, 5);
    assert_eq!(took_ms, 7, "none waits for a request of its own");
    for reply in &replies {
        let list: Value = serde_json::from_str(list_of(reply)).unwrap();
        assert_eq!(list, json!({ "era": "modern", "tools": [mcp_tool("a")] }));
        assert!(!reply.is_stale && reply.fresh_ms == KEPT_MS && reply.server == server.fingerprint);
    }
    assert_eq!(disk.rows_written.get(), 1);
}

#[test]
fn a_request_that_is_dropped_while_it_waits_does_not_hold_up_the_next_one() {
    let (step, host) = (listing(json!([mcp_tool("a")])), host(&Disk::new()));
    let server = server(json!({}));
    let dropped = async {
        let asking = pin!(host.tools(&step.platform, &server));
        let time_out = pin!(step.platform.sleep(3));
        select(asking, time_out).await;
    };
    let (_, reply) = step.run(join(dropped, host.tools(&step.platform, &server)));
    assert!(!reply.unwrap().is_stale);
    assert_eq!(step.now_ms(), 10, "the second one asks when the first has gone");
}

#[test]
fn what_a_server_that_is_told_the_user_says_of_its_failure_is_not_logged() {
    let refusing = |headers: Value| {
        let step = LoneStep::played_by(|request| {
            let asked: Value = serde_json::from_str(&request.body).unwrap();
            let error = json!({ "code": -32001, "message": "alice has not agreed yet" });
            let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
            Some(Ok(HttpReply::new(200, &body.to_string())))
        });
        let step = step.logging();
        let server = server(json!({ "Headers": headers }));
        replies(&step, &host(&Disk::new()), &server, 1);
        step.logged()[0]["failure"].as_str().unwrap().to_owned()
    };
    let plain = refusing(json!({ "X-Team": "docs" }));
    assert_eq!(plain, "it refused the request: alice has not agreed yet (code -32001)");
    let told = refusing(json!({ "X-User": "${USER}" }));
    assert_eq!(told, "it refused the request (code -32001)");
}

#[test]
fn a_list_outlives_the_instance_and_not_the_server_s_definition() {
    let (step, disk) = (listing(json!([mcp_tool("a")])), Disk::new());
    let took = |server: &McpServer| replies(&step, &host(&disk), server, 1).1;
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
    let server = server(json!({}));
    let took = |host: &Host| {
        let (replies, took_ms) = replies(&step, host, &server, 1);
        assert!(list_of(&replies[0]).len() > 60 * 32_000);
        took_ms
    };
    let first = host(&disk);
    assert_eq!((took(&first), took(&first), took(&host(&disk))), (7, 0, 7));
}
