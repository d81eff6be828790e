//! Whole turns as a client and the model service see them (interface §2, §4 and §5), also through
//! crashes, faults and any order of events.

mod approvals;
mod background;
mod catalog_stamps;
mod client_tools;
mod commentary;
mod compaction;
mod conversation;
mod crash;
mod delivery;
mod detached;
mod ended_calls;
mod erased_any_time;
mod erasure;
mod fallbacks;
mod faults;
mod files;
mod forks;
mod hosted_tools;
mod instead;
mod interleavings;
mod last_net;
mod life_cycle;
mod log_lines;
mod long_conversations;
mod mcp;
mod metering;
mod migration;
mod model_parameters;
mod modes;
mod no_storage;
mod output_schema;
mod parallel;
mod progress;
mod reasoning;
mod replays;
mod retrieval;
mod rollout;
mod rows;
mod session;
mod settlement;
mod solution_context;
mod span_attributes;
mod spans;
mod steering;
mod tools;
mod trace_context;
mod usage;
mod webhooks;

use bed::*;
use serde_json::Value;

fn names(body: &Value) -> Vec<&str> {
    body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// What a request says new, in few words.
fn input(body: &Value) -> Vec<Said> {
    Conversation::of(body).said()
}

fn user(text: &str) -> Said {
    Said::User(text.to_owned())
}

/// The text that a watcher keeps of a stream, and the body of its `result`.
pub(crate) fn watched(frames: &str) -> (String, Value) {
    let mut segments: Vec<(u64, String)> = Vec::new();
    let mut result = Value::Null;
    // A comment is a sign of life.
    for frame in frames.split_terminator("\n\n").filter(|frame| !frame.starts_with(':')) {
        let line =
            |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let data: Value = serde_json::from_str(line("data: ")).unwrap();
        let segment = data["Segment"].as_u64();
        match line("event: ") {
            "output_text.delta" => {
                let segment = segment.unwrap();
                if segments.last().is_none_or(|(last, _)| *last != segment) {
                    segments.push((segment, String::new()));
                }
                let text = &mut segments.last_mut().unwrap().1;
                text.push_str(data["Delta"].as_str().unwrap());
                assert_eq!(line("id: "), format!("{segment}.{}", text.len()));
            }
            "output_text.discard" => segments.retain(|(known, _)| Some(*known) != segment),
            "result" => result = data,
            "progress" => assert_eq!(line("id: "), ""),
            other => panic!("an unknown event {other}"),
        }
    }
    (segments.into_iter().map(|(_, text)| text).collect(), result)
}
