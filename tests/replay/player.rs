//! The services of a session that runs again: the model service gives the recorded outputs, a tool its recorded
//! result. Each request is compared with the one that was sent.
//!
//! A recorded failure comes from the transcript's fault, which tells of its kind and not of the service's words;
//! so the words are others, and their effect is the same.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use aptix_edge::contract::{ErrorCode, Fault};
use aptix_edge::persistence::EntryKind;
use aptix_edge::ports::{HttpFault, HttpRequest};
use aptix_edge::reasoner::SentForm;
use bed::{HttpReply, Piece};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bundle::{Bundle, BundledEntry, BundledTurn, ModelCall, Retry, ToolCall};
use super::catalog::fallback_host;
use super::events::{event, usage};
use super::fallback::{moved_on, out_of_quota};
use super::rebuild::rebuild;

/// `None` leaves the caller waiting.
type Played = Option<Result<HttpReply, HttpFault>>;

/// All services of a session.
pub struct Services {
    bundle: Rc<Bundle>,
    /// Turn and model call of the calls that are still to come.
    calls: RefCell<VecDeque<(usize, usize)>>,
    /// The attempts at the next one that have failed.
    failed: Cell<usize>,
    /// What was not as it is recorded.
    findings: RefCell<Vec<String>>,
    /// A request was left without a reply.
    waits: Cell<bool>,
    /// The turn that runs.
    driven: Cell<usize>,
    /// A call was made that is not the next one of the record: perhaps the instance was lost before it.
    instance_lost: Cell<bool>,
    /// Where that was last thought.
    doubted: Cell<Option<(usize, usize)>>,
}

impl Services {
    pub fn of(bundle: Rc<Bundle>) -> Rc<Self> {
        let mut calls: Vec<(usize, usize)> = Vec::new();
        for (place, turn) in bundle.turns.iter().enumerate() {
            calls.extend((0..turn.model_calls.len()).map(|call| (place, call)));
        }
        calls.sort_by_key(|(turn, call)| bundle.turns[*turn].model_calls[*call].number);
        Rc::new(Self {
            bundle,
            calls: RefCell::new(calls.into()),
            failed: Cell::new(0),
            findings: RefCell::default(),
            waits: Cell::new(false),
            driven: Cell::new(0),
            instance_lost: Cell::new(false),
            doubted: Cell::new(None),
        })
    }

    /// The turn that makes the next recorded call.
    pub fn next_turn(&self) -> Option<usize> {
        self.calls.borrow().front().map(|(turn, _)| *turn)
    }

    /// Turn and model call of the recorded calls that were not made yet.
    pub fn coming(&self) -> Vec<(usize, usize)> {
        self.calls.borrow().iter().copied().collect()
    }

    /// The number of recorded calls that were not made yet.
    pub fn left(&self) -> usize {
        self.calls.borrow().len()
    }

    /// Says which turn runs from here on.
    pub fn drive(&self, turn: usize) {
        self.driven.set(turn);
        self.waits.set(false);
    }

    /// Whether the instance was lost, since the last time, before a call that the record then has.
    pub fn instance_was_lost(&self) -> bool {
        self.instance_lost.take()
    }

    /// Whether a request was left without a reply since the last time.
    pub fn waits(&self) -> bool {
        self.waits.take()
    }

    pub fn find(&self, finding: String) {
        self.findings.borrow_mut().push(finding);
    }

    pub fn findings(&self) -> Vec<String> {
        self.findings.borrow().clone()
    }

    /// The reply to a request.
    pub fn reply(&self, request: &HttpRequest) -> Played {
        let path = request.url.split('?').next().unwrap_or_default();
        let played = match path {
            // No record tells of it.
            _ if path.contains("/responses/") && path.ends_with("/cancel") => {
                Some(Ok(HttpReply::new(200, "{}")))
            }
            _ if path.ends_with("/responses") => self.model(&request.url, &request.body),
            _ => self.tool(&request.body),
        };
        if played.is_none() {
            self.waits.set(true);
        }
        played
    }

    /// The agent context whose service a request goes to, where others can take over from the first.
    fn asked(&self, url: &str) -> Option<&str> {
        let fallbacks = &self.bundle.catalog.as_ref()?.fallbacks;
        let is_of = |place: &usize| url.contains(&fallback_host(*place));
        match (0..fallbacks.len()).find(is_of) {
            Some(place) => fallbacks[place]["AgentContextId"].as_str(),
            None => Some(self.bundle.agent_context_id.as_str()).filter(|_| !fallbacks.is_empty()),
        }
    }

