//! The HTTP service of the server tools. It counts the executions of every call.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

/// A tool's reply to a call.
#[derive(Clone, Debug)]
pub enum ToolAnswer {
    Json(Value),
    Status(u16),
    /// A reply that comes after so many milliseconds.
    After(u64, Box<ToolAnswer>),
    /// No reply, for as long as the caller waits.
    Never,
}

#[derive(Default)]
pub struct ToolService {
    executions: RefCell<BTreeMap<String, usize>>,
    calls: RefCell<Vec<Value>>,
    script: RefCell<VecDeque<ToolAnswer>>,
    mind: RefCell<Option<Box<Mind>>>,
}

/// Decides on the reply to a call when none is scripted.
type Mind = dyn Fn(&Value) -> ToolAnswer;

impl ToolService {
    /// Queues replies for the next calls; after them a call gets its own id back, or the mind's
    /// reply.
    pub fn script(&self, answers: impl IntoIterator<Item = ToolAnswer>) {
        self.script.borrow_mut().extend(answers);
    }

    /// Replaces the reply to every call for which none is scripted.
    pub fn think(&self, mind: impl Fn(&Value) -> ToolAnswer + 'static) {
        self.mind.replace(Some(Box::new(mind)));
    }

    /// Removes the next scripted reply; false when there is none.
    pub fn drop_scripted(&self) -> bool {
        self.script.borrow_mut().pop_front().is_some()
    }

    /// The number of executions of each call, by `ToolCallId`.
    pub fn executions(&self) -> BTreeMap<String, usize> {
        self.executions.borrow().clone()
    }

    /// The bodies of all calls in order.
    pub fn calls(&self) -> Vec<Value> {
        self.calls.borrow().clone()
    }

    pub fn take(&self, body: &str) -> ToolAnswer {
        let body: Value = serde_json::from_str(body).expect("a tool call is JSON");
        // Requests for retrieval arrive here, too; they have no call id.
        let id = body["ToolCallId"].as_str().unwrap_or_default().to_owned();
        self.calls.borrow_mut().push(body.clone());
        *self.executions.borrow_mut().entry(id.clone()).or_default() += 1;
        let scripted = self.script.borrow_mut().pop_front();
        scripted.unwrap_or_else(|| match self.mind.borrow().as_ref() {
            Some(mind) => mind(&body),
            None => ToolAnswer::Json(json!({ "found": id })),
        })
    }
}
