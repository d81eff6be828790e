//! A decision runs one call once, anywhere: a guarded call runs only in a session that has asked about it and got a
//! decision of somebody who may decide, and no more often than somebody who may decide has sent for it, or an instance was
//! lost.

use std::collections::{BTreeMap, BTreeSet};

use bed::*;
use serde_json::Value;

/// The name of the guarded tool.
pub(super) const GUARDED: &str = "fragile";

#[derive(Default)]
pub(super) struct Decisions {
    /// The questions that sessions have put, with their calls.
    asked: BTreeMap<(String, String), String>,
    /// The calls that may run, by session.
    decided: BTreeSet<(String, String)>,
    /// How often somebody who may decide has sent something about a turn.
    sent: BTreeMap<(String, String), usize>,
    /// How often calls have run.
    ran: BTreeMap<(String, String), usize>,
    /// The tool's calls that were looked at.
    seen: usize,
}

impl Decisions {
    /// Notes the questions of a paused turn.
    pub(super) fn note_questions(&mut self, session: &str, calls: &[Value]) {
        for call in calls.iter().filter(|call| call["Name"] == "agent_approve_tool") {
            let question = call["ToolCallId"].as_str().unwrap().to_owned();
            let shown: Value =
                serde_json::from_str(call["ArgumentsJson"].as_str().unwrap()).unwrap();
            let about = shown["ToolCallId"].as_str().unwrap().to_owned();
            self.asked.insert((session.to_owned(), question), about);
        }
    }

    /// Notes what somebody who may decide sends.
    pub(super) fn note_sent(&mut self, session: &str, request: &Value) {
        let turn = request["TurnId"].as_str().unwrap().to_owned();
        *self.sent.entry((session.to_owned(), turn)).or_default() += 1;
        for result in request["ToolResults"].as_array().into_iter().flatten() {
            let question = result["ToolCallId"].as_str().unwrap().to_owned();
            let approves = result["ResultJson"].as_str().is_some_and(|json| json.contains("true"));
            if let Some(call) = self.asked.get(&(session.to_owned(), question)).filter(|_| approves)
            {
                self.decided.insert((session.to_owned(), call.clone()));
            }
        }
    }

    /// Looks at what the guarded tool got since the last time; `lost` is how often a session's instance was lost. Returns the
    /// number of new runs.
    pub(super) fn look(&mut self, bed: &Bed, lost: impl Fn(&str) -> usize) -> usize {
        let calls = bed.world.tools.calls();
        let mut runs = 0;
        for call in &calls[self.seen..] {
            if !call["ToolCallId"].is_string() || call["Name"] != GUARDED {
                continue;
            }
            let text = |member: &str| call[member].as_str().unwrap().to_owned();
            let (session, id, turn) = (text("SessionId"), text("ToolCallId"), text("TurnId"));
            let is_decided = self.decided.contains(&(session.clone(), id.clone()));
            assert!(is_decided, "{id} ran in {session}, where nobody has decided on it");
            let times = self.ran.entry((session.clone(), id.clone())).or_default();
            *times += 1;
            let sent = self.sent.get(&(session.clone(), turn)).copied().unwrap_or_default();
            let most = sent + lost(&session);
            assert!(*times <= most, "{id} ran {times} times in {session}: {most} may have run it");
            runs += 1;
        }
        self.seen = calls.len();
        runs
    }
}
