//! A model service that refuses the requests that the live one refuses and stores responses as it
//! does. Its output is scripted.
//!
//! Refusals for an invalid request are recorded separately: a product that keeps its chain of
//! responses intact never causes one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use serde_json::{Value, json};

use super::background::BackgroundResponses;
use super::bill::{Bill, CallEnd};
use super::conversation::{Conversation, ConversationItem};
use super::lies::Lies;
use super::pairing::Pairing;
use super::published_schema::assert_published;
use super::reply::{Ending, Recording, Reply, http_error};
use super::response_stream::{RenderedResponse, render};
use super::rules::Rules;
use super::scripted_service::{HttpReply, Piece};

/// Decides on the model's reply from the conversation that it is shown.
type Mind = Box<dyn Fn(&Conversation) -> Reply>;

/// The model service.
pub struct ModelService {
    mind: RefCell<Mind>,
    script: RefCell<VecDeque<Reply>>,
    /// The number of requests that succeed first, the number that then fail, and the failure.
    spoiled: RefCell<Option<(usize, usize, Reply)>>,
    kept: RefCell<BTreeMap<String, Rc<Kept>>>,
    pairing: RefCell<Pairing>,
    latest: RefCell<Option<Rc<Kept>>>,
    /// The ids of stored responses that a client was told of, whatever became of them.
    pub held: RefCell<BTreeSet<String>>,
    /// The ids whose deletion was asked for.
    pub deletions: RefCell<Vec<String>>,
    pub background: BackgroundResponses,
    /// Tokens that clients were told of of each response.
    pub(super) told: RefCell<BTreeMap<String, u64>>,
    /// Tokens that clients were told of, by the last word on each response.
    pub told_tokens: Cell<u64>,
    bodies: RefCell<Vec<Value>>,
    latest_body: RefCell<String>,
    refusals: RefCell<Vec<String>>,
    forgot: Cell<bool>,
    /// No response that it was asked to store is kept.
    pub keeps_nothing: Cell<bool>,
    storage_refusal: RefCell<Option<Reply>>,
    /// Deletions fail, and the responses stay.
    pub keeps_everything: Cell<bool>,
    /// Deletions get no answer.
    pub answers_no_deletion: Cell<bool>,
    pub numbers: Cell<u64>,
    /// The ids of the next function calls, in place of the service's own.
    pub call_ids: RefCell<VecDeque<&'static str>>,
    /// Calls that have neither ended nor been aborted.
    pub open: Cell<usize>,
    /// The largest number of calls that were open at once.
    pub most_open: Cell<usize>,
    /// Calls that were aborted before they ended.
    pub aborted: Cell<usize>,
    /// What each call that it gave an answer to is billed, in the order of the calls.
    pub bills: RefCell<Vec<Bill>>,
    /// For long sessions: bodies are not recorded.
    pub forgetful_of_bodies: Cell<bool>,
    window: RefCell<Option<(usize, Reply)>>,
    pub rules: Rules,
    pub lies: Lies,
    /// What is wrong with the calls and outputs of requests that continue no response.
    pub unpaired: RefCell<Vec<String>>,
    /// Input tokens are reported by the conversation's length, four bytes each.
    pub counts: Cell<bool>,
}

/// A completed response and its predecessor.
struct Kept {
    before: Option<Rc<Kept>>,
    items: Vec<ConversationItem>,
    open_calls: BTreeSet<String>,
    /// The length of the conversation up to here.
    bytes: usize,
}

/// The error object of a refusal.
struct Refusal(Value);

