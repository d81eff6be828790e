//! Lists of tools: pages, promises, and tools that cannot be used.

use aptix_edge::mcp::{McpFailure, ToolList, UnusableTool};
use aptix_edge::outbound::ServiceFailure;
use bed::HttpReply;
use serde_json::{Value, json};

use super::server::{Server, result_reply};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn list_of(pages: impl IntoIterator<Item = Value>) -> Result<ToolList, McpFailure> {
    Server::known("modern", pages.into_iter().map(result_reply)).list()
}

fn names(list: &ToolList) -> Vec<&str> {
    list.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn pages_are_asked_for_until_no_cursor_comes_and_an_empty_one_is_one() {
    let page = |name: &str, cursor: Value| json!({ "tools": [tool(name)], "nextCursor": cursor });
    let pages = [page("b", json!("")), page("a", json!("x\"1")), page("c", Value::Null)];
    let mut server = Server::known("modern", pages.map(result_reply));
    assert_eq!(names(&server.list().unwrap()), ["b", "a", "c"], "in the server's order");
    let cursors: Vec<Value> =
        server.bodies().iter().map(|body| body["params"]["cursor"].clone()).collect();
    assert_eq!(cursors, [Value::Null, json!(""), json!("x\"1")]);
}

#[test]
fn a_server_that_never_comes_to_an_end_is_stopped() {
    let page = |at: usize, cursor: usize| {
        let tools: Vec<Value> = (0..20).map(|n| tool(&format!("t{at}-{n}"))).collect();
        json!({ "tools": tools, "nextCursor": cursor.to_string() })
    };
    let list = list_of((0..9).map(|at| page(at, at % 3))).unwrap();
    assert_eq!(list.tools.len(), 80, "a cursor comes again on the fourth page");
    assert_eq!(list_of((0..99).map(|at| page(at, at))).unwrap().tools.len(), 1_000);
    let empty = |at: usize| json!({ "tools": [], "nextCursor": at.to_string() });
    let mut server = Server::known("modern", (0..99).map(|at| result_reply(empty(at))));
    assert!(server.list().unwrap().tools.is_empty());
    assert_eq!(server.sent().len(), 64);
    let unusable: Vec<Value> = (0..5_000).map(|n| json!({ "name": format!("t{n}") })).collect();
    let list = list_of([json!({ "tools": unusable, "nextCursor": "next" })]).unwrap();
    assert_eq!(list.unusable.len(), 1_000, "unusable tools are counted, too");
    let wide = |at: usize| {
        let mut tool = tool(&format!("t{at}"));
        tool["description"] = "x".repeat(900_000).into();
        json!({ "tools": [tool], "nextCursor": at.to_string() })
    };
    let failure = list_of((0..9).map(wide)).unwrap_err();
    assert_eq!(failure, ServiceFailure::TooLarge(2_000_000).into());
}

#[test]
fn the_shortest_promise_of_all_pages_counts() {
    let promise = |pages: &[Value]| {
        let last = pages.len() - 1;
        let page = |(at, ttl): (usize, &Value)| {
            let mut page = json!({ "tools": [], "ttlMs": ttl });
            if at < last {
                page["nextCursor"] = at.to_string().into();
            }
            page
        };
        list_of(pages.iter().enumerate().map(page)).unwrap().ttl_ms
    };
    assert_eq!(promise(&[json!(60_000)]), 60_000);
    assert_eq!(promise(&[json!(9), json!(5)]), 5);
    assert_eq!(promise(&[json!(9), Value::Null]), 0);
    for nothing in [json!(-5), json!("60000"), Value::Null] {
        assert_eq!(promise(&[nothing]), 0);
    }
    assert_eq!(promise(&[json!(1e300)]), u64::MAX);
}

/// A schema in which objects nest `depth` levels deep.
fn nested(depth: usize) -> String {
    let inner = r#"{"properties":"#.repeat(depth - 1);
    let inner = inner.strip_prefix('{').unwrap();
    format!(r#"{{"type":"object",{inner}{{}}{}"#, "}".repeat(depth - 1))
}

#[test]
fn tools_that_no_model_service_would_accept_are_left_out_and_the_others_stay() {
    let schemas = [
        ("deep", nested(500), "its input schema is too deep or too large"),
        ("deeper", nested(65), "its input schema is too deep or too large"),
        (
            "wide",
            format!(r#"{{"type":"object","anyOf":[{}{{}}]}}"#, "{},".repeat(5_000)),
            "its input schema is too deep or too large",
        ),
        ("none", "null".to_owned(), "its input schema is not that of an object"),
        ("text", r#"{"type":"string"}"#.to_owned(), "its input schema is not that of an object"),
        ("open", "{}".to_owned(), "its input schema is not that of an object"),
        (
            "marked",
            r#"{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}"#
                .to_owned(),
            "its input schema marks headers in a way that is not permitted",
        ),
        (
            "long",
            format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(65_536)),
            "its description and schema are too long",
        ),
        (
            "endless",
            r#"{"type":"object","properties":{"n":{"maximum":1e400}}}"#.to_owned(),
            "its input schema holds a number out of range, or half a character",
        ),
        ("good", nested(64), ""),
        ("braces", r#"{"type":"object","title":"\"{[{[\\"}"#.to_owned(), ""),
    ];
    let tools: Vec<String> = schemas
        .iter()
        .map(|(name, schema, _)| format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#))
        .collect();
    let others = r#"{"name":""},{"name":7},{},null,"x",{"name":"bare"},{"name":"good","description":"again","inputSchema":{"type":"object"}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":$id,"result":{{"tools":[{},{others}]}}}}"#,
        tools.join(",")
    );
    let list = Server::known("modern", [HttpReply::new(200, &body)]).list().unwrap();
    assert_eq!(names(&list), ["good", "braces"]);
    assert_eq!(list.tools[0].description, None);
    assert_eq!(list.tools[0].input_schema.get(), nested(64));
    let expected: Vec<UnusableTool> = schemas
        .iter()
        .map(|(name, _, reason)| (*name, *reason))
        .filter(|(_, reason)| !reason.is_empty())
        .chain([("bare", "its input schema is not that of an object")])
        .map(|(name, reason)| UnusableTool { name: name.to_owned(), reason })
        .collect();
    assert_eq!(list.unusable, expected);
}

#[test]
fn a_tool_that_runs_only_as_a_task_cannot_be_used() {
    let with_execution = |name: &str, execution: Value| {
        let mut tool = tool(name);
        tool["execution"] = execution;
        tool
    };
    let tools = [
        with_execution("task", json!({ "taskSupport": "required" })),
        with_execution("either", json!({ "taskSupport": "optional" })),
        with_execution("plain", json!({ "taskSupport": "forbidden" })),
        with_execution("silent", json!({})),
        with_execution("odd", json!("required")),
    ];
    let list = list_of([json!({ "tools": tools })]).unwrap();
    assert_eq!(names(&list), ["either", "plain", "silent", "odd"]);
    let reason = "it runs only as a task, which is not supported";
    assert_eq!(list.unusable, [UnusableTool { name: "task".to_owned(), reason }]);
}

#[test]
fn a_result_without_a_list_is_no_result() {
    for result in [json!({}), json!({ "tools": {} }), json!({ "tools": null }), json!([]), json!(7)]
    {
        assert_eq!(list_of([result]).unwrap_err(), McpFailure::NoResult);
    }
}

#[test]
fn secrets_that_a_list_repeats_are_not_in_it() {
    let mut server = Server::known(
        "modern",
        [result_reply(json!({ "tools": [
        { "name": "t", "description": "Use Bearer sk-mcp-1.", "inputSchema": { "type": "object" } }
    ] }))],
    );
    server.step = server.step.with_secret("KEY", "sk-mcp-1");
    server.http = super::server::service(super::server::URL, &json!({ "A": "Bearer ${KEY}" }));
    let list = server.list().unwrap();
    assert_eq!(list.tools[0].description.as_deref(), Some("Use Bearer ***."));
}
