//! Where sessions begin and go on (interface §6, `Rollout` and `Instead`).

use super::document::{Catalog, ConversationContext};
use super::rollout::Newcomer;

impl Catalog {
    /// The context under which a session begins its next user turn that is bound to `bound`: what stands instead of
    /// it, else itself.
    pub fn goes_on_under(&self, bound: &str) -> Option<(&str, &ConversationContext)> {
        let instead = self.conversation_contexts.get(bound)?.instead.as_deref();
        let found = self.conversation_contexts.get_key_value(instead.unwrap_or(bound))?;
        Some(found)
            .filter(|(_, context)| context.is_whole())
            .map(|(id, context)| (id.as_str(), context))
    }

    /// The context under which a session begins that asks for `asked`. Without a newcomer no share is drawn.
    pub fn begins_under(
        &self,
        asked: &str,
        newcomer: Option<&Newcomer<'_>>,
    ) -> Option<(&str, &ConversationContext)> {
        let rollout = self.conversation_contexts.get(asked)?.rollout.as_ref();
        let led = rollout.zip(newcomer).and_then(|(rollout, who)| rollout.leads(asked, who));
        self.goes_on_under(led.unwrap_or(asked))
    }

    /// The agent context of a conversation context, also of one that has an `Instead` beside it.
    pub fn agent_of(&self, conversation: &str) -> Option<&str> {
        let id = self.conversation_contexts.get(conversation)?.agent_context_id.as_str();
        Some(id).filter(|id| !id.is_empty())
    }
}

impl ConversationContext {
    /// Whether turns can run under it: beside `Instead` the other members may be left out.
    pub(super) fn is_whole(&self) -> bool {
        !self.agent_context_id.is_empty() && !self.boot_prompt.is_empty()
    }
}