impl ModelService {
    pub fn new(mind: Mind) -> Self {
        Self {
            mind: RefCell::new(mind),
            script: RefCell::default(),
            spoiled: RefCell::default(),
            kept: RefCell::default(),
            pairing: RefCell::default(),
            latest: RefCell::default(),
            held: RefCell::default(),
            deletions: RefCell::default(),
            background: BackgroundResponses::default(),
            told: RefCell::default(),
            told_tokens: Cell::new(0),
            bodies: RefCell::default(),
            latest_body: RefCell::default(),
            refusals: RefCell::default(),
            forgot: Cell::new(false),
            keeps_nothing: Cell::new(false),
            storage_refusal: RefCell::default(),
            keeps_everything: Cell::new(false),
            answers_no_deletion: Cell::new(false),
            numbers: Cell::new(0),
            call_ids: RefCell::default(),
            open: Cell::new(0),
            most_open: Cell::new(0),
            aborted: Cell::new(0),
            bills: RefCell::default(),
            forgetful_of_bodies: Cell::new(false),
            window: RefCell::default(),
            rules: Rules::default(),
            lies: Lies::default(),
            unpaired: RefCell::default(),
            counts: Cell::new(false),
        }
    }

    /// From here on a request whose conversation, the chain before it included, is longer than this many
    /// bytes gets this reply.
    pub fn narrow(&self, bytes: usize, refusal: Reply) {
        self.window.replace(Some((bytes, refusal)));
    }

