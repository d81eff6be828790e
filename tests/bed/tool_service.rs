//! The HTTP tools that the server runs. Every execution is counted by its call.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

/// A tool's reaction to a call.
#[derive(Clone, Debug)]
pub enum ToolAnswer {
    Json(Value),
    Status(u16),
    /// The call never ends.
    Never,
}

/// All HTTP tools at once.
#[derive(Default)]
pub struct ToolService {
    executions: RefCell<BTreeMap<String, usize>>,
    calls: RefCell<Vec<Value>>,
    script: RefCell<VecDeque<ToolAnswer>>,
    mind: RefCell<Option<Box<Mind>>>,
}

/// Decides the reaction to a call that nothing is scripted for.
type Mind = dyn Fn(&Value) -> ToolAnswer;

impl ToolService {
    /// The next calls get these reactions, and later ones the tool's default result.
    pub fn script(&self, answers: impl IntoIterator<Item = ToolAnswer>) {
        self.script.borrow_mut().extend(answers);
    }

    /// Every call that nothing is scripted for gets this reaction.
    pub fn think(&self, mind: impl Fn(&Value) -> ToolAnswer + 'static) {
        self.mind.replace(Some(Box::new(mind)));
    }

    /// Removes one scripted reply; false when there is none.
    pub fn drop_scripted(&self) -> bool {
        self.script.borrow_mut().pop_front().is_some()
    }

    /// How often each call was run, by its `ToolCallId`.
    pub fn executions(&self) -> BTreeMap<String, usize> {
        self.executions.borrow().clone()
    }

    /// The bodies of all calls, in their order.
    pub fn calls(&self) -> Vec<Value> {
        self.calls.borrow().clone()
    }

    pub fn take(&self, body: &str) -> ToolAnswer {
        let body: Value = serde_json::from_str(body).expect("a tool call is JSON");
        // A retrieval service is asked the same way, and is no call.
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
