//! Lies of a model service: what it says of its responses beside what it means. What it means stands somewhere in each
//! response, whole, in its items or at its end, so that a reader of good will finds it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::executor::Random;
use super::reply::{Answer, Ending, Item, Reply, http_error};
use super::response_stream::RenderedResponse;
use super::scripted_service::{HttpReply, Piece};

/// Whether and how a service lies.
#[derive(Default)]
pub struct Lies {
    random: RefCell<Option<Random>>,
    /// Of a hundred responses so many are no plain truth.
    percent: Cell<u64>,
    /// The lies that were told, and how often.
    pub told: RefCell<BTreeMap<&'static str, usize>>,
}

/// Says something else about a response.
type Lie = fn(&mut Random, &mut RenderedResponse);

/// About the form: what is meant stays readable in the events or in the end.
const OF_FORM: [(&str, Lie); 22] = [
    ("indexes with gaps", |_, told| indexes(told, |index, _| json!(index * 3 + 2))),
    ("no indexes", |_, told| indexes(told, |_, _| Value::Null)),
    ("indexes in reverse", |_, told| indexes(told, |index, count| json!(count - 1 - index))),
    ("one index for all", |_, told| indexes(told, |_, _| json!(0))),
    ("items done twice", |_, told| {
        doubled(told, |event| event["type"] == "response.output_item.done")
    }),
    ("text behind its end", text_behind_its_end),
    ("events behind the end", events_behind_the_end),
    ("an error behind the end", |_, told| {
        let error =
            json!({ "type": "error", "error": { "code": "server_error", "message": "No." } });
        told.events.push(written(&error));
    }),
    ("no output at the end", |random, told| {
        let none = random.pick(&[json!([]), Value::Null]).clone();
        each_end(told, |response| response["output"] = none.clone());
    }),
    ("an early end that goes on", |_, told| {
        each_end(told, |response| response["status"] = json!("in_progress"));
    }),
    ("no beginning", |_, told| drop(told.events.drain(..2))),
    ("no order", |random, told| {
        let how = random.below(3);
        each(told, |event| {
            event["sequence_number"] = [Value::Null, json!(0), json!("7")][how as usize].clone()
        });
    }),
    ("no names of events", |_, told| {
        told.events
            .iter_mut()
            .for_each(|event| *event = event.split_once('\n').unwrap().1.to_owned());
    }),
    ("other ends of lines", |random, told| {
        let end = *random.pick(&["\r\n", "\r"]);
        told.events.iter_mut().for_each(|event| *event = event.replace('\n', end));
    }),
    ("an end that is said", |_, told| told.events.push("data: [DONE]\n\n".to_owned())),
    ("signs of life", |_, told| {
        let events = std::mem::take(&mut told.events);
        let alive = |event| [": alive\n\nevent: ping\ndata: {}\n\n".to_owned(), event];
        told.events = events.into_iter().flat_map(alive).collect();
    }),
    ("unknown events", |_, told| {
        let unknown =
            json!({ "type": "response.of_the_future", "delta": [1], "output_index": "x" });
        let events = std::mem::take(&mut told.events);
        told.events = events.into_iter().flat_map(|event| [written(&unknown), event]).collect();
    }),
    ("another text at the end", |_, told| {
        for item in told.response["output"].as_array_mut().unwrap() {
            if let Some(text) = item["content"][0]["text"].as_str() {
                item["content"][0]["text"] = json!(format!("Rather: {text}"));
            }
        }
        let output = told.response["output"].clone();
        each_end(told, |response| response["output"] = output.clone());
    }),
    ("texts in one string", |_, told| {
        for item in told.response["output"].as_array_mut().unwrap() {
            if item["content"][0]["text"].is_string() {
                item["content"] = item["content"][0]["text"].clone();
            }
        }
        let output = told.response["output"].clone();
        each_end(told, |response| response["output"] = output.clone());
    }),
    ("items doubled at the end", |_, told| {
        let output = told.response["output"].as_array_mut().unwrap();
        output.extend(output.clone());
        let output = told.response["output"].clone();
        each_end(told, |response| response["output"] = output.clone());
    }),
    ("two beginnings", |_, told| {
        let mut first = told.events[0].clone();
        first = first.replace("\"id\":\"resp_", "\"id\":\"resp_0");
        told.events.insert(2, first);
    }),
    ("arguments as an object", |_, told| {
        each(told, |event| {
            let item = &mut event["item"];
            if item["type"] == "function_call" && item["status"] == "completed" {
                let arguments = serde_json::from_str(item["arguments"].as_str().unwrap());
                item["arguments"] = arguments.unwrap_or(item["arguments"].clone());
            }
        });
        each_end(told, |response| response["output"] = json!([]));
    }),
];

