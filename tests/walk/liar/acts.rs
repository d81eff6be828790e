//! What clients, an operator and the machine do.

use bed::*;
use serde_json::{Value, json};

use super::{Asked, Story, USER};
use crate::users::people::words;

impl Story<'_> {
    pub(super) fn act(&mut self) {
        let session = self.walk.random.pick(&self.sessions).clone();
        match self.walk.random.below(100) {
            0..22 => self.say(&session),
            22..44 => self.answer(&session),
            44..54 => self.repeat(),
            54..62 => self.steer(&session),
            62..66 => self.of_newest_turn("cancel", &session, "POST", "/cancel"),
            66..70 => self.fork(&session),
            70..72 => {
                self.erased.insert(session.clone());
                self.walk.note("an erasure");
                self.send(Asked::Other("erase"), "DELETE", &format!("/sessions/{session}"), "");
            }
            72..78 => self.operate(),
            78..85 => self.crash(&session),
            85..90 => {
                let wait_ms = self
                    .walk
                    .random
                    .below(*self.walk.random.clone().pick(&[2_000, 40_000, 400_000, 90_000_000]));
                let executor = &self.walk.bed.world.executor;
                executor.set_now_ms(executor.now_ms() + wait_ms);
                self.walk.bed.ring_due();
            }
            90..95 => self.of_newest_turn("watch", &session, "GET", "/stream"),
            95..97 => {
                let what = *self.walk.random.pick(&["", "/export", "/modes"]);
                self.send(Asked::Other("view"), "GET", &format!("/sessions/{session}{what}"), "");
            }
            _ => self.disturb(),
        }
    }

    fn say(&mut self, session: &str) {
        self.turns += 1;
        let id = format!("t{}", self.turns);
        let more = "word ".repeat(*self.walk.random.pick(&[0, 5, 50, 400]));
        let mut request = words(session, &id, &format!("Words-{id}. {more}"));
        let random = &mut self.walk.random;
        request["Streaming"] = json!(random.chance(50));
        if random.chance(20) {
            request["WorkspaceId"] = json!("w");
        }
        if random.chance(15) {
            let tool = *random.pick(&["latched", "ask", "lookup", "agent_approve_tool"]);
            request["ToolsJson"] = json!(json!([{ "type": "function", "name": tool }]).to_string());
        }
        if random.chance(15) {
            request["SolutionContextText"] =
                json!(*random.pick(&["", "A solution.", "Another solution."]));
        }
        if random.chance(10) {
            request["OutputSchema"] = json!(r#"{"type":"object"}"#);
        }
        if random.chance(10) {
            request["ToolChoiceName"] = json!(*random.pick(&["lookup", "fragile", "latched"]));
        }
        if random.chance(10) {
            request["ConversationContextId"] = json!(*random.pick(&["default", "other", "replay"]));
        }
        self.submit(request);
    }

    fn answer(&mut self, session: &str) {
        let looks =
            self.walk.bed.ask("GET", &format!("/sessions/{session}"), &[("Aptix-User", USER)], "");
        let Some(seen) = self.walk.bed.wait(&looks) else { return };
        let live = &seen.body["Result"]["LiveTurn"];
        let Some(calls) = live["ToolCalls"].as_array() else { return };
        let mut given = Vec::new();
        for call in calls {
            let id = call["ToolCallId"].as_str().unwrap();
            let arguments = call["ArgumentsJson"].as_str().unwrap();
            let shown: Result<Value, _> = serde_json::from_str(arguments);
            let shown = shown.unwrap_or_else(|_| panic!("a client reads no {arguments:?}"));
            let random = &mut self.walk.random;
            let result = match call["Name"] == "agent_approve_tool" {
                true if shown["AllowEdit"] == true && random.chance(30) => {
                    json!({ "Approved": true, "Arguments": { "to": "edited" } })
                }
                true => json!({ "Approved": random.chance(70) }),
                false => json!(format!("result of {id} in {session}")),
            };
            given.push((id, result));
        }
        if self.walk.random.chance(5) {
            given.reverse();
        }
        let turn = live["TurnId"].as_str().unwrap();
        self.submit(with(results(turn, &given), json!({ "SessionId": session })));
    }

    /// Sends an earlier request again: to its session, or to a fork of it.
    fn repeat(&mut self) {
        if self.requests.is_empty() {
            return;
        }
        let newest = self.requests.len().saturating_sub(4);
        let mut again = match self.walk.random.chance(60) {
            true => self.walk.random.pick(&self.requests[newest..]).clone(),
            false => self.walk.random.pick(&self.requests).clone(),
        };
        let of = again["SessionId"].as_str().unwrap();
        let forks: Vec<&String> =
            self.sessions.iter().filter(|fork| fork.starts_with(&format!("{of}f"))).collect();
        if !forks.is_empty() && self.walk.random.chance(40) {
            again["SessionId"] = json!(self.walk.random.pick(&forks));
        }
        self.submit(again);
    }

    fn submit(&mut self, request: Value) {
        let mut headers = vec![("Aptix-User", USER)];
        if self.walk.random.chance(10) {
            headers.push(("Prefer", "respond-async"));
        }
        self.walk.say(format_args!("{request:.600}"));
        let pending = self.walk.bed.ask("POST", "/execute", &headers, &request.to_string());
        self.walk.wait_for(Asked::Submission(request.clone()), pending);
        self.requests.push(request);
    }

    fn steer(&mut self, session: &str) {
        let again = self.walk.random.chance(15) && !self.steers.is_empty();
        let (session, turn, body) = match again {
            true => self.walk.random.pick(&self.steers).clone(),
            false => {
                let Some(turn) = self.newest_turn(session) else { return };
                let id = format!("s{}", self.steers.len());
                let interrupt = json!({ "Interrupt": self.walk.random.chance(50) });
                let body = with(steer(&id, &format!("Steer-{id}. More.")), interrupt);
                (session.to_owned(), turn, body)
            }
        };
        let target = format!("/sessions/{session}/turns/{turn}/steer");
        let asked = Asked::Steer(session.clone(), body["SteerId"].as_str().unwrap().to_owned());
        self.send(asked, "POST", &target, &body.to_string());
        self.steers.push((session, turn, body));
    }

    fn fork(&mut self, session: &str) {
        self.forks += 1;
        let new = format!("{session}f{}", self.forks);
        let mut body = json!({ "SessionId": new });
        if self.walk.random.chance(30) {
            body["ConversationContextId"] = json!(*self.walk.random.pick(&["default", "other"]));
        }
        if self.walk.random.chance(30)
            && let Some(turn) = self.newest_turn(session)
        {
            body["AfterTurnId"] = json!(turn);
        }
        self.send(
            Asked::Other("fork"),
            "POST",
            &format!("/sessions/{session}/fork"),
            &body.to_string(),
        );
        if self.sessions.len() < 6 {
            self.sessions.push(new);
        }
    }

    fn newest_turn(&self, session: &str) -> Option<String> {
        let turn = self.requests.iter().rev().find(|request| request["SessionId"] == session);
        turn.map(|request| request["TurnId"].as_str().unwrap().to_owned())
    }

    fn of_newest_turn(&mut self, what: &'static str, session: &str, method: &str, path: &str) {
        let Some(turn) = self.newest_turn(session) else { return };
        self.send(
            Asked::Other(what),
            method,
            &format!("/sessions/{session}/turns/{turn}{path}"),
            "",
        );
    }

    fn send(&mut self, asked: Asked, method: &str, target: &str, body: &str) {
        self.walk.say(format_args!("{method} {target} {body:.300}"));
        let pending = self.walk.bed.ask(method, target, &[("Aptix-User", USER)], body);
        self.walk.wait_for(asked, pending);
    }

    /// The operator changes the catalog: to another good one, to one with bounds, or to one that is none.
    fn operate(&mut self) {
        let bed = self.walk.bed;
        self.walk.say(format_args!("another catalog"));
        match self.walk.random.below(25) {
            0 => bed.spoil_catalog(),
            1 => self.setting.bound(bed),
            _ => self.setting.put(bed, &mut self.walk.random),
        }
    }

    fn crash(&mut self, session: &str) {
        let world = &self.walk.bed.world;
        let name = format!("local/~{USER}/{session}");
        let object = world.session(&name);
        let soon = 1 + self.walk.random.below(12);
        let crash = match self.walk.random.below(3) {
            0 => None,
            1 => Some(Crash::AfterStep(object.disk.steps.get() + soon)),
            _ => Some(Crash::BeforeWrite(object.disk.writes.get() + soon)),
        };
        self.walk.say(format_args!("{name} is lost, and again {crash:?}"));
        object.restart_to_crash(world, crash);
        self.crashed = true;
        self.walk.note("a crash");
    }

    /// A service forgets, fails or answers strangely.
    fn disturb(&mut self) {
        let world = &self.walk.bed.world;
        let random = &mut self.walk.random;
        match random.below(6) {
            0 => world.model.forget(),
            1 => world.spare.forget(),
            2 => {
                let answers = [
                    ToolAnswer::Status(500),
                    ToolAnswer::Never,
                    ToolAnswer::After(5_000, Box::new(ToolAnswer::Json(json!("late")))),
                    ToolAnswer::Json(json!("x".repeat(5_000))),
                ];
                world.tools.script([random.pick(&answers).clone()]);
            }
            3 => world.webhooks.script([WebhookAnswer::Unreachable]),
            4 => {
                let reply = *random.pick(&[CancelReply::Unreachable, CancelReply::Status(500)]);
                world.model.background.script_cancels([reply]);
            }
            _ => {
                let again = match random.below(8) {
                    0 => ReadAgain::Breaks(random.below(5) as usize),
                    1 => ReadAgain::Repeats(random.below(5)),
                    2 => ReadAgain::LeavesOut(1 + random.below(3)),
                    3 => ReadAgain::OfAnother,
                    4 => {
                        let statuses = &["queued", "in_progress", "completed", "new"];
                        let status: &&str = random.pick(statuses);
                        ReadAgain::Stands(status)
                    }
                    5 => ReadAgain::Reply(Reply::Unreachable),
                    6 => ReadAgain::Silent(random.below(5) as usize),
                    _ => ReadAgain::Reply(http_error(
                        *random.clone().pick(&[400, 401, 404, 503]),
                        json!({}),
                        &[],
                    )),
                };
                world.model.background.script([again]);
            }
        }
    }
}
