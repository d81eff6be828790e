//! What a server sends of the longest costs little more than its bytes, in time and in memory, whatever they say: all
//! tenants of an isolate share both.
//!
//! The bound on time is a hundred times what an optimised build takes, and far below what such messages would take by
//! the square of their length. The time is that of the thread on a processor, however busy the machine is.

use std::time::Duration;

use aptix_edge::outbound::ServiceFailure;
use bed::HttpReply;
use cpu_time::ThreadTime;

use super::server::Server;
use crate::contract::memory::most_held;

const WORST: Duration = Duration::from_secs(4);

fn reply(members: &str) -> HttpReply {
    HttpReply::new(200, &format!(r#"{{"jsonrpc":"2.0","id":$id,{members}}}"#))
}

fn in_time<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = ThreadTime::now();
    let result = work();
    let took = begun.elapsed();
    assert!(took < WORST, "{what}: {took:?}");
    result
}

/// So many members, each by its number.
fn members(count: usize, member: impl Fn(usize) -> String) -> String {
    (0..count).map(member).collect::<Vec<_>>().join(",")
}

#[test]
fn a_list_with_endless_marks_of_headers_is_read_in_time() {
    let list = |tools: usize, marks: usize| {
        let marks = members(marks, |at| format!(r#""x-mcp-header":"A{at}""#));
        let tool = |at| {
            format!(
                r#"{{"name":"t{at}","inputSchema":{{"type":"object","properties":{{"a":{{{marks},"type":"string"}}}}}}}}"#
            )
        };
        let reply = reply(&format!(r#""result":{{"tools":[{}]}}"#, members(tools, tool)));
        let read = || Server::known("modern", [reply]).list();
        in_time(&format!("{tools} tools"), read).unwrap()
    };
    for (tools, marks, reason) in [
        (1, 80_000, "its description and schema are too long"),
        (30, 2_500, "its input schema names a member twice"),
    ] {
        let list = list(tools, marks);
        assert_eq!((list.tools.len(), list.unusable.len()), (0, tools));
        assert!(list.unusable.iter().all(|tool| tool.reason == reason), "{:?}", list.unusable[0]);
    }
}

#[test]
fn the_marks_of_a_schema_are_looked_up_in_long_arguments_in_time() {
    let property = |at| format!(r#""p{at}":{{}}"#);
    let marked = r#""last":{"type":"string","x-mcp-header":"Last"}"#;
    let schema =
        format!(r#"{{"type":"object","properties":{{{},{marked}}}}}"#, members(4_000, property));
    let given = members(50_000, |at| format!(r#""g{at}":{at}"#));
    let arguments = format!(r#"{{{given},"last":"yes"}}"#);
    let mut server = Server::known("modern", [reply(r#""result":{"content":[]}"#)]);
    in_time("a call", || server.call_of("t", &schema, &arguments)).unwrap();
    assert_eq!(super::server::header(&server.sent()[0], "Mcp-Param-Last").as_deref(), Some("yes"));
}

#[test]
fn a_message_costs_a_few_times_its_bytes_of_memory_however_many_things_it_lists() {
    const MULTIPLE: usize = 8;
    let many = |unit: &str| vec![unit; 3_900_000 / (unit.len() + 1)].join(",");
    let listed = vec![r#"{"":0}"#; 270_000].join(",");
    let members = format!(r#""result":{{"tools":[],"ttlMs":[{listed}]}}"#);
    let mut server = Server::known("modern", [reply(&members)]);
    let (list, held) = most_held(|| server.list());
    assert_eq!(list.unwrap().ttl_ms, 0);
    assert!(held < MULTIPLE * members.len(), "a time to live: {held} bytes");
    for (what, members) in [
        (
            "a text",
            format!(
                r#""result":{{"content":[{{"type":"text","text":"{}"}}]}}"#,
                "x".repeat(3_900_000)
            ),
        ),
        ("blocks", format!(r#""result":{{"content":[{}]}}"#, many("{}"))),
        (
            "versions",
            format!(r#""error":{{"code":-32022,"data":{{"supported":[{}]}}}}"#, many(r#""""#)),
        ),
    ] {
        let mut server = Server::known("modern", [reply(&members)]);
        let (outcome, held) = most_held(|| server.call("{}"));
        assert!(outcome.is_err(), "{what}");
        assert!(held < MULTIPLE * members.len(), "{what}: {held} bytes");
    }
}

#[test]
fn a_text_with_endless_escapes_and_a_cut_character_is_read_in_time() {
    let text = format!("{}\\ud83d", "\\n".repeat(1_900_000));
    let reply = reply(&format!(r#""result":{{"content":[{{"type":"text","text":"{text}"}}]}}"#));
    let mut server = Server::known("modern", [reply]);
    let outcome = in_time("a call", || server.call("{}"));
    assert_eq!(outcome.unwrap_err(), ServiceFailure::TooLarge(1_000_000).into());
}