/// About single values.
const OF_VALUES: [(&str, Lie); 6] = [
    ("a strange usage", |random, told| {
        let strange = [
            json!({ "input_tokens": -1, "output_tokens": 5, "total_tokens": 4 }),
            json!({ "input_tokens": u64::MAX, "output_tokens": u64::MAX, "total_tokens": u64::MAX }),
            json!({ "input_tokens": 1e300, "output_tokens": "5" }),
            json!({ "input_tokens": 7, "input_tokens_details": null, "total_tokens": 1 }),
            json!("much"),
            Value::Null,
        ];
        let strange = random.pick(&strange);
        each_end(told, |response| response["usage"] = strange.clone());
    }),
    ("another id at the end", |random, told| {
        let id = format!("{}_end", told.response["id"].as_str().unwrap());
        each_end(told, |response| response["id"] = json!(id));
        if random.chance(50) {
            told.response["id"] = json!(id);
        }
    }),
    ("an id for all responses", |_, told| renamed(told, "resp_same")),
    ("a strange id", |random, told| {
        let long = "x".repeat(5_000);
        let id = *random.pick(&["", "a/b?c=d#e", "\"\u{e9}\u{0}", ".", long.as_str()]);
        renamed(told, id);
    }),
    ("ids of earlier items", |_, told| {
        let own = told.response["id"].as_str().unwrap().to_owned();
        for event in &mut told.events {
            *event = event.replace(&format!("item_{own}_"), "item_");
        }
        told.response = serde_json::from_str(
            &told.response.to_string().replace(&format!("item_{own}_"), "item_"),
        )
        .unwrap();
    }),
    ("no usage on the way", |_, told| {
        each(told, |event| {
            if let Some(response) = event["response"].as_object_mut() {
                response.remove("usage");
            }
        });
    }),
];

impl Lies {
    /// From here on so many of a hundred responses lie, as the seed decides.
    pub fn begin(&self, seed: u64, percent: u64) {
        self.random.replace(Some(Random(seed)));
        self.percent.set(percent);
    }

    /// Ends the effect of [`Self::begin`].
    pub fn end(&self) {
        self.percent.set(0);
    }

    fn random(&self) -> Option<Random> {
        let mut random = self.random.borrow_mut();
        let random = random.as_mut()?;
        if !random.chance(self.percent.get()) {
            return None;
        }
        Some(Random(random.below(u64::MAX)))
    }

    fn note(&self, what: &'static str) {
        *self.told.borrow_mut().entry(what).or_default() += 1;
    }

    /// What the service says instead of an answer, at times. `continued` is the id of the response that is continued.
    pub(super) fn refusal(&self, continued: Option<&str>) -> Option<Reply> {
        let mut random = self.random()?;
        if !random.chance(30) {
            return None;
        }
        let (what, reply) = refusal(&mut random, continued);
        self.note(what);
        Some(reply)
    }

    /// Changes what an answer holds, and how it is sent.
    pub(super) fn change(&self, answer: &mut Answer) {
        let Some(mut random) = self.random() else { return };
        self.note(change(&mut random, answer));
    }

    /// The id of the next call in place of the service's own.
    pub(super) fn call_id(&self, place: usize) -> Option<String> {
        let mut random = self.random()?;
        let long = "c".repeat(60);
        let (what, id) = match random.below(12) {
            0 => ("a call without an id", String::new()),
            1 => ("a long id of a call", format!("{long}{place}")),
            2 => ("a call with the id of its neighbour", "call_same".to_owned()),
            3 => ("a strange id of a call", format!("functions.f:{place}\n\u{e9}\u{0}")),
            _ => ("a call with an earlier id", format!("call_{place}")),
        };
        self.note(what);
        Some(id)
    }