    fn model(&self, url: &str, body: &str) -> Played {
        let driven = &self.bundle.turns[self.driven.get()];
        let next = self.calls.borrow().front().copied();
        let next = next.filter(|(turn, _)| *turn == self.driven.get());
        let call = next.map(|(_, call)| &driven.model_calls[call]);
        let attempt = call.and_then(|call| call.retries.get(self.failed.get()));
        let service = attempt.map_or(call.and_then(|call| call.service.as_deref()), |attempt| {
            attempt.service.as_deref()
        });
        if call.is_some() && service != self.asked(url) {
            // It rested when the session was recorded.
            return Some(Ok(out_of_quota(None)));
        }
        // Of the bodies that other services got nothing is recorded.
        let is_recorded = call.is_some_and(|call| call.service.as_deref() == service);
        let how = match call.map(|call| rebuild(&self.bundle, driven, call)) {
            Some(_) if !is_recorded => None,
            None if driven.status == "aborted" => {
                self.instance_lost.set(true);
                return None;
            }
            None => Some("none is recorded".to_owned()),
            Some(Ok(sent)) => difference(&sent, body),
            // Nothing to compare it with.
            Some(Err(_)) => None,
        };
        if let Some(how) = how {
            let doubted = Some((self.driven.get(), self.left()));
            if self.doubted.replace(doubted) != doubted {
                self.instance_lost.set(true);
                return None;
            }
            self.find(format!("turn {}: another body was sent: {how}", driven.turn_id));
        }
        let (Some((_, call_place)), Some(call)) = (next, call) else {
            return Some(Err(HttpFault::Lost("the record has no such call".to_owned())));
        };
        let turn = driven;
        if let Some(retry) = call.retries.get(self.failed.get()) {
            self.failed.set(self.failed.get() + 1);
            let next = call.retries.get(self.failed.get());
            let next = next.map_or(&call.service, |next| &next.service);
            if retry.service == *next {
                return Some(failed_attempt(retry));
            }
            // The first service's failure is told where all have failed.
            let told = call.fault.as_ref().filter(|_| retry.service == call.retries[0].service);
            return match told {
                Some(fault) => self.failure(turn, call_place, fault),
                None => Some(Ok(out_of_quota(Some(retry)))),
            };
        }
        self.failed.set(0);
        self.calls.borrow_mut().pop_front();
        match &call.fault {
            Some(fault) if moved_on(fault) => Some(Ok(out_of_quota(None))),
            Some(fault) => self.failure(turn, call_place, fault),
            None if call.summary => {
                let text = summary(&self.bundle, turn, call_place);
                let message = json!({ "type": "message", "id": "m", "status": "completed", "role": "assistant",
                    "content": [{ "type": "output_text", "annotations": [], "text": text }] });
                Some(Ok(response(call, &json!([message]).to_string(), None)))
            }
            None => Some(Ok(self.output(turn, call_place))),
        }
    }

    /// The recorded output of a call that gave one.
    fn output(&self, turn: &BundledTurn, place: usize) -> HttpReply {
        let gave_output = |call: &&ModelCall| call.fault.is_none() && !call.summary;
        let before = turn.model_calls[..place].iter().filter(gave_output).count();
        let last = turn.model_calls.iter().filter(gave_output).count() == before + 1;
        let mut outputs = turn.conversation.iter().filter(|e| e.kind == EntryKind::ModelOutput);
        let Some(output) = outputs.nth(before) else {
            self.find(format!("turn {}: the output of a model call is missing", turn.turn_id));
            return HttpReply::new(200, "{}");
        };
        let cut = turn
            .user_warnings
            .iter()
            .find_map(|said| said.strip_prefix("The answer is incomplete: "));
        let reason = cut.filter(|_| last).map(|how| match how {
            "it reached its length limit." => "max_output_tokens",
            "a content filter stopped it." => "content_filter",
            _ => "other",
        });
        response(&turn.model_calls[place], output.items.get(), reason)
    }