    /// Queues replies for the next requests; after them the mind decides again.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.script.borrow_mut().extend(replies);
    }

    /// Replaces the mind.
    pub fn think(&self, mind: impl Fn(&Conversation) -> Reply + 'static) {
        *self.mind.borrow_mut() = Box::new(mind);
    }

    /// Removes the next scripted reply; false when there is none.
    pub fn drop_scripted(&self) -> bool {
        self.script.borrow_mut().pop_front().is_some()
    }

    /// After `well` more requests, every request gets this reply until [`Self::mend`].
    pub fn spoil_after(&self, well: usize, reply: Reply) {
        self.spoiled.replace(Some((well, usize::MAX, reply)));
    }

    /// After `well` more requests, one request gets this reply.
    pub fn spoil_once_after(&self, well: usize, reply: Reply) {
        self.spoiled.replace(Some((well, 1, reply)));
    }

    /// Ends the effect of [`Self::spoil_after`].
    pub fn mend(&self) {
        self.spoiled.replace(None);
    }

    /// Drops every stored response, as the live service does when its retention ends.
    pub fn forget(&self) {
        self.kept.borrow_mut().clear();
        self.held.borrow_mut().clear();
        self.forgot.set(true);
    }

    /// From here on a request to store a response gets this reply.
    pub fn refuse_storage(&self, refusal: Reply) {
        self.storage_refusal.replace(Some(refusal));
    }

    /// The number of stored responses.
    pub fn stored(&self) -> usize {
        self.kept.borrow().len()
    }

    /// Deletes a response and returns the HTTP status.
    pub fn delete(&self, id: &str) -> u16 {
        self.deletions.borrow_mut().push(id.to_owned());
        if self.keeps_everything.get() {
            return 500;
        }
        let known = self.kept.borrow_mut().remove(id).is_some();
        if self.held.borrow_mut().remove(id) || known { 200 } else { 404 }
    }

    /// The bodies of all requests in order, refused ones included.
    pub fn bodies(&self) -> Vec<Value> {
        self.bodies.borrow().clone()
    }

    /// The body of the latest request, as it came.
    pub fn latest_body(&self) -> String {
        self.latest_body.borrow().clone()
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.bodies.borrow().len()
    }

    /// The conversation up to the latest model output.
    pub fn conversation(&self) -> Conversation {
        let latest = self.latest.borrow();
        Conversation(latest.as_ref().map(|kept| kept.conversation()).unwrap_or_default())
    }

    /// The messages of the refusals for an invalid request. A reference to a response that
    /// [`Self::forget`] dropped does not count.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.borrow().clone()
    }

    /// Checks a request and decides on the reply. One that the published schema refuses fails its test.
    pub fn take(&self, body: &str) -> (Reply, Option<RenderedResponse>) {
        assert_published(body);
        self.latest_body.replace(body.to_owned());
        let body: Value = serde_json::from_str(body).expect("a request is JSON");
        if !self.forgetful_of_bodies.get() {
            self.bodies.borrow_mut().push(body.clone());
        }
        if body["previous_response_id"].is_null() {
            self.unpaired.borrow_mut().extend(unpaired(&body["input"]));
        }
        let before = match self.check(&body) {
            Ok(before) => before,
            Err(Refusal(error)) => {
                let has_forgotten = self.forgot.get() || self.keeps_nothing.get();
                if !(has_forgotten && error["code"] == "previous_response_not_found") {
                    self.refusals.borrow_mut().push(error["message"].to_string());
                }
                return (http_error(400, error, &[]), None);
            }
        };
        let input: Vec<_> =
            body["input"].as_array().unwrap().iter().cloned().map(Rc::new).collect();
        let chain_bytes = before.as_ref().map_or(0, |kept| kept.bytes);
        let input_bytes = chain_bytes + length(&input);
        if let Some(refusal) = self.lies.refusal(body["previous_response_id"].as_str()) {
            return (refusal, None);
        }
        let mut reply = self.decide(&body, before.as_ref(), &input, input_bytes);
        if let Reply::Recorded(Recording { body: bytes, response }) = &reply {
            if let Some(response) = response {
                self.keep(input_bytes, &body, before, input, response);
            }
            let reply = HttpReply::in_pieces(200, [Piece::Bytes(bytes.clone())]);
            return (Reply::Http(reply), None);
        }
        let Reply::Answer(answer) = &mut reply else {
            return (reply, None);
        };
        self.bills.borrow_mut().push(Bill {
            key: body["prompt_cache_key"].as_str().unwrap_or_default().to_owned(),
            body_bytes: self.latest_body.borrow().len(),
            input_bytes,
            end: CallEnd::Open,
        });
        if self.counts.get() {
            answer.usage[0] = input_bytes as u64 / 4;
        }
        self.lies.change(answer);
        let calls = (0..).map(|place| match self.call_ids.borrow_mut().pop_front() {
            Some(id) => id.to_owned(),
            None => {
                let lie = self.lies.call_id(place);
                lie.unwrap_or_else(|| format!("call_{}", self.number()))
            }
        });
        let mut rendered = render(answer, &format!("resp_{}", self.number()), calls);
        self.lies.spoil(&mut rendered);
        if matches!(answer.ending, Ending::Completed | Ending::Incomplete(_)) {
            self.keep(input_bytes, &body, before, input, &rendered.response);
        }
        (reply, Some(rendered))
    }

    /// The reply to a request; `bytes` is the length of the conversation that it makes.
    fn decide(
        &self,
        body: &Value,
        before: Option<&Rc<Kept>>,
        input: &[ConversationItem],
        bytes: usize,
    ) -> Reply {
        let (stored, in_background) = (body["store"] == true, body["background"] == true);
        if let Some(refusal) = self.background.refusal.borrow().as_ref().filter(|_| in_background) {
            return refusal.clone();
        }
        if let Some(refusal) = self.storage_refusal.borrow().as_ref().filter(|_| stored) {
            return refusal.clone();
        }
        if let Some((most, refusal)) = &*self.window.borrow()
            && bytes > *most
        {
            return refusal.clone();
        }
        let conversation = || {
            let mut items = before.map(|kept| kept.conversation()).unwrap_or_default();
            items.extend_from_slice(input);
            items
        };
        if let Some(refusal) = self.rules.refusal(body, conversation) {
            return refusal;
        }
        if let Some((well, times, reply)) = &mut *self.spoiled.borrow_mut() {
            if *well > 0 {
                *well -= 1;
            } else if *times > 0 {
                *times -= 1;
                return reply.clone();
            }
        }
        if let Some(reply) = self.script.borrow_mut().pop_front() {
            return reply;
        }
        (self.mind.borrow())(&Conversation(conversation()))
    }

    /// Keeps a response with its input, and what it is to know of the items that it gave out; `bytes` is the length of the
    /// conversation with the input.
    fn keep(
        &self,
        bytes: usize,
        body: &Value,
        before: Option<Rc<Kept>>,
        mut items: Vec<ConversationItem>,
        given: &Value,
    ) {
        let output = given["output"].as_array().unwrap();
        self.pairing.borrow_mut().give(output);
        let mut open_calls = BTreeSet::new();
        for item in output {
            let waits =
                ["function_call", "custom_tool_call"].iter().any(|kind| item["type"] == *kind);
            if given["status"] == "completed" && waits {
                open_calls.insert(item["call_id"].as_str().unwrap().to_owned());
            }
        }
        let from = items.len();
        items.extend(output.iter().cloned().map(Rc::new));
        let bytes = bytes + length(&items[from..]);
        let kept = Rc::new(Kept { before, items, open_calls, bytes });
        self.latest.replace(Some(Rc::clone(&kept)));
        if body["store"] == true && !self.keeps_nothing.get() {
            self.kept.borrow_mut().insert(given["id"].as_str().unwrap().to_owned(), kept);
        }
    }

    /// Checks a request in the live service's order: shape, state, input.
    fn check(&self, body: &Value) -> Result<Option<Rc<Kept>>, Refusal> {
        check_shape(body)?;
        let before = match body["previous_response_id"].as_str() {
            None => None,
            Some(id) => Some(self.kept.borrow().get(id).cloned().ok_or_else(|| {
                Refusal(json!({
                    "message": format!("Previous response with id '{id}' not found."),
                    "param": "previous_response_id", "code": "previous_response_not_found",
                }))
            })?),
        };
        let input = body["input"].as_array().unwrap();
        if input.is_empty() {
            return Err(refused(
                "One of \"input\" or \"previous_response_id\" must be provided.",
                Value::Null,
            ));
        }
        let mut open = before.as_ref().map(|kept| kept.open_calls.clone()).unwrap_or_default();
        for item in input {
            let id = item["call_id"].as_str().unwrap_or_default();
            match item["type"].as_str() {
                Some("function_call") => _ = open.insert(id.to_owned()),
                Some("function_call_output") if !open.remove(id) => {
                    let message =
                        format!("No tool call found for function call output with call_id {id}.");
                    return Err(refused(&message, "input".into()));
                }
                _ => {}
            }
        }
        if let Some(id) = open.first() {
            let message = format!("No tool output found for function call {id}.");
            return Err(refused(&message, "input".into()));
        }
        let continues = |id: &str| before.as_ref().is_some_and(|kept| kept.holds(id));
        match self.pairing.borrow().fault(continues, input) {
            None => Ok(before),
            Some(message) => Err(refused(&message, "input".into())),
        }
    }

    fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }
}

