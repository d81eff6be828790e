//! A session runs again: admission, the loop, storage and outcomes are the product's own, the services play the
//! record ([`Services`]).
//!
//! An export holds no requests of user turns, only what was composed from them. So a turn begins with a request in
//! few words, its instance ends with the step that stores it, the recorded messages, tools and warnings take the
//! place of what was stored, and another instance goes on, as after a deploy. Tool continuations and cancels are
//! the client's own requests.
//!
//! A lost instance leaves no record, so it is lost here, too, where the session makes another call than the recorded
//! one, once. That finds every loss but those within a compaction, and of a turn that was lost twice in a row. These
//! are reported as differences, and so is what an operator changed in the meantime (modes, budgets), a retrieval
//! that failed its turn, and which part of a body of the model service was unreadable.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use aptix_edge::encoding::sha256_hex;
use aptix_edge::persistence::EntryKind;
use aptix_edge::ports::FileFault;
use bed::{Bed, Crash};
use serde_json::{Map, Value, json};

use super::bundle::{Bundle, BundledEntry, BundledTurn, ModelCall, ToolCall};
use super::catalog::document;
use super::forked;
use super::player::Services;

/// The longest text that is put into a row, in bytes.
const INLINE_BYTES: usize = 450_000;

/// Runs a session again. Returns what was not as it is recorded, or why it cannot run again.
pub fn rerun(export: &str) -> Result<Vec<String>, String> {
    let bundle = Rc::new(Bundle::read(export)?);
    let mut calls = bundle.turns.iter().flat_map(|turn| &turn.model_calls);
    if calls.any(|call| call.template.is_none()) {
        return Err("a model call was stored by an older version".to_owned());
    }
    if bundle.catalog.is_none() {
        return Err("the export tells of no catalog".to_owned());
    }
    if let Some(turn) = bundle.turns.iter().find(|turn| turn.status == "running") {
        return Err(format!("turn {} was still running", turn.turn_id));
    }
    if let Some(turn) = bundle.turns.iter().find(|turn| !turn.steers.is_empty()) {
        return Err(format!(
            "turn {} was steered, and the record does not say at which event",
            turn.turn_id
        ));
    }
    if let Some(turn) = bundle.turns.iter().find(|turn| turn.context_changed.is_some()) {
        return Err(format!(
            "with turn {} the session went on under another context",
            turn.turn_id
        ));
    }
    let services = Services::of(Rc::clone(&bundle));
    let bed = Bed::new();
    // The record says where each call began.
    bed.deploy("FALLBACK_REST_MS", "0");
    bed.world.session.replace(bundle.session_id.clone());
    let player = Rc::clone(&services);
    bed.world.player.replace(Some(Rc::new(move |request| player.reply(request))));
    let rerun = Rerun { bed, bundle, services, latest: RefCell::default() };
    rerun.run();
    rerun.compare();
    Ok(rerun.services.findings())
}

struct Rerun {
    bed: Bed,
    bundle: Rc<Bundle>,
    services: Rc<Services>,
    /// The latest request of turns that sent more than one.
    latest: RefCell<BTreeMap<String, Value>>,
}

impl Rerun {
    /// Takes the client's acts in the order of the recorded model calls.
    fn run(&self) {
        let mut begun = 0;
        while let Some(next) = self.services.next_turn() {
            let left = self.services.left();
            let turn = &self.bundle.turns[next];
            self.services.drive(next);
            self.configure();
            if next >= begun {
                self.end_waiting(begun);
                self.begin(begun);
                begun += 1;
                if begun <= next {
                    continue;
                }
            } else if self.status(turn) == "awaiting_tools" {
                self.send_results(turn);
            } else {
                forked::leave_gap(&self.bed, &self.bundle, next);
                let latest = self.latest.borrow().get(&turn.turn_id).cloned();
                self.send(latest.unwrap_or_else(|| self.request(turn)), turn);
            }
            if self.services.left() == left {
                let (id, status) = (&turn.turn_id, self.status(turn));
                self.services.find(format!("turn {id} made no further model call; it is {status}"));
                return;
            }
        }
        self.configure();
        while begun < self.bundle.turns.len() {
            self.end_waiting(begun);
            self.begin(begun);
            begun += 1;
        }
        self.end_waiting(begun);
    }