    fn failure(&self, turn: &BundledTurn, place: usize, fault: &Fault) -> Played {
        let call = &turn.model_calls[place];
        let detail = |name: &str| fault.details.as_ref().and_then(|details| details.get(name));
        let text = |name: &str| detail(name).and_then(Value::as_str);
        let (code, kind) = (text("Code"), text("Type"));
        let too_long = fault.code == ErrorCode::ContextWindowExceeded;
        let followed = turn.model_calls.get(place + 1);
        let no_storage = call.unchained.is_none()
            && followed.is_some_and(|next| next.unchained.as_deref() == Some("store_refused"));
        let newly = |form: SentForm| !too_long && sends_more(form, call, followed);
        let reasoning = newly(SentForm::WithoutReasoning) || newly(SentForm::WholeWithoutReasoning);
        let tool = text("Tool");
        let schema = fault.path.as_deref() == Some("/OutputSchema");
        // The last call of a ladder climbs, too: it finds no further rung.
        let climbs = followed.map_or(call.reduced.is_some(), |next| {
            next.reduced.is_some() && (next.reduced, &next.input) != (call.reduced, &call.input)
        });
        let blames_input =
            followed.map_or_else(|| self.withheld(call), |next| !next.withheld.is_empty());
        let lost = call.previous_response_id.as_ref();
        let lost = lost.filter(|_| followed.is_some_and(|next| next.rebuilt));
        let is_limited = detail("HttpStatus").and_then(Value::as_u64) == Some(429);
        let is_final = is_limited && fault.code == ErrorCode::UpstreamRejected;
        let message = match lost {
            _ if too_long => "Your input exceeds the context window of this model.".to_owned(),
            _ if no_storage => "'store' must be false".to_owned(),
            _ if reasoning => {
                "Item 'rs_1' of type 'reasoning' was provided without its required following item."
                    .to_owned()
            }
            _ if schema => "'text.format' is no schema.".to_owned(),
            _ if tool.is_some() => {
                format!("Invalid schema for function '{}'.", tool.unwrap_or_default())
            }
            // It is no remedy's: the words say nothing, or blame no input.
            _ if climbs && !blames_input => "no parameter".to_owned(),
            Some(id) => format!("Previous response with id '{id}' not found."),
            // The message alone may have said that no repetition helps.
            None if is_final => "no: insufficient_quota".to_owned(),
            None => "no".to_owned(),
        };
        if let Some(status) = detail("HttpStatus").and_then(Value::as_u64) {
            let param = match () {
                () if too_long || schema || tool.is_some() => None,
                () if no_storage => Some("store"),
                () if reasoning || newly(SentForm::WithoutSolutionContext) => Some("input"),
                () if lost.is_some() => Some("previous_response_id"),
                () if climbs && !blames_input => None,
                () if climbs || blames_input || self.withheld(call) => Some("input"),
                () => Some("model"),
            };
            let error = json!({ "message": message, "type": kind, "code": code, "param": param });
            let reply = HttpReply::new(status as u16, &json!({ "error": error }).to_string());
            let asked = detail("RetryAfterMs").map(Value::to_string);
            let reply = asked.iter().fold(reply, |reply, ms| reply.with("retry-after-ms", ms));
            return Some(Ok(named(reply, text("RequestId"))));
        }
        let broken = |pieces: Vec<Piece>| {
            let reply = HttpReply::in_pieces(200, pieces).with("content-type", "text/event-stream");
            Some(Ok(named(reply, text("RequestId"))))
        };
        let reason = text("Reason").or(too_long.then_some("max_prompt_tokens"));
        match fault.code {
            ErrorCode::UpstreamUnavailable => Some(Err(HttpFault::Lost("refused".to_owned()))),
            ErrorCode::UpstreamFailed
            | ErrorCode::UpstreamRejected
            | ErrorCode::ContextWindowExceeded
                if text("Reason").is_none() =>
            {
                let error = json!({ "code": code, "type": kind, "message": message });
                let failed = json!({ "id": call.response_id, "status": "failed", "error": error,
                    "usage": call.usage.map(usage) });
                let failed = json!({ "type": "response.failed", "response": failed });
                broken(vec![begun(call), said("…"), heard(), event(&failed)])
            }
            ErrorCode::UpstreamIncomplete | ErrorCode::ContextWindowExceeded => {
                Some(Ok(named(response(call, "[]", reason.or(Some("other"))), text("RequestId"))))
            }
            ErrorCode::UpstreamProtocol if fault.message.contains("broke in the middle") => {
                broken(vec![begun(call), said("…"), heard(), Piece::Broken])
            }
            ErrorCode::UpstreamProtocol if fault.message.contains("ended before") => {
                broken(vec![begun(call), said("…"), heard()])
            }
            ErrorCode::UpstreamProtocol => broken(vec![Piece::text("data: [}\n\n")]),
            // It was cancelled, or nothing came in time.
            _ => {
                self.waits.set(true);
                let told = turn.text_so_far.as_deref().map(said);
                let begun = call.response_id.is_some().then(|| begun(call));
                let silence = [begun, told, Some(Piece::EndlessSilence)];
                broken(silence.into_iter().flatten().collect())
            }
        }
    }

