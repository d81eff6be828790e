//! The part of the conversation that one model call sends.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::turn_loop::RunningTurn;
use crate::catalog::Continuation;
use crate::composition::refused_output;
use crate::contract::Fault;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore};
use crate::ports::Database;
use crate::responses_api::for_replay;

/// The entries that a call sends.
pub(super) struct Input {
    pub(super) entries: Vec<Entry>,
    /// The response that it continues; `None` when it is the whole conversation.
    pub(super) previous_response_id: Option<String>,
    /// A remedy replaced the owed entries by the whole conversation.
    pub(super) rebuilt: bool,
    /// Entries that this call leaves out because the service may have refused them.
    pub(super) withheld: Vec<EntrySeq>,
}

impl Input {
    /// The entries that the model service has not got yet; the whole conversation when there is no
    /// chain to continue.
    pub(super) fn owed<D: Database>(
        store: &SessionStore<D>,
        running: &RunningTurn<'_>,
    ) -> Result<Self, Fault> {
        let is_chained = running.agent.continuation == Continuation::Stored;
        let previous_response_id = running.session.chain_head.clone().filter(|_| is_chained);
        let seen = match previous_response_id {
            Some(_) => running.session.acknowledged,
            None => EntrySeq::START,
        };
        let entries = store.entries_after(seen)?;
        Ok(Self { entries, previous_response_id, rebuilt: false, withheld: Vec::new() })
    }

    /// The whole conversation, which continues no response.
    pub(super) fn rebuilt<D: Database>(store: &SessionStore<D>) -> Result<Self, Fault> {
        let entries = store.entries_after(EntrySeq::START)?;
        Ok(Self { entries, previous_response_id: None, rebuilt: true, withheld: Vec::new() })
    }

    /// The entries that the service may have refused: the turn's own, and those of earlier turns to
    /// which the model has not responded.
    pub(super) fn refusable(&self, running: &RunningTurn<'_>) -> (Vec<EntrySeq>, Vec<EntrySeq>) {
        let refusable = |entry: &&Entry| {
            entry.seq > running.session.acknowledged
                && !entry.withheld
                && matches!(entry.kind, EntryKind::User | EntryKind::ToolOutputs)
        };
        let (own, others): (Vec<&Entry>, Vec<&Entry>) = (self.entries.iter().filter(refusable))
            .partition(|entry| entry.turn == running.turn.ordinal);
        let seqs = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.seq).collect();
        (seqs(own), seqs(others))
    }

    /// Whether it holds stand-ins for tool outputs that the service refused before.
    pub(super) fn holds_stand_ins(&self) -> bool {
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

    /// The items to send: model outputs in the form that the service takes back, and stand-ins for
    /// withheld tool outputs.
    pub(super) fn items(&self) -> Result<Vec<Cow<'_, RawValue>>, Fault> {
        let mut items = Vec::new();
        for entry in &self.entries {
            match (entry.kind, entry.withheld) {
                (EntryKind::ModelOutput, _) => {
                    let replayed = entry.items.iter().filter_map(|item| for_replay(item));
                    items.extend(replayed.map(Cow::Owned));
                }
                (EntryKind::ToolOutputs, true) => {
                    for item in &entry.items {
                        items.push(Cow::Owned(refused_output(item)?));
                    }
                }
                (EntryKind::User, true) => {}
                (EntryKind::System | EntryKind::User | EntryKind::ToolOutputs, _) => {
                    items.extend(entry.items.iter().map(|item| Cow::Borrowed(&**item)));
                }
            }
        }
        Ok(items)
    }
}