    /// The catalog may have been changed between two turns, so it is that of the calls that come next.
    fn configure(&self) {
        let Some(catalog) = &self.bundle.catalog else { return };
        let coming = self.services.coming();
        let coming = coming.iter().map(|(turn, call)| &self.bundle.turns[*turn].model_calls[*call]);
        let next = self.services.next_turn().map(|next| &self.bundle.turns[next]);
        let resends_tools = next.map_or(catalog.resend_tools, resends_tools);
        self.bed.keep_catalog(document(&self.bundle, catalog, resends_tools, coming));
        let next = self.services.coming().into_iter().next();
        let next = next.map(|(turn, call)| &self.bundle.turns[turn].model_calls[call].started_at);
        if let Some(at) = next.and_then(|at| milliseconds(at)) {
            // How old a chain was when it was lost decides what comes of it.
            let executor = &self.bed.world.executor;
            executor.set_now_ms(at.max(executor.now_ms()));
        }
    }

    /// Cancels the turns before `begun` that wait for their client and were cancelled.
    fn end_waiting(&self, begun: usize) {
        for turn in self.bundle.turns.iter().take(begun) {
            if self.status(turn) == "awaiting_tools" && turn.status == "aborted" {
                self.cancel(turn);
            }
        }
    }

    fn begin(&self, place: usize) {
        let turn = &self.bundle.turns[place];
        self.services.drive(place);
        forked::fork_before(&self.bed, &self.bundle, &self.services, place);
        forked::leave_gap(&self.bed, &self.bundle, place);
        let step = self.bed.disk.steps.get() + 1;
        self.bed.restart_to_crash(Some(Crash::AfterStep(step)));
        if let Some(heard) = self.bed.try_post(&self.request(turn)) {
            self.services.find(format!("turn {} was refused: {}", turn.turn_id, heard.text));
            return;
        }
        self.restore(place as u64 + 1, turn);
        self.resume(turn);
        self.drive(turn);
    }

    /// Has another instance go on with a turn. This one may be lost, too.
    fn resume(&self, turn: &BundledTurn) {
        let id = quoted(&turn.turn_id);
        self.bed.disk.write(&format!("UPDATE turns SET attempts = 0 WHERE turn_id = {id}"));
        self.bed.restart();
        self.bed.alarm();
        self.watch(turn);
    }

    /// Watches a turn once it runs, so that text of a call that fails is heard: such a call is not made again.
    fn watch(&self, turn: &BundledTurn) {
        while self.status(turn) != "running" && self.bed.step() {}
        let target = format!("/sessions/{}/turns/{}/stream", self.bundle.session_id, turn.turn_id);
        drop(self.bed.ask("GET", &target, &[], ""));
    }

    /// A request in the place of the one that began the turn.
    fn request(&self, turn: &BundledTurn) -> Value {
        json!({ "SessionId": self.bundle.session_id, "TurnId": turn.turn_id, "Instruction": ".",
            "ConversationContextId": self.bundle.conversation_context_id })
    }

