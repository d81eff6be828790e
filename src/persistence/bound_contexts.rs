//! The contexts that a session is bound to beside those in its row (interface §6, `Rollout` and `Instead`): those that its
//! first turn asked for, and those under which earlier turns began.
//!
//! A turn ends under the contexts that it began under. One that is repeated after the session went on under others
//! borrows its own from then on, and gives them back in the step that ends it.

use std::collections::BTreeSet;

use super::conversation::array_of;
use super::entry_seq::EntrySeq;
use super::other_contexts::{Contexts, OtherContexts, PastContexts};
use super::records::{EntryKind, Session};
use super::session_store::SessionStore;
use crate::contract::Result;
use crate::ports::Database;

/// The contexts under which a session goes on.
#[derive(Clone, Debug)]
pub(crate) struct NewContexts {
    pub(crate) contexts: Contexts,
    /// The boot prompt's message, one item, JSON; `None` for an empty prompt.
    pub(crate) boot_message: Option<String>,
}

impl Session {
    /// The contexts that it is bound to, as clients see them.
    pub fn bound(&self) -> Contexts {
        let lent = self.others().and_then(|others| others.lent.as_ref());
        lent.map_or_else(|| self.contexts_in_row(), |lent| lent.contexts.clone())
    }

    /// The conversation context that its first turn asked for, where it is bound to another.
    pub fn asked_conversation(&self) -> Option<String> {
        let asked = self.others()?.asked.as_ref()?;
        (asked.conversation != self.bound().conversation).then(|| asked.conversation.clone())
    }

    /// Notes what was asked for, where that is not what the session is bound to.
    pub fn ask_for(&mut self, asked: Contexts) {
        let is_other = asked.conversation != self.conversation_context;
        let others = self.state.contexts.get_or_insert_default();
        others.asked = is_other.then_some(asked);
        self.drop_empty_others();
    }

    /// Forgets under which contexts earlier turns began: all of them go on under the present ones.
    pub(super) fn forget_other_contexts(&mut self) {
        let copied = self.last_elsewhere();
        self.state.contexts = Some(Box::new(OtherContexts { copied, ..OtherContexts::default() }));
        self.drop_empty_others();
    }

    /// Notes that the calls of its turns up to an ordinal were made under other contexts.
    pub(super) fn part_from_copied(&mut self, turns: u64) {
        self.state.contexts.get_or_insert_default().copied = turns;
    }

    /// Goes on under the contexts that a turn began under, until the turn ends.
    pub(crate) fn borrow_contexts_of(&mut self, turn: u64) {
        let of_turn = self.others().and_then(|others| {
            others.earlier.iter().find(|earlier| earlier.through >= turn).cloned()
        });
        let Some(of_turn) = of_turn else { return };
        let own = self.past(turn);
        if let Some(others) = &mut self.state.contexts {
            others.lent.get_or_insert(own);
        }
        self.bind(of_turn);
    }

    /// Goes back to its own contexts.
    pub(super) fn return_contexts(&mut self) {
        let lent = self.state.contexts.as_mut().and_then(|others| others.lent.take());
        if let Some(lent) = lent {
            self.bind(lent);
        }
    }

    /// Goes back to the contexts that it had after a turn.
    pub(super) fn rewind_contexts(&mut self, turn: u64) {
        let Some(others) = &mut self.state.contexts else { return };
        others.copied = others.copied.min(turn);
        let place = others.earlier.iter().position(|earlier| earlier.through >= turn);
        let Some(place) = place else { return };
        let then = others.earlier.drain(place..).next();
        if let Some(then) = then {
            self.bind(then);
        }
        let asked = self.state.contexts.as_mut().and_then(|others| others.asked.take());
        if let Some(asked) = asked {
            self.ask_for(asked);
        }
        self.drop_empty_others();
    }

    /// Whether a turn, and every call of it, was made under its present contexts.
    pub(super) fn began_under_present_contexts(&self, turn: u64) -> bool {
        self.last_elsewhere() < turn
    }

    /// Ordinal of the last turn of which not every call was made under the present contexts; 0 for none.
    fn last_elsewhere(&self) -> u64 {
        self.others().map_or(0, |others| {
            let earlier = others.earlier.last().map_or(0, |earlier| earlier.through);
            others.copied.max(earlier)
        })
    }

