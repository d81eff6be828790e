//! The memory for reading a request: at most a small multiple of its body, for any body. A Worker
//! has 128 MB for everything.
//!
//! The counting allocator is the only unsafe code of the tests, so it has a file of its own.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use aptix_edge::composition::tool_outputs;
use aptix_edge::contract::{ToolOutcome, fingerprint, parse};
use aptix_edge::server_tools::FileSources;

/// The system's allocator; while somebody measures, it counts the bytes of each thread, and their maximum.
struct Counting;

/// Those who measure. All other tests allocate, too, and need not pay for counting.
static MEASURING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    if MEASURING.load(Ordering::Relaxed) == 0 {
        return;
    }
    // A thread that is ending has no counters, and is not measured.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller keeps the allocator's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller keeps the allocator's contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What work returns, and the most bytes that it holds meanwhile.
pub(crate) fn most_held<T>(work: impl FnOnce() -> T) -> (T, usize) {
    MEASURING.fetch_add(1, Ordering::Relaxed);
    let before = HELD.get();
    MOST.set(before);
    let result = work();
    let most = (MOST.get() - before).unsigned_abs();
    MEASURING.fetch_sub(1, Ordering::Relaxed);
    (result, most)
}

/// The most bytes held while the body is read and its fingerprint computed, the body not counted.
fn cost(body: &[u8]) -> usize {
    let ((), most) = most_held(|| {
        if let Ok(request) = parse(body) {
            assert_eq!(fingerprint(&request).len(), 64);
        }
    });
    most
}

#[test]
fn no_body_costs_more_than_a_small_multiple_of_itself() {
    // The further bytes of a report of a hundred faults.
    const REPORT: usize = 256 << 10;
    let turn = |members: String| format!(r#"{{"SessionId":"s","TurnId":"t",{members}}}"#);
    let many = |unit: &str| vec![unit; (1 << 20) / unit.len()].join(",");
    let long = "x".repeat(1 << 20);
    let escaped = "\\n".repeat(1 << 19);
    let base64 = "QUJD".repeat(1 << 18);
    let artifact = r#"{"RelativePath":"","FileName":"a","Contents":"","Origin":"ide"}"#;
    let image = r#"{"Id":"a","MimeType":"image/png","DataBase64":"QQ"}"#;
    let condition = r#"{"Key":"a","Operator":"==","Values":[""]}"#;
    let results: Vec<String> = (0..20_000)
        .map(|n| format!(r#"{{"ToolCallId":"{n}","ExecutionMs":1,"ResultJson":"1"}}"#))
        .collect();
    let tools: Vec<String> =
        (0..20_000).map(|n| format!(r#"{{\"type\":\"function\",\"name\":\"{n}\"}}"#)).collect();
    for (what, body, multiple) in [
        ("one long text", turn(format!(r#""Instruction":"{long}""#)), 1),
        ("one long escaped text", turn(format!(r#""Instruction":"{escaped}""#)), 2),
        (
            "one large file",
            turn(format!(
                r#""InputArtifacts":[{{"RelativePath":"","FileName":"a","Encoding":"base64","Origin":"ide","Contents":"{base64}"}}]"#
            )),
            1,
        ),
        ("small artifacts", turn(format!(r#""InputArtifacts":[{}]"#, many(artifact))), 8),
        ("small images", turn(format!(r#""ClipboardImages":[{}]"#, many(image))), 6),
        (
            "small conditions",
            turn(format!(r#""RagScope":{{"Conditions":[{}]}}"#, many(condition))),
            6,
        ),
        (
            "empty values",
            turn(format!(
                r#""RagScope":{{"Conditions":[{{"Key":"a","Operator":"==","Values":[{}]}}]}}"#,
                many(r#""""#)
            )),
            1,
        ),
        ("small results", turn(format!(r#""ToolResults":[{}]"#, results.join(","))), 6),
        ("small tools", turn(format!(r#""ToolsJson":"[{}]""#, tools.join(","))), 6),
        (
            "one tool of many members",
            turn(format!(
                r#""ToolsJson":"[{{\"type\":\"function\",\"name\":\"a\",\"parameters\":{{{}}}}}]""#,
                many(r#"\"\":0"#)
            )),
            5,
        ),
        ("unknown members", format!("{{{}}}", many(r#""a":0"#)), 0),
        ("a long unknown name", format!(r#"{{"{long}":0}}"#), 0),
        ("an array of nothing", turn(format!(r#""InputArtifacts":[{}]"#, many("0"))), 0),
        ("a deep body", "[".repeat(1 << 20), 0),
        (
            "deep text",
            turn(format!(
                r#""ToolResults":[{{"ToolCallId":"a","ExecutionMs":1,"ResultJson":"{}"}}]"#,
                "[".repeat(1 << 20)
            )),
            3,
        ),
    ] {
        let (cost, bound) = (cost(body.as_bytes()), body.len() * multiple + REPORT);
        assert!(cost <= bound, "{what}: {cost} bytes for a body of {}, bound {bound}", body.len());
    }
}

#[test]
fn a_result_of_a_client_s_tool_is_told_from_content_in_little_memory_however_many_parts_it_lists() {
    let result = format!("[{}]", vec![r#"{"type":""}"#; 350_000].join(","));
    let sources = FileSources { hosts: &[], ids: false };
    let (foreign, held) = most_held(|| sources.foreign_file(&result));
    assert!(foreign.is_none() && held < 64 << 10, "{held} bytes");
    let most = 8 * result.len();
    let outcome = ToolOutcome::Result(result);
    let (output, held) = most_held(|| tool_outputs([("call", &outcome)]));
    assert!(output.is_ok() && held < most, "{held} bytes");
}
