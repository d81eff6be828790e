//! What is looked at while the walk goes on: each answer, and each step of each turn.

use bed::*;
use serde_json::Value;

use super::{Asked, Story, USER};
use crate::turns::watched;

/// Codes that a request may get when the model service lies.
const FORESEEN: [&str; 17] = [
    "budget_exceeded",
    "catalog_invalid",
    "context_not_found",
    "context_window_exceeded",
    "invalid_field",
    "iteration_limit_exceeded",
    "server_tool_failed",
    "session_not_found",
    "turn_interrupted",
    "turn_not_found",
    "upstream_failed",
    "upstream_incomplete",
    "upstream_protocol",
    "upstream_rejected",
    "upstream_timeout",
    "upstream_unavailable",
    "turn_ended",
];

impl Story<'_> {
    pub(super) fn pass(&mut self, steps: u64) {
        for (asked, heard) in self.walk.pass(steps, |_| ()) {
            self.hear(asked, &heard);
        }
        self.look();
    }

    fn hear(&mut self, asked: Asked, heard: &Heard) {
        let (status, code) = heard.failure();
        let is_foreseen = match status {
            200 | 201 | 202 | 204 | 409 => true,
            500 if code.is_empty() => self.crashed,
            // The clock may jump over the time for which a session waits to be registered.
            500 if code == "internal" => self.crashed || heard.text.contains("so it was not begun"),
            _ => FORESEEN.contains(&code),
        };
        assert!(is_foreseen, "{status} {code}: {}", heard.text);
        if let Some(frames) =
            heard.frames.as_ref().filter(|_| !matches!(asked, Asked::Other("watch")))
        {
            assert_watched(frames, heard);
        }
        match asked {
            Asked::Submission(request) => self.hear_answer(&request, heard),
            Asked::Steer(session, id) if status == 200 || status == 202 => {
                self.accepted.insert((session, id));
            }
            Asked::Steer(..) => {}
            Asked::Other("watch") => {
                if let Some(frames) = &heard.frames {
                    assert_watched(frames, heard);
                }
            }
            Asked::Other(_) => {}
        }
    }

    /// A request has one success, however often it is sent.
    fn hear_answer(&mut self, request: &Value, heard: &Heard) {
        let session = request["SessionId"].as_str().unwrap();
        if heard.status != 200 || self.erased.contains(session) {
            return;
        }
        let first = self.answers.entry(request.to_string()).or_insert_with(|| heard.text.clone());
        assert_eq!(first, &heard.text, "two answers to {request}");
    }

    /// At most one turn of a session lives, and none that has ended begins again but by a repeat after a failure.
    pub(super) fn look(&mut self) {
        for session in &self.sessions {
            let disk = &self.walk.bed.world.session(&format!("local/~{USER}/{session}")).disk;
            let Some(stored) = disk.session() else { continue };
            let mut live = Vec::new();
            for row in disk.read("SELECT ordinal, turn_id, status FROM turns") {
                let (turn, status) =
                    (row["turn_id"].as_str().unwrap(), row["status"].as_str().unwrap());
                if status == "running" || status == "awaiting_tools" {
                    live.push(row["ordinal"].clone());
                }
                let key = (session.clone(), turn.to_owned());
                let before = self.statuses.insert(key, status.to_owned());
                let is_legal = match before.as_deref() {
                    None | Some("running" | "awaiting_tools") => true,
                    Some("failed") => {
                        ["failed", "running", "completed", "awaiting_tools", "aborted"]
                            .contains(&status)
                    }
                    Some(before) => before == status || self.erased.contains(session),
                };
                assert!(is_legal, "{session} {turn}: {before:?}, then {status}");
            }
            assert!(live.len() <= 1, "{session}: {live:?} live");
            assert_eq!(stored["open_turn"], live.pop().unwrap_or_default(), "{session}");
        }
    }
}

/// A stream from its start shows the text of its result.
fn assert_watched(frames: &str, heard: &Heard) {
    let (kept, result) = watched(frames);
    assert_eq!(result, heard.body, "{frames}");
    let told = &result["Result"];
    match told["Kind"].as_str() {
        Some("final") => assert_eq!(kept, told["PrimaryOutputText"].as_str().unwrap(), "{frames}"),
        Some(_) => assert_eq!(
            kept,
            told["ToolContinuationMessage"].as_str().unwrap_or_default(),
            "{frames}"
        ),
        None => {}
    }
}