    /// The contexts under which a turn began.
    pub fn contexts_of_turn(&self, turn: u64) -> Contexts {
        let mut earlier = self.others().into_iter().flat_map(|others| &others.earlier);
        let of_turn = earlier.find(|earlier| earlier.through >= turn);
        of_turn.map_or_else(|| self.bound(), |of_turn| of_turn.contexts.clone())
    }

    /// The agent context under which a turn began.
    pub(super) fn agent_of_turn(&self, turn: u64) -> String {
        self.contexts_of_turn(turn).agent
    }

    /// The agent contexts under which its turns began.
    pub fn agents(&self) -> BTreeSet<String> {
        let earlier = self.others().into_iter().flat_map(|others| &others.earlier);
        earlier.map(|earlier| earlier.contexts.agent.clone()).chain([self.bound().agent]).collect()
    }

    fn others(&self) -> Option<&OtherContexts> {
        self.state.contexts.as_deref()
    }

    fn contexts_in_row(&self) -> Contexts {
        Contexts {
            conversation: self.conversation_context.clone(),
            agent: self.agent_context.clone(),
        }
    }

    /// Its present contexts, for turns up to an ordinal.
    fn past(&self, through: u64) -> PastContexts {
        let system_message = self.state.window.system_message.unwrap_or(EntrySeq::FIRST);
        PastContexts { contexts: self.contexts_in_row(), system_message, through }
    }

    /// The contexts that later turns may name: the bound ones, those asked for, those bound before.
    pub fn known_contexts(&self) -> impl Iterator<Item = Contexts> {
        let mut known = vec![self.bound()];
        if let Some(others) = self.others() {
            known.extend(others.asked.clone());
            known.extend(others.earlier.iter().map(|earlier| earlier.contexts.clone()));
        }
        known.into_iter()
    }

    /// Keeps no place for other contexts where there are none.
    fn drop_empty_others(&mut self) {
        self.state.contexts.take_if(|others| **others == OtherContexts::default());
    }

    /// Takes contexts that it had before. Its chain holds the words of others.
    fn bind(&mut self, past: PastContexts) {
        let PastContexts { contexts, system_message, .. } = past;
        self.state.window.system_message = Some(system_message);
        self.drop_chain();
        self.take_contexts(contexts);
    }

    /// Takes other contexts. What is known of one agent context's service does not hold for another's.
    fn take_contexts(&mut self, new: Contexts) {
        if new.agent != self.agent_context {
            self.leave_ladder();
            let window = &mut self.state.window;
            if window.is_of_the_service() {
                (window.from, window.compacted_by) = (EntrySeq::START, None);
            }
            window.service = None;
            self.forget_service();
        }
        (self.agent_context, self.conversation_context) = (new.agent, new.conversation);
    }
}

impl<D: Database> SessionStore<D> {
    /// Has a session go on under other contexts from a turn on, in a step that saves the session. Earlier turns keep
    /// theirs.
    pub(crate) fn go_on_under(
        &self,
        session: &mut Session,
        new: NewContexts,
        turn: u64,
    ) -> Result<()> {
        let before = session.past(turn.saturating_sub(1));
        let others = session.state.contexts.get_or_insert_default();
        others.asked.get_or_insert_with(|| before.contexts.clone());
        others.earlier.push(before);
        self.change_contexts(session, new, turn)
    }

    /// Binds a session to other contexts. Another prompt or agent context begins a new chain; the earlier prompt stays
    /// in the conversation, where transcripts refer to it. `turn` is the one to which the new prompt belongs.
    pub(super) fn change_contexts(
        &self,
        session: &mut Session,
        new: NewContexts,
        turn: u64,
    ) -> Result<()> {
        let present = match self.boot_message(&session.state.window)? {
            Some(entry) => self.items(&[&entry])?.pop(),
            None => None,
        };
        let wanted = new.boot_message.map(array_of);
        if wanted != present {
            session.state.window.system_message = Some(match wanted {
                Some(items) => self.append(turn, EntryKind::System, &items)?,
                None => EntrySeq::START,
            });
            session.drop_chain();
        }
        session.take_contexts(new.contexts);
        Ok(())
    }
}
