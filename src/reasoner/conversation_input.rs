//! The part of the conversation that one model call sends, by reference: `streamed_request.rs` reads it.

use serde_json::value::RawValue;

use super::turn_loop::RunningTurn;
use crate::catalog::Continuation;
use crate::composition::refused_output;
use crate::contract::Fault;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore};
use crate::ports::Database;
use crate::responses_api::for_replay;

/// What a call sends.
pub(super) struct Input {
    pub(super) parts: Vec<Part>,
    /// The response that it continues; `None` when it is the whole conversation.
    pub(super) previous_response_id: Option<String>,
    /// A remedy replaced the owed entries by the whole conversation.
    pub(super) rebuilt: bool,
    /// Entries that this call leaves out because the service may have refused them.
    pub(super) withheld: Vec<EntrySeq>,
}

/// An entry of the conversation, and how it is sent.
pub(super) struct Part {
    pub(super) entry: Entry,
    pub(super) form: Form,
}

/// The form in which an entry's items are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    AsStored,
    /// Model outputs as the service takes them back.
    ForReplay,
    /// Stand-ins for tool outputs that the service refused.
    StandIns,
}

impl Form {
    /// Writes each of an entry's items, a JSON array, in this form.
    pub(super) fn each_item(
        self,
        items: &str,
        mut write: impl FnMut(&RawValue),
    ) -> Result<(), Fault> {
        let items: Vec<&RawValue> = serde_json::from_str(items)
            .map_err(|_| Fault::internal("A stored part of the conversation is unreadable."))?;
        for item in items {
            match self {
                Self::AsStored => write(item),
                Self::ForReplay => for_replay(item).iter().for_each(|item| write(item)),
                Self::StandIns => write(&refused_output(item)?),
            }
        }
        Ok(())
    }
}

impl From<Entry> for Part {
    fn from(entry: Entry) -> Self {
        let form = match (entry.kind, entry.withheld) {
            (EntryKind::ModelOutput, _) => Form::ForReplay,
            (EntryKind::ToolOutputs, true) => Form::StandIns,
            (EntryKind::System | EntryKind::User | EntryKind::ToolOutputs, _) => Form::AsStored,
        };
        Self { entry, form }
    }
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
        Ok(Self { previous_response_id, ..Self::after(store, seen)? })
    }

    /// The whole conversation, which continues no response.
    pub(super) fn rebuilt<D: Database>(store: &SessionStore<D>) -> Result<Self, Fault> {
        Ok(Self { rebuilt: true, ..Self::after(store, EntrySeq::START)? })
    }

    fn after<D: Database>(store: &SessionStore<D>, seq: EntrySeq) -> Result<Self, Fault> {
        let parts = store.entries_after(seq)?.into_iter().map(Part::from).collect();
        Ok(Self { parts, previous_response_id: None, rebuilt: false, withheld: Vec::new() })
    }

    /// The entries that the service may have refused: the turn's own, and those of earlier turns to
    /// which the model has not responded.
    pub(super) fn refusable(&self, running: &RunningTurn<'_>) -> (Vec<EntrySeq>, Vec<EntrySeq>) {
        let refusable = |entry: &&Entry| {
            entry.seq > running.session.acknowledged
                && !entry.withheld
                && matches!(entry.kind, EntryKind::User | EntryKind::ToolOutputs)
        };
        let entries = self.parts.iter().map(|part| &part.entry);
        let (own, others): (Vec<&Entry>, Vec<&Entry>) =
            entries.filter(refusable).partition(|entry| entry.turn == running.turn.ordinal);
        let seqs = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.seq).collect();
        (seqs(own), seqs(others))
    }

    /// Whether it holds stand-ins for tool outputs that the service refused before.
    pub(super) fn holds_stand_ins(&self) -> bool {
        self.parts.iter().any(|part| part.form == Form::StandIns)
    }

    /// The same input without these entries: the calls before tool outputs need some, so stand-ins
    /// replace them.
    pub(super) fn without(mut self, entries: &[EntrySeq]) -> Self {
        self.parts.retain_mut(|part| {
            if !entries.contains(&part.entry.seq) {
                return true;
            }
            part.form = Form::StandIns;
            part.entry.kind == EntryKind::ToolOutputs
        });
        self.withheld = entries.to_vec();
        self
    }
}