    /// Has a response lie about itself.
    pub(super) fn spoil(&self, told: &mut RenderedResponse) {
        for lies in [&OF_VALUES[..], &OF_FORM[..]] {
            let Some(mut random) = self.random() else { continue };
            let (what, lie) = random.pick(lies);
            lie(&mut random, told);
            self.note(what);
        }
    }
}

fn refusal(random: &mut Random, continued: Option<&str>) -> (&'static str, Reply) {
    let wait = *random.pick(&[
        "-1",
        "0",
        "soon",
        "1e9",
        "3",
        "99999999999999999999",
        "Fri, 01 Jan 1999 00:00:00 GMT",
    ]);
    let after = [("retry-after", wait)];
    match random.below(11) {
        0 => {
            ("too many requests", http_error(429, json!({ "code": "rate_limit_exceeded" }), &after))
        }
        1 => (
            "a failure that passes",
            http_error(*random.pick(&[500, 502, 503, 504, 529]), json!({}), &after),
        ),
        2 => {
            let told =
                format!("Previous response with id '{}' not found.", continued.unwrap_or("resp_0"));
            let error = json!({ "message": told, "param": "previous_response_id", "code": "previous_response_not_found" });
            ("a chain that is lost", http_error(*random.pick(&[400, 404]), error, &[]))
        }
        3 => {
            let told = "The encrypted content could not be verified.";
            let error = json!({ "message": told, "code": "invalid_encrypted_content" });
            ("reasoning that is refused", http_error(400, error, &[]))
        }
        4 => ("an input that is refused", http_error(400, json!({ "param": "input[0]" }), &[])),
        5 => (
            "an unexplained refusal",
            http_error(*random.pick(&[400, 404, 409, 413, 422]), json!({}), &[]),
        ),
        6 => (
            "a refusal for length",
            http_error(400, json!({ "code": "context_length_exceeded" }), &[]),
        ),
        7 => {
            let page =
                HttpReply::new(*random.pick(&[200, 204, 301, 400, 404, 500]), "<html>No.</html>");
            ("a page", Reply::Http(page))
        }
        8 => ("nobody", Reply::Unreachable),
        9 => ("an empty body", Reply::Http(HttpReply::new(200, ""))),
        _ => {
            let cut = [Piece::text("data: {\"type\":\"response.cre"), Piece::Broken];
            ("a broken beginning", Reply::Http(HttpReply::in_pieces(200, cut)))
        }
    }
}