impl Kept {
    /// This response and those before it, the newest first.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |kept| kept.before.as_deref())
    }

    /// All items up to here, the oldest first.
    fn conversation(&self) -> Vec<ConversationItem> {
        let mut items: Vec<_> =
            self.chain().flat_map(|kept| kept.items.iter().rev()).cloned().collect();
        items.reverse();
        items
    }

    /// Whether the conversation has an item of this id.
    fn holds(&self, id: &str) -> bool {
        self.chain().flat_map(|kept| &kept.items).any(|item| item["id"] == id)
    }
}

/// The fault of a whole conversation in which the outputs right behind calls are not theirs, one each.
fn unpaired(input: &Value) -> Option<String> {
    let mut open: Vec<&Value> = Vec::new();
    for item in input.as_array().into_iter().flatten() {
        match item["type"].as_str() {
            Some("function_call") => open.push(&item["call_id"]),
            Some("function_call_output") => {
                let Some(at) = open.iter().position(|id| *id == &item["call_id"]) else {
                    return Some(format!("an output without its call: {item:.200}"));
                };
                open.remove(at);
            }
            _ if item["role"] == "user" && !open.is_empty() => break,
            _ => {}
        }
    }
    (!open.is_empty()).then(|| format!("calls without an output: {open:?}"))
}

/// The length of items in bytes.
fn length(items: &[ConversationItem]) -> usize {
    items.iter().map(|item| item.to_string().len()).sum()
}

fn refused(message: &str, param: Value) -> Refusal {
    Refusal(json!({ "message": message, "param": param, "code": null }))
}