    /// Puts what was composed from the real request into the place of what was composed from the other.
    fn restore(&self, ordinal: u64, turn: &BundledTurn) {
        let disk = &self.bed.disk;
        for kind in [EntryKind::System, EntryKind::User] {
            let stored = disk.read(&format!(
                "SELECT seq FROM conversation WHERE turn = {ordinal} AND kind = '{}'",
                kind.as_str()
            ));
            let recorded = turn.conversation.iter().find(|entry| entry.kind == kind);
            let place = stored.first().and_then(|row| row["seq"].as_u64());
            match (place, recorded) {
                (Some(place), Some(entry)) => self.restore_entry(place, entry),
                (None, None) => {}
                (place, _) => self.services.find(format!(
                    "turn {}: the {} message is {}",
                    turn.turn_id,
                    kind.as_str(),
                    if place.is_some() { "new" } else { "missing" }
                )),
            }
        }
        let tools: Vec<Value> = turn
            .tools
            .iter()
            .map(|tool| {
                json!({ "name": tool.name, "on_server": tool.on_server, "hosted": tool.hosted,
                    "approval": tool.approval, "parallel": tool.parallel, "definition": null })
            })
            .collect();
        // The definitions stay as they are written.
        let tools: Vec<String> = tools
            .iter()
            .zip(&turn.tools)
            .map(|(members, tool)| {
                members.to_string().replacen(
                    "\"definition\":null",
                    &format!("\"definition\":{}", tool.definition.get()),
                    1,
                )
            })
            .collect();
        let tools = self.keep(None, &format!("[{}]", tools.join(",")));
        let row = disk.read(&format!("SELECT progress FROM turns WHERE ordinal = {ordinal}"));
        let progress = row[0]["progress"].as_str().unwrap_or_default();
        let mut progress: Map<String, Value> = serde_json::from_str(progress).unwrap_or_default();
        let choice = turn.model_calls.iter().find(|call| !call.summary);
        progress
            .insert("tool_choice".into(), choice.and_then(|call| call.tool_choice.clone()).into());
        if let (Some(schema), Some(name)) = (&turn.output_schema, &turn.output_schema_name) {
            let schema = self.keep(None, schema.get());
            progress.insert("output_schema".into(), json!({ "name": name, "schema": schema }));
        }
        let brought = turn.user_warnings.iter().filter(|said| !of_the_run(said)).cloned();
        progress.insert("user_warnings".into(), brought.collect());
        let of_the_run = |warning: &Value| {
            ["several_mode_changes", "fallback_used"]
                .iter()
                .any(|code| warning["ErrorCode"] == *code)
        };
        let brought = turn.warnings.iter().filter(|warning| !of_the_run(warning));
        progress.insert("warnings".into(), brought.cloned().collect());
        let progress = quoted(&Value::Object(progress).to_string());
        disk.write(&format!(
            "UPDATE turns SET tools = '{tools}', progress = {progress} WHERE ordinal = {ordinal}"
        ));
        if let Some(context) = solution_context(turn) {
            let hash = self.keep(None, &context);
            disk.write(&format!("UPDATE session SET solution_context = '{hash}'"));
        }
    }

    fn restore_entry(&self, place: u64, entry: &BundledEntry) {
        if place != entry.sequence.0 {
            let recorded = entry.sequence.0;
            self.services.find(format!("entry {recorded} of the conversation is entry {place}"));
        }
        let items = match entry.items.get() {
            long if long.len() > INLINE_BYTES => {
                format!("@{}", self.keep(Some(format!("entry {place}")), long))
            }
            items => items.to_owned(),
        };
        let items = quoted(&items);
        self.bed
            .disk
            .write(&format!("UPDATE conversation SET items = {items} WHERE seq = {place}"));
    }