    /// Whether the service refused something of what a call sent, for which that call is to blame: no later one sends it.
    fn withheld(&self, call: &ModelCall) -> bool {
        let sends = |call: &ModelCall, entry: &BundledEntry| {
            let runs = call.input.iter();
            let mut of_it =
                runs.filter(|run| run.first <= entry.sequence && entry.sequence <= run.last);
            of_it.any(|run| {
                let form = run.form_of(entry.kind);
                form != SentForm::Replacements && form != SentForm::PlainReplacements
            })
        };
        let turns = &self.bundle.turns;
        let calls = turns.iter().flat_map(|turn| &turn.model_calls);
        let later: Vec<&ModelCall> = calls.filter(|later| later.number > call.number).collect();
        let mut entries = turns.iter().flat_map(|turn| &turn.conversation);
        entries.any(|entry| {
            entry.standing != "kept"
                && sends(call, entry)
                && !later.iter().any(|later| sends(later, entry))
        })
    }

    fn tool(&self, body: &str) -> Played {
        let asked: AskedTool = serde_json::from_str(body).unwrap_or_default();
        let turn = self.bundle.turns.iter().find(|turn| asked.turn_id == turn.turn_id);
        let call = turn.and_then(|turn| {
            turn.tool_calls.iter().find(|call| asked.tool_call_id == call.tool_call_id)
        });
        let Some((turn, call)) = turn.zip(call) else {
            self.find(format!("the tool call {} is not recorded", asked.tool_call_id));
            return Some(Err(HttpFault::Lost("the record has no such call".to_owned())));
        };
        let (got, recorded) = (asked.arguments.get(), arguments_of(call));
        if (&asked.name, got) != (&call.name, recorded) {
            let (turn, id) = (&turn.turn_id, &call.tool_call_id);
            let recorded = format!("{} {recorded}", call.name);
            self.find(format!(
                "turn {turn}: the call {id} was {} {got} instead of {recorded}",
                asked.name
            ));
        }
        let answer = call.answer.as_ref();
        if let Some(result) = answer.and_then(|answer| answer["ResultJson"].as_str()) {
            let took = answer.and_then(|answer| answer["ExecutionMs"].as_u64()).unwrap_or_default();
            return Some(Ok(HttpReply::new(200, result).after(took)));
        }
        let told = answer.and_then(|answer| answer["ErrorMessage"].as_str());
        let outcomes = turn.submissions.iter().filter_map(|submission| submission.outcome.as_ref());
        let failures = told.into_iter().chain(outcomes.map(|outcome| outcome.get()));
        failures.into_iter().find_map(failed_tool)
    }
}

/// What a tool gets.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AskedTool {
    turn_id: String,
    tool_call_id: String,
    name: String,
    arguments: Box<RawValue>,
}

/// The arguments that a call's tool gets: a human's, or else the model's, who may have written none.
fn arguments_of(call: &ToolCall) -> &str {
    let edited = call.approval.as_ref().and_then(|approval| approval["ArgumentsJson"].as_str());
    match edited.unwrap_or(&call.arguments_json).trim() {
        "" => "{}",
        arguments => arguments,
    }
}

/// The reply of a tool that failed in these words.
fn failed_tool(words: &str) -> Option<Result<HttpReply, HttpFault>> {
    if let Some((_, rest)) = words.split_once("it answered with status ") {
        let status = rest.get(..3)?.parse().ok()?;
        return Some(Ok(HttpReply::new(status, "")));
    }
    if words.contains("its answer is not JSON") {
        return Some(Ok(HttpReply::new(200, "no JSON")));
    }
    words.contains("it could not be reached").then(|| Err(HttpFault::Lost("refused".to_owned())))
}

