//! What holds when nothing is left to happen.

use std::collections::BTreeMap;

use replay::{Bundle, rebuild};
use serde_json::Value;

use super::{ALL, Story, USER};
use crate::users::people::Asking;

/// What an export shows of features that meet.
pub(super) const MET: [&str; 14] = [
    "\"Compactions\":[{",
    "\"Reason\":\"service\"",
    "\"Reason\":\"threshold\"",
    "\"Service\":\"spare\"",
    "\"Background\":true",
    "\"Resumed\":",
    "\"Reduced\":\"plain\"",
    "\"Reduced\":\"turn\"",
    "\"Rebuilt\":true",
    "\"Unanswered\":true",
    "\"Interrupted\":true",
    "\"Decision\":\"approved\"",
    "\"ContextChanged\":",
    "\"ParentSessionId\"",
];

impl Story<'_> {
    /// Whatever was begun ends, each session goes on, and all that was said is where it belongs.
    pub(super) fn end(&mut self) {
        let bed = self.walk.bed;
        self.setting.mend(bed);
        let objects: Vec<_> = bed.world.sessions.borrow().values().cloned().collect();
        objects.iter().for_each(|session| session.restart(&bed.world));
        self.crashed = true;
        self.pass(ALL);
        bed.ring_for(15);
        self.pass(ALL);
        assert!(!self.walk.is_waited(), "a request was never answered");
        for session in self.sessions.clone() {
            self.go_on(&session);
        }
        self.look();
        for session in self.sessions.clone() {
            if !self.erased.contains(&session) {
                let export = self.reckon(&session);
                for what in MET {
                    if export.contains(what) {
                        self.walk.note(what);
                    }
                }
            }
        }
        for service in [&bed.world.model, &bed.world.spare] {
            assert_eq!(service.unpaired.take(), Vec::<String>::new());
            // What it has forgotten, or named otherwise.
            let mut refusals = service.refusals();
            refusals
                .retain(|told| !told.contains("Previous response") && !told.contains("required"));
            let told = service.lies.told.borrow();
            let is_named_twice = ["an id for all responses", "a strange id"]
                .iter()
                .any(|lie| told.contains_key(lie));
            assert!(refusals.is_empty() || is_named_twice, "{refusals:?}");
        }
        self.leave();
    }

    fn go_on(&self, session: &str) {
        let bed = self.walk.bed;
        let seen = bed.ask_as(USER, "GET", &format!("/sessions/{session}"), "");
        if seen.status == 404 {
            return;
        }
        if let Some(turn) = seen.result()["LiveTurn"]["TurnId"].as_str() {
            assert_eq!(seen.result()["LiveTurn"]["Status"], "awaiting_tools", "{session}");
            bed.ask_as(USER, "POST", &format!("/sessions/{session}/turns/{turn}/cancel"), "")
                .result();
        }
        assert_eq!(bed.say(USER, session, "last", "Last").final_text(), "Done.");
    }

    /// Looks at a session, and returns its export.
    fn reckon(&self, session: &str) -> String {
        let bed = self.walk.bed;
        let disk = &bed.world.session(&format!("local/~{USER}/{session}")).disk;
        if disk.session().is_none() {
            return String::new();
        }
        let turns: BTreeMap<String, String> = disk
            .read("SELECT turn_id, status FROM turns")
            .iter()
            .map(|row| {
                (
                    row["turn_id"].as_str().unwrap().to_owned(),
                    row["status"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        // A request that had a success has it again, unless its turn was cancelled.
        for (request, first) in &self.answers {
            let read: Value = serde_json::from_str(request).unwrap();
            if read["SessionId"] != session {
                continue;
            }
            let again = bed.ask_as(USER, "POST", "/execute", request);
            let is_aborted = turns[read["TurnId"].as_str().unwrap()] == "aborted";
            assert!(
                &again.text == first || is_aborted && again.failure().1 == "turn_aborted",
                "{request}: {first}, then {}",
                again.text
            );
        }
        assert_eq!(
            disk.read("SELECT 1 FROM turns WHERE status IN ('running', 'awaiting_tools')").len(),
            0
        );
        if !disk.read("SELECT 1 FROM sqlite_master WHERE name = 'calls'").is_empty() {
            assert_eq!(disk.read("SELECT * FROM calls WHERE result IS NULL"), [], "{session}");
        }
        let export = bed.ask_as(USER, "GET", &format!("/sessions/{session}/export"), "").text;
        self.reckon_export(session, &export);
        export
    }

    fn reckon_export(&self, session: &str, export: &str) {
        let bed = self.walk.bed;
        let bundle = Bundle::read(export).unwrap();
        for turn in &bundle.turns {
            for (place, call) in turn.model_calls.iter().enumerate() {
                let is_forked = session.contains('f');
                let built = rebuild(&bundle, turn, call);
                assert!(
                    built.is_ok() || is_forked,
                    "{session}, {}, call {place}: {built:?}",
                    turn.turn_id
                );
            }
        }
        let services = [&bed.world.model, &bed.world.spare];
        let sent: Vec<String> = services
            .iter()
            .flat_map(|service| service.bodies())
            .map(|body| body["input"].to_string())
            .collect();
        let was_sent = |words: &str| sent.iter().any(|body| body.contains(words));
        let export: Value = serde_json::from_str(export).unwrap();
        let mut steers: BTreeMap<String, usize> = BTreeMap::new();
        for turn in export["Result"]["Turns"].as_array().unwrap() {
            let id = turn["TurnId"].as_str().unwrap();
            let conversation = turn["Conversation"].to_string();
            assert!(
                id == "last" || conversation.contains(&format!("Words-{id}.")),
                "{session}: the words of {id} are lost"
            );
            let is_done = turn["Status"] == "completed";
            assert!(
                id == "last" || !is_done || was_sent(&format!("Words-{id}.")),
                "{session}: {id} was never sent"
            );
            for entry in turn["Conversation"].as_array().unwrap() {
                let text = entry["Items"].to_string();
                for (at, _) in text.match_indices("Steer-").filter(|_| entry["Kind"] == "steer") {
                    let id = text[at + 6..].split('.').next().unwrap().to_owned();
                    *steers.entry(id).or_default() += 1;
                }
            }
            for steer in turn["Steers"].as_array().into_iter().flatten() {
                if steer["Instruction"].is_string() {
                    *steers.entry(steer["SteerId"].as_str().unwrap().to_owned()).or_default() += 1;
                }
            }
        }
        for (_, id) in self.accepted.iter().filter(|(of, _)| of == session) {
            assert_eq!(steers.get(id), Some(&1), "{session}: {id} was accepted: {steers:?}");
        }
        for (id, times) in &steers {
            assert_eq!(*times, 1, "{session}: {id}");
        }
    }

    /// Each session is erased, leaves nothing, and is looked after no more.
    fn leave(&mut self) {
        let bed = self.walk.bed;
        for session in &self.sessions {
            let left = bed.ask_as(USER, "DELETE", &format!("/sessions/{session}"), "");
            assert!([200, 404].contains(&left.status), "{}", left.text);
        }
        bed.ring_for(60);
        for session in &self.sessions {
            let object = bed.world.session(&format!("local/~{USER}/{session}"));
            let tables = object.disk.read("SELECT name FROM sqlite_master");
            assert_eq!(tables, [], "{session}");
            assert_eq!(object.rings_at(&bed.world), None, "{session}");
        }
    }
}