fn change(random: &mut Random, answer: &mut Answer) -> &'static str {
    let place = random.below(answer.items.len() as u64 + 1) as usize;
    let last = |answer: &Answer| answer.items.len().saturating_sub(1);
    match random.below(14) {
        0 => {
            answer.items.insert(place, Item::Compaction);
            "a compaction somewhere"
        }
        1 => {
            answer.items.insert(place, Item::Reasoning);
            "reasoning somewhere"
        }
        2 => {
            let unknown = [
                json!({ "type": "thing_of_the_future", "status": "completed", "call_id": null }),
                json!({ "type": "custom_tool_call", "call_id": "custom", "name": "n", "input": "i" }),
                json!({ "type": "shell_call_output", "call_id": "call_1", "output": [] }),
                json!({ "type": "function_call_output", "call_id": "call_1", "output": "o" }),
                json!({ "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "q" } }),
            ];
            answer.items.insert(place, Item::Hosted(random.pick(&unknown).clone()));
            "an unknown item"
        }
        3 => {
            let long = "n".repeat(300);
            let name = (*random.pick(&[
                "",
                "no such tool",
                "agent_change_mode",
                "agent_approve_tool",
                long.as_str(),
            ]))
            .to_owned();
            answer.items.insert(place, Item::Call { name, arguments: "{}".to_owned() });
            "a strange name"
        }
        4 => {
            let long = format!("\"{}\"", "x".repeat(200_000));
            let strange = [
                "",
                "{",
                "null",
                "[1]",
                "{\"a\":1,\"a\":2}",
                "{\"a\":12345678901234567890123}",
                "\u{0}",
                long.as_str(),
            ];
            for item in &mut answer.items {
                if let Item::Call { arguments, .. } = item {
                    *arguments = (*random.pick(&strange)).to_owned();
                }
            }
            "strange arguments"
        }
        5 => {
            let reason: &&str = random.pick(&["max_output_tokens", "content_filter", ""]);
            answer.ending = Ending::Incomplete(reason);
            "an incomplete answer"
        }
        6 => {
            let code = *random.pick(&[
                "server_error",
                "rate_limit_exceeded",
                "invalid_prompt",
                "context_length_exceeded",
                "",
            ]);
            answer.ending = match random.chance(50) {
                true => Ending::Failed(code),
                false => Ending::ErrorEvent { code, nested: random.chance(50) },
            };
            answer.failing_usage = random.chance(50);
            "a failure in the stream"
        }
        7 => {
            answer.as_json = true;
            "one JSON answer"
        }
        8 => {
            answer.chunk_bytes = Some(1 + random.below(40) as usize);
            "small pieces"
        }
        9 | 10 => {
            answer.chunk_bytes = Some(1 + random.below(40) as usize);
            let chunks = random.below(80) as usize;
            *answer = match random.below(3) {
                0 => answer.clone().breaks_after(chunks),
                1 => answer.clone().ends_after(chunks),
                _ => answer.clone().silent_after(chunks),
            };
            "a cut somewhere"
        }
        11 => {
            answer.items.clear();
            "no item at all"
        }
        12 => {
            let again = answer.items.get(last(answer)).cloned();
            answer.items.extend(again);
            "the last item again"
        }
        _ => {
            answer.early_usage = Some([u64::MAX / 2, 1, u64::MAX / 2, 1]);
            "an early usage"
        }
    }
}

/// Says other indexes of the items; `said` gets the true one and the number of items.
fn indexes(told: &mut RenderedResponse, said: impl Fn(u64, u64) -> Value) {
    let count = told.response["output"].as_array().unwrap().len() as u64;
    each(told, |event| {
        if let Some(index) = event["output_index"].as_u64() {
            event["output_index"] = said(index, count);
        }
    });
}

fn text_behind_its_end(_: &mut Random, told: &mut RenderedResponse) {
    let events = std::mem::take(&mut told.events);
    for event in events {
        let mut data = data_of(&event);
        told.events.push(event);
        if data["type"] == "response.output_text.done"
            || data["type"] == "response.output_item.done"
        {
            (data["type"], data["delta"]) =
                ("response.output_text.delta".into(), " And more.".into());
            data["content_index"] = json!(0);
            told.events.push(written(&data));
        }
    }
}

fn events_behind_the_end(_: &mut Random, told: &mut RenderedResponse) {
    let delta = json!({ "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Late." });
    let item = json!({ "type": "message", "id": "late", "role": "assistant", "content": "Late." });
    let response = json!({ "id": "resp_late", "status": "completed", "output": [item], "usage": { "total_tokens": 1 } });
    told.events.push(written(&delta));
    told.events.push(written(&json!({ "type": "response.completed", "response": response })));
}

fn doubled(told: &mut RenderedResponse, which: impl Fn(&Value) -> bool) {
    let events = std::mem::take(&mut told.events);
    for event in events {
        let times = if which(&data_of(&event)) { 2 } else { 1 };
        told.events.extend(std::iter::repeat_n(event, times));
    }
}

fn renamed(told: &mut RenderedResponse, id: &str) {
    each(told, |event| {
        if event["response"].is_object() {
            event["response"]["id"] = json!(id);
        }
    });
    told.response["id"] = json!(id);
}

/// Changes the object of each terminal event.
fn each_end(told: &mut RenderedResponse, mut change: impl FnMut(&mut Value)) {
    each(told, |event| {
        let is_early =
            ["response.created", "response.in_progress"].iter().any(|kind| event["type"] == *kind);
        if event["response"].is_object() && !is_early {
            change(&mut event["response"]);
        }
    });
}

fn each(told: &mut RenderedResponse, mut change: impl FnMut(&mut Value)) {
    for event in &mut told.events {
        let mut data = data_of(event);
        change(&mut data);
        *event = written(&data);
    }
}

fn data_of(event: &str) -> Value {
    serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap_or_default()
}

fn written(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}