/// The summary that a call gave, as far as anything was made of it: the next call continues it, or the message
/// that stands for turns holds it.
fn summary(bundle: &Bundle, turn: &BundledTurn, place: usize) -> String {
    let text_of = |message: &RawValue| {
        let message: Value = serde_json::from_str(message.get()).unwrap_or_default();
        message["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    let calls = &turn.model_calls;
    if let Some(next) =
        calls.get(place + 1).and_then(|next| bundle.texts.get(next.summarised.as_ref()?))
    {
        let next = serde_json::from_str::<&RawValue>(next).map(text_of).unwrap_or_default();
        let so_far = next.strip_prefix("[SUMMARY SO FAR]\n");
        let so_far = so_far.and_then(|rest| rest.split_once("\n\n[RECORD]\n"));
        return so_far.map(|(summary, _)| summary.to_owned()).unwrap_or_default();
    }
    let ends = |place: &usize| {
        let follows = calls.get(place + 1).is_some_and(|next| next.summary);
        calls[*place].summary && calls[*place].fault.is_none() && !follows
    };
    let before = (0..place).filter(ends).count();
    let messages = turn.conversation.iter().filter(|entry| entry.kind == EntryKind::SummaryMessage);
    let mut summaries = messages.filter_map(|entry| {
        let items: Vec<&RawValue> = serde_json::from_str(entry.items.get()).ok()?;
        let text = text_of(items.first()?);
        let told = text.strip_prefix("[SUMMARY OF EARLIER TURNS]\n")?;
        told.split_once("\n\n").map(|(_, summary)| summary.to_owned())
    });
    summaries.nth(before).unwrap_or_default()
}

fn failed_attempt(retry: &Retry) -> Result<HttpReply, HttpFault> {
    match retry.http_status {
        Some(status) => {
            let error = json!({ "error": { "message": "Try again." } }).to_string();
            Ok(HttpReply::new(status, &error).with("retry-after-ms", &retry.waited_ms.to_string()))
        }
        None if retry.response_id.is_some() || retry.usage.is_some() => {
            let response = json!({ "id": retry.response_id, "status": "in_progress", "usage": retry.usage.map(usage) });
            let begun = event(&json!({ "type": "response.created", "response": response }));
            let reply = HttpReply::in_pieces(200, [begun, Piece::Broken]);
            Ok(reply.with("content-type", "text/event-stream"))
        }
        None => Err(HttpFault::Lost("refused".to_owned())),
    }
}

/// A whole response with these output items.
fn response(call: &ModelCall, output: &str, incomplete: Option<&str>) -> HttpReply {
    let status = if incomplete.is_some() { "incomplete" } else { "completed" };
    let mut members =
        json!({ "object": "response", "status": status, "usage": call.usage.map(usage) });
    if let Some(id) = &call.response_id {
        members["id"] = id.as_str().into();
    }
    if let Some(reason) = incomplete {
        members["incomplete_details"] = json!({ "reason": reason });
    }
    // The items stay as they are written.
    let text = members.to_string();
    let open = text.strip_suffix('}').unwrap_or(&text);
    HttpReply::new(200, &format!("{open},\"output\":{output}}}"))
        .with("content-type", "application/json")
}

fn begun(call: &ModelCall) -> Piece {
    let response =
        json!({ "id": call.response_id, "status": "in_progress", "usage": call.usage.map(usage) });
    event(&json!({ "type": "response.created", "response": response }))
}

/// Time in which a watcher hears what was said: a call whose text was heard is not made again.
fn heard() -> Piece {
    Piece::Silence(1_000)
}

fn said(text: &str) -> Piece {
    let place = json!({ "type": "response.output_text.delta", "item_id": "m", "output_index": 0,
        "content_index": 0, "delta": text });
    event(&place)
}

fn named(reply: HttpReply, request_id: Option<&str>) -> HttpReply {
    request_id.into_iter().fold(reply, |reply, id| reply.with("x-request-id", id))
}

/// Whether the call after a refused one sends more entries in a form: its remedy was that form.
fn sends_more(form: SentForm, call: &ModelCall, next: Option<&ModelCall>) -> bool {
    let through = |call: &ModelCall| {
        let of_the_form = call.input.iter().filter(|run| run.form == Some(form));
        of_the_form.map(|run| run.last).max()
    };
    next.and_then(through) > through(call)
}

/// How another body than the recorded one was sent; `None` when it was not. The key of the prompt cache names the
/// deployment's tenant, which no export tells.
fn difference(recorded: &str, sent: &str) -> Option<String> {
    const KEY: &str = "\"prompt_cache_key\":\"";
    let without_key = |body: &str| match body.rsplit_once(KEY) {
        Some((before, rest)) => {
            format!("{before}{}", rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
        }
        None => body.to_owned(),
    };
    let (recorded, sent) = (without_key(recorded), without_key(sent));
    if recorded == sent {
        return None;
    }
    let same = recorded.bytes().zip(sent.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        let from = text.floor_char_boundary(same.saturating_sub(20));
        let to = text.floor_char_boundary(same + 40);
        text[from.min(to)..to].to_owned()
    };
    Some(format!("from byte {same} on `{}` instead of `{}`", around(&sent), around(&recorded)))
}
