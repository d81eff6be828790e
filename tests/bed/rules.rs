//! A rule of the model service that nobody is told of.

use std::cell::RefCell;

use serde_json::Value;

use super::conversation::ConversationItem;
use super::reply::Reply;

/// Refuses a request by its body and by the whole conversation, the chain before it included.
type Rule = Box<dyn Fn(&Value, &[ConversationItem]) -> Option<Reply>>;

/// The service's hidden rule, if it has one.
#[derive(Default)]
pub struct Rules {
    rule: RefCell<Option<Rule>>,
    /// The bodies that it has refused.
    pub refused: RefCell<Vec<Value>>,
}

impl Rules {
    /// From here on a request is refused where this gives a reply for its body and the whole conversation.
    pub fn refuse_by(&self, rule: impl Fn(&Value, &[ConversationItem]) -> Option<Reply> + 'static) {
        *self.rule.borrow_mut() = Some(Box::new(rule));
    }

    /// Ends the effect of [`Self::refuse_by`].
    pub fn refuse_nothing(&self) {
        self.rule.replace(None);
    }

    pub(super) fn refusal(
        &self,
        body: &Value,
        conversation: impl FnOnce() -> Vec<ConversationItem>,
    ) -> Option<Reply> {
        let rule = self.rule.borrow();
        let rule = rule.as_ref()?;
        let refusal = rule(body, &conversation())?;
        self.refused.borrow_mut().push(body.clone());
        Some(refusal)
    }
}
