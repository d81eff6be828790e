//! Lists of tools: pages, promises, and what is left out.

use aptix_edge::mcp::{Listing, McpFailure};
use aptix_edge::outbound::ServiceFailure;
use bed::HttpReply;
use serde_json::{Value, json};

use super::server::{Server, answered};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn listed(pages: impl IntoIterator<Item = Value>) -> Result<Listing, McpFailure> {
    Server::known("modern", pages.into_iter().map(answered)).list()
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn pages_are_asked_for_until_no_cursor_comes_and_an_empty_one_is_one() {
    let page = |name: &str, cursor: Value| json!({ "tools": [tool(name)], "nextCursor": cursor });
    let pages = [page("b", json!("")), page("a", json!("x\"1")), page("c", Value::Null)];
    let mut server = Server::known("modern", pages.map(answered));
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
    let listing = listed((0..9).map(|at| page(at, at % 3))).unwrap();
    assert_eq!(listing.tools.len(), 80, "a cursor comes again on the fourth page");
    assert_eq!(listed((0..99).map(|at| page(at, at))).unwrap().tools.len(), 1_000);
    let empty = |at: usize| json!({ "tools": [], "nextCursor": at.to_string() });
    let mut server = Server::known("modern", (0..99).map(|at| answered(empty(at))));
    assert!(server.list().unwrap().tools.is_empty());
    assert_eq!(server.sent().len(), 64);
    let unusable: Vec<Value> = (0..5_000).map(|n| json!({ "name": format!("t{n}") })).collect();
    let listing = listed([json!({ "tools": unusable, "nextCursor": "next" })]).unwrap();
    assert_eq!(listing.left_out.len(), 1_000, "those that are left out are counted, too");
    let wide = |at: usize| {
        let mut tool = tool(&format!("t{at}"));
        tool["description"] = "x".repeat(900_000).into();
        json!({ "tools": [tool], "nextCursor": at.to_string() })
    };
    let failure = listed((0..9).map(wide)).unwrap_err();
    assert_eq!(failure, ServiceFailure::TooLarge(2_000_000).into());
}

#[test]
fn the_shortest_promise_of_all_pages_counts_and_private_is_what_is_not_said_to_be_public() {
    let promise = |pages: &[(Value, Value)]| {
        let last = pages.len() - 1;
        let page = |(at, (ttl, scope)): (usize, &(Value, Value))| {
            let mut page = json!({ "tools": [], "ttlMs": ttl, "cacheScope": scope });
            if at < last {
                page["nextCursor"] = at.to_string().into();
            }
            page
        };
        let listing = listed(pages.iter().enumerate().map(page)).unwrap();
        (listing.ttl_ms, listing.is_private)
    };
    let (public, private) = (json!("public"), json!("private"));
    assert_eq!(promise(&[(json!(60_000), public.clone())]), (60_000, false));
    assert_eq!(promise(&[(json!(9), public.clone()), (json!(5), private)]), (5, true));
    assert_eq!(promise(&[(json!(9), public.clone()), (Value::Null, public)]), (0, false));
    for nothing in [json!(-5), json!("60000"), Value::Null] {
        assert_eq!(promise(&[(nothing, Value::Null)]), (0, true));
    }
    assert_eq!(promise(&[(json!(1e300), Value::Null)]).0, u64::MAX);
}

/// A schema in which objects nest `depth` levels deep.
fn nested(depth: usize) -> String {
    let inner = r#"{"properties":"#.repeat(depth - 1);
    let inner = inner.strip_prefix('{').unwrap();
    format!(r#"{{"type":"object",{inner}{{}}{}"#, "}".repeat(depth - 1))
}

#[test]
fn tools_that_no_model_service_could_take_are_left_out_and_the_others_stay() {
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
    let listing = Server::known("modern", [HttpReply::new(200, &body)]).list().unwrap();
    assert_eq!(names(&listing), ["good", "braces"]);
    assert_eq!(listing.tools[0].description, None);
    assert_eq!(listing.tools[0].input_schema.get(), nested(64));
    let expected: Vec<(String, &str)> = schemas
        .iter()
        .filter(|(_, _, reason)| !reason.is_empty())
        .map(|(name, _, reason)| ((*name).to_owned(), *reason))
        .chain([("bare".to_owned(), "its input schema is not that of an object")])
        .collect();
    assert_eq!(listing.left_out, expected);
}

#[test]
fn a_result_that_is_no_list_is_no_answer() {
    for result in [json!({}), json!({ "tools": {} }), json!({ "tools": null }), json!([]), json!(7)]
    {
        assert_eq!(listed([result]).unwrap_err(), McpFailure::NoAnswer);
    }
}

#[test]
fn secrets_that_a_list_repeats_are_not_in_it() {
    let mut server = Server::known(
        "modern",
        [answered(json!({ "tools": [
        { "name": "t", "description": "Use Bearer sk-mcp-1.", "inputSchema": { "type": "object" } }
    ] }))],
    );
    server.step = server.step.with_secret("KEY", "sk-mcp-1");
    server.http = super::server::service(super::server::URL, &json!({ "A": "Bearer ${KEY}" }));
    let listing = server.list().unwrap();
    assert_eq!(listing.tools[0].description.as_deref(), Some("Use Bearer ***."));
}
