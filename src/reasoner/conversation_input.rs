//! The part of the conversation that one model call sends.

use serde_json::value::RawValue;

use super::turn_loop::RunningTurn;
use crate::catalog::Continuation;
use crate::composition::refused_output;
use crate::contract::Fault;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore};
use crate::ports::Database;
use crate::responses_api::for_replay;

/// What a call sends from the conversation.
pub(super) struct Input {
    pub(super) entries: Vec<Entry>,
    /// The chain that it continues; `None` when it is the whole conversation.
    pub(super) previous_response_id: Option<String>,
    /// It is the whole conversation because an earlier call of this step failed.
    pub(super) rebuilt: bool,
    /// Entries that are left out because the service may have refused them.
    pub(super) withheld: Vec<EntrySeq>,
}

impl Input {
    /// The entries that the model service has not got yet; the whole conversation when there is no
    /// chain to continue.
    pub(super) fn owed<D: Database>(
        store: &SessionStore<D>,
        running: &RunningTurn<'_>,
    ) -> Result<Self, Fault> {
        match (running.agent.continuation, &running.session.chain_head) {
            (Continuation::Stored, Some(head)) => Ok(Self {
                entries: store.entries_after(running.session.acknowledged)?,
                previous_response_id: Some(head.clone()),
                rebuilt: false,
                withheld: Vec::new(),
            }),
            (Continuation::Stored, None) | (Continuation::Replay, _) => {
                Self::whole_conversation(store, false)
            }
        }
    }

    /// The whole conversation, which needs no chain.
    pub(super) fn whole_conversation<D: Database>(
        store: &SessionStore<D>,
        rebuilt: bool,
    ) -> Result<Self, Fault> {
        let entries = store.entries_after(EntrySeq::START)?;
        Ok(Self { entries, previous_response_id: None, rebuilt, withheld: Vec::new() })
    }

    /// The entries that the service can refuse now: the turn's own, and those of earlier turns that
    /// the model has not responded to.
    pub(super) fn refusable(&self, running: &RunningTurn<'_>) -> (Vec<EntrySeq>, Vec<EntrySeq>) {
        let refusable = |entry: &&Entry| {
            entry.seq > running.session.acknowledged
                && !entry.withheld
                && matches!(entry.kind, EntryKind::User | EntryKind::ToolOutputs)
        };
        let (own, others): (Vec<&Entry>, Vec<&Entry>) = self
            .entries
            .iter()
            .filter(refusable)
            .partition(|entry| entry.turn == running.turn.ordinal);
        let places = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.seq).collect();
        (places(own), places(others))
    }

    /// It holds stand-ins for outputs that were refused before.
    pub(super) fn stands_in(&self) -> bool {
        self.entries.iter().any(|entry| entry.withheld && entry.kind == EntryKind::ToolOutputs)
    }

    /// The same input with these entries withheld.
    pub(super) fn without(mut self, entries: &[EntrySeq]) -> Self {
        for entry in self.entries.iter_mut().filter(|entry| entries.contains(&entry.seq)) {
            entry.withheld = true;
        }
        self.withheld = entries.to_vec();
        self
    }

    /// The items that are sent: the model's own outputs in the form in which they go back, and
    /// withheld entries in a form that the service takes.
    pub(super) fn items(&self) -> Result<Vec<Box<RawValue>>, Fault> {
        let mut items = Vec::new();
        for entry in &self.entries {
            match (entry.kind, entry.withheld) {
                (EntryKind::ModelOutput, _) => {
                    items.extend(entry.items.iter().filter_map(|item| for_replay(item)));
                }
                (EntryKind::ToolOutputs, true) => {
                    for item in &entry.items {
                        items.push(refused_output(item)?);
                    }
                }
                (EntryKind::User, true) => {}
                (EntryKind::System | EntryKind::User | EntryKind::ToolOutputs, _) => {
                    items.extend(entry.items.iter().cloned());
                }
            }
        }
        Ok(items)
    }
}