    /// Keeps a text under a name, or else under its hash, which it returns.
    fn keep(&self, name: Option<String>, text: &str) -> String {
        let name = name.unwrap_or_else(|| sha256_hex(text.as_bytes()));
        let mut rest = text;
        for part in 0.. {
            let (text, more) = rest.split_at(rest.floor_char_boundary(INLINE_BYTES));
            let text = quoted(text);
            self.bed.disk.write(&format!(
                "INSERT OR REPLACE INTO texts (hash, part, text) VALUES ('{name}', {part}, {text})"
            ));
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
        name
    }

    fn send_results(&self, turn: &BundledTurn) {
        let open = self.bed.disk.read(&format!(
            "SELECT tool_call_id FROM calls JOIN turns ON ordinal = turn
             WHERE turn_id = {} AND (runs_on = 'client' OR approval IS NOT NULL) AND result IS NULL",
            quoted(&turn.turn_id)
        ));
        let open: BTreeSet<&str> =
            open.iter().filter_map(|row| row["tool_call_id"].as_str()).collect();
        let calls = turn.tool_calls.iter().filter(|call| open.contains(call.tool_call_id.as_str()));
        let results: Vec<Value> = calls.filter_map(sent_for).collect();
        let request = json!({ "SessionId": self.bundle.session_id, "TurnId": turn.turn_id,
            "ToolResults": results });
        self.send(request, turn);
    }

    fn send(&self, request: Value, turn: &BundledTurn) {
        drop(self.bed.send(&request));
        self.latest.borrow_mut().insert(turn.turn_id.clone(), request);
        self.watch(turn);
        self.drive(turn);
    }

    /// Has the bucket keep files, or fail as it did when the turn was run.
    fn provide_bucket(&self, turn: &BundledTurn) {
        let said = |words: &str| turn.user_warnings.iter().any(|said| said.contains(words));
        let outcomes = turn.submissions.iter().filter_map(|submission| submission.outcome.as_ref());
        let mut texts = outcomes.map(|outcome| outcome.get());
        let shows_no_link = texts.any(|text| text.contains(r#"\"File\":{\"MimeType\""#));
        self.bed.world.file_fault.set(match () {
            () if shows_no_link => Some(FileFault::NoBucket),
            () if said("a picture, and this deployment has no place") => Some(FileFault::NoBucket),
            () if said("a picture that could not be kept") => Some(FileFault::Failed),
            () => None,
        });
    }

    /// Runs the world until the turn has ended or waits for its client, or until it waits for a service that the
    /// record says nothing of: then it was cancelled, or its time was up.
    fn drive(&self, turn: &BundledTurn) {
        self.provide_bucket(turn);
        while self.status(turn) == "running" {
            if self.services.instance_was_lost() {
                let next = self.services.next_turn().map(|next| &self.bundle.turns[next].turn_id);
                if turn.status == "aborted" && next != Some(&turn.turn_id) {
                    self.bed.restart();
                    self.cancel(turn);
                } else {
                    self.resume(turn);
                }
            } else if self.services.waits() && turn.status == "aborted" {
                self.bed.run_at_once();
                self.cancel(turn);
            } else if !self.bed.step() {
                return;
            }
        }
        self.bed.run_at_once();
    }

    fn cancel(&self, turn: &BundledTurn) {
        let target = format!("/sessions/{}/turns/{}/cancel", self.bundle.session_id, turn.turn_id);
        let heard = self.bed.asked("POST", &target, "");
        if heard.status != 200 {
            self.services.find(format!("turn {} is not cancelled: {}", turn.turn_id, heard.text));
        }
    }

    /// The status of a turn; empty before it begins.
    fn status(&self, turn: &BundledTurn) -> String {
        let id = quoted(&turn.turn_id);
        let rows = self.bed.disk.read(&format!("SELECT status FROM turns WHERE turn_id = {id}"));
        let status = rows.first().and_then(|row| row["status"].as_str());
        status.unwrap_or_default().to_owned()
    }

    /// Compares the session with the recorded one: outcomes, conversation and results byte for byte; no times.
    fn compare(&self) {
        let target = format!("/sessions/{}/export", self.bundle.session_id);
        let export = self.bed.asked("GET", &target, "").text;
        let again = match Bundle::read(&export) {
            Ok(again) => again,
            Err(fault) => {
                return self.services.find(format!("the session that ran again: {fault}"));
            }
        };
        let differs = |place: String, recorded: String, now: String| {
            if recorded != now {
                self.services.find(format!("{place} is {now} instead of {recorded}"));
            }
        };
        let modes = |bundle: &Bundle| {
            let mut history = bundle.mode_history.clone();
            history.iter_mut().for_each(|change| change["Timestamp"] = Value::Null);
            Value::Array(history).to_string()
        };
        differs("the history of modes".to_owned(), modes(&self.bundle), modes(&again));
        for (recorded, now) in self.bundle.turns.iter().zip(&again.turns) {
            let (was, is) = (told(recorded), told(now));
            for (place, (was, is)) in was.iter().zip(&is).enumerate() {
                let what = was.0.max(is.0);
                let place = format!("turn {}: {what} ({place})", recorded.turn_id);
                differs(place, was.1.clone(), is.1.clone());
            }
            let number = format!("turn {}: the number of what it tells", recorded.turn_id);
            differs(number, was.len().to_string(), is.len().to_string());
        }
        let number = "the number of turns".to_owned();
        differs(number, self.bundle.turns.len().to_string(), again.turns.len().to_string());
    }
}

/// What a turn's part of an export tells, as far as it is the same when the turn runs again.
fn told(turn: &BundledTurn) -> Vec<(&'static str, String)> {
    let mut told = vec![("its status", turn.status.clone())];
    for submission in &turn.submissions {
        let outcome = submission.outcome.as_ref().map_or("none", |outcome| outcome.get());
        let outcome = without_links(outcome);
        told.push(("an outcome", format!("{:?} {outcome}", submission.http_status)));
    }
    for entry in &turn.conversation {
        let (seq, kind) = (entry.sequence.0, entry.kind.as_str());
        let items = entry.items.get();
        told.push((
            "an entry of its conversation",
            format!("{seq} {kind} {} {items}", entry.standing),
        ));
    }
    for call in &turn.model_calls {
        let fault = call.fault.as_ref().map(ToString::to_string);
        let made = json!([
            call.number,
            call.summary,
            call.input,
            call.tools_sent,
            call.tool_choice,
            call.previous_response_id,
            call.response_id,
            call.usage,
            fault
        ]);
        told.push(("a model call", made.to_string()));
    }
    for call in &turn.tool_calls {
        let (name, arguments) = (&call.name, &call.arguments_json);
        let made =
            json!([call.model_call, call.tool_call_id, name, arguments, call.runs_on, call.answer]);
        told.push(("a tool call", made.to_string()));
    }
    told
}

/// Whether each call of a turn sent the tools, also one that continued a response.
fn resends_tools(turn: &BundledTurn) -> bool {
    let left_out =
        |call: &ModelCall| !call.summary && !call.tools_sent && call.previous_response_id.is_some();
    !turn.model_calls.iter().any(left_out)
}

/// What the client sent for a call: its own result, or a human's decision.
fn sent_for(call: &ToolCall) -> Option<Value> {
    let Some(approval) = &call.approval else { return call.answer.clone() };
    let mut sent = json!({ "ToolCallId": format!("apr_{}", call.tool_call_id), "ExecutionMs": 0 });
    if approval["Decision"] == "approved" {
        let edited = approval["ArgumentsJson"].as_str();
        let edited = edited.map_or(String::new(), |json| format!(",\"Arguments\":{json}"));
        sent["ResultJson"] = format!("{{\"Approved\":true{edited}}}").into();
    } else {
        let told = call.answer.as_ref()?["ErrorMessage"].as_str()?;
        let reason = told.split_once(" Reason: ").map_or("", |(_, reason)| reason);
        let reason = reason.strip_suffix(". Do not repeat it.").unwrap_or_default();
        sent["ResultJson"] = json!({ "Approved": false, "Reason": reason }).to_string().into();
    }
    Some(sent)
}

/// The solution context that the turn's message shows.
fn solution_context(turn: &BundledTurn) -> Option<String> {
    let message = turn.conversation.iter().find(|entry| entry.kind == EntryKind::User)?;
    let items: Value = serde_json::from_str(message.items.get()).ok()?;
    let parts = items[0]["content"].as_array()?;
    let shown = parts.iter().filter_map(|part| part["text"].as_str());
    let mut shown = shown.filter_map(|text| text.strip_prefix("[SOLUTION CONTEXT]\n"));
    shown.next().map(str::to_owned)
}

/// Whether a user warning comes from the run of a turn, which gives it again.
fn of_the_run(warning: &str) -> bool {
    const BEGINNINGS: [&str; 4] = [
        "The answer is incomplete: ",
        "The model declined ",
        "The model ended its answer ",
        "The model made a picture ",
    ];
    let made_a_picture = warning.starts_with("The model made a picture,");
    made_a_picture || BEGINNINGS.iter().any(|begin| warning.starts_with(begin))
}

/// An outcome without the links to files that the deployment has signed, and their time.
fn without_links(outcome: &str) -> String {
    let mut rest = outcome;
    let mut text = String::new();
    let next = |rest: &str| {
        // The result of a tool holds JSON as a text.
        let begins =
            [r#""Url":""#, r#"\"Url\":\""#, r#""ContentExpires":""#, r#"\"ContentExpires\":\""#]
                .map(|name| rest.find(name).map(|at| at + name.len()));
        begins.into_iter().flatten().min()
    };
    while let Some(begin) = next(rest) {
        let end = rest[begin..].find('"').map_or(rest.len(), |end| begin + end);
        text.push_str(&rest[..begin]);
        let expires = [r#"Expires":""#, r#"Expires\":\""#];
        let is_time = expires.iter().any(|name| rest[..begin].ends_with(name));
        if !rest[begin..end].contains("/files/") && !is_time {
            text.push_str(&rest[begin..end]);
        }
        rest = &rest[end..];
    }
    text + rest
}

/// Milliseconds since the epoch of a time as exports have it, `2026-01-02T03:04:05.678Z`.
fn milliseconds(timestamp: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| timestamp.get(range)?.parse::<u64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    // Years that begin in March end with the day that leap years have.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let seconds = (days.checked_sub(719_468)? * 24 + number(11..13)?) * 60 + number(14..16)?;
    Some((seconds * 60 + number(17..19)?) * 1000 + number(20..23)?)
}

/// A text of a statement.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