fn check_shape(body: &Value) -> Result<(), Refusal> {
    const MEMBERS: [&str; 19] = [
        "background",
        "model",
        "instructions",
        "input",
        "tools",
        "tool_choice",
        "previous_response_id",
        "include",
        "store",
        "stream",
        "prompt_cache_key",
        "context_management",
        "max_output_tokens",
        "metadata",
        "reasoning",
        "service_tier",
        "temperature",
        "text",
        "top_p",
    ];
    for member in body.as_object().unwrap().keys() {
        if !MEMBERS.contains(&member.as_str()) {
            return Err(refused(
                &format!("Unknown parameter: '{member}'."),
                member.as_str().into(),
            ));
        }
    }
    if body["background"] == true && !(body["store"] == true && body["stream"] == true) {
        return Err(refused("Background responses are stored and streamed.", "background".into()));
    }
    let key = &body["prompt_cache_key"];
    if !key.is_null() && key.as_str().is_none_or(|key| key.is_empty() || key.len() > 64) {
        return Err(refused("Invalid 'prompt_cache_key'.", "prompt_cache_key".into()));
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(refused("Missing required parameter: 'model'.", "model".into()));
    }
    let Some(input) = body["input"].as_array() else {
        return Err(refused("Missing required parameter: 'input'.", "input".into()));
    };
    for item in input {
        check_item(item)?;
    }
    let mut names = BTreeSet::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        if ["web_search", "image_generation"].iter().any(|hosted| tool["type"] == *hosted) {
            continue;
        }
        let name = tool["name"].as_str().unwrap_or_default();
        if tool["type"] != "function"
            || !tool["parameters"].is_object()
            || !tool["strict"].is_boolean()
        {
            return Err(refused(
                &format!("Tool '{name}' is not a whole function tool."),
                "tools".into(),
            ));
        }
        if !names.insert(name) {
            return Err(refused(&format!("Tool names must be unique: '{name}'."), "tools".into()));
        }
    }
    match body["tool_choice"]["name"].as_str() {
        Some(name) if !names.contains(name) => Err(refused(
            &format!("Tool choice '{name}' not found in 'tools' parameter."),
            "tool_choice".into(),
        )),
        _ => Ok(()),
    }
}

fn check_item(item: &Value) -> Result<(), Refusal> {
    let wrong = |what: &str| {
        Err(refused(&format!("Invalid input item ({what}): {item}"), "input[0]".into()))
    };
    let kind = item["type"].as_str().unwrap_or("message");
    let (required, optional): (&[&str], &[&str]) = match kind {
        "message" if item["role"] == "assistant" => {
            (&["type", "role", "content"], &["id", "status", "phase"])
        }
        "message" => (&["type", "role", "content"], &[]),
        "function_call" => (&["type", "call_id", "name", "arguments"], &["id"]),
        "function_call_output" => (&["type", "call_id", "output"], &[]),
        "reasoning" => (&["type", "id", "summary", "encrypted_content"], &[]),
        "compaction" => (&["type", "encrypted_content"], &["id"]),
        "web_search_call" => (&["type", "id", "status", "action"], &[]),
        "file_search_call" => (&["type", "id", "status", "queries"], &["results"]),
        "mcp_list_tools" => (&["type", "id", "server_label", "tools"], &["error"]),
        "mcp_call" => {
            (&["type", "id", "server_label", "name", "arguments"], &["output", "error", "status"])
        }
        "image_generation_call" => (&["type", "id", "status", "result"], &[]),
        _ => return wrong("unknown type"),
    };
    let members = item.as_object().unwrap();
    if required.iter().any(|name| !members.contains_key(*name)) {
        return wrong("a member is missing");
    }
    if members
        .keys()
        .any(|name| !required.contains(&name.as_str()) && !optional.contains(&name.as_str()))
    {
        return wrong("an unknown member");
    }
    // What the service gives out itself as well, where the model has written such a name.
    let is_of_names = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let name = item["name"].as_str().unwrap_or_default();
    if kind == "function_call" && (name.is_empty() || !name.bytes().all(is_of_names)) {
        return wrong("a name that no function can have");
    }
    if kind == "message" && item["role"] != "assistant" {
        let known = ["input_text", "input_image", "input_file"];
        let parts = item["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        if parts.is_empty()
            || parts.iter().any(|part| !known.iter().any(|kind| part["type"] == *kind))
        {
            return wrong("an unknown part");
        }
    }
    Ok(())
}
