//! The part of the conversation that one model call sends, by reference: `streamed_request.rs` reads it.

use super::sent_entries::{Form, SentEntries};
use crate::contract::Fault;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore, Window};
use crate::ports::Database;
use crate::reasoner::running_turn::RunningTurn;

/// What a call sends.
#[derive(Default)]
pub(in crate::reasoner) struct Input {
    pub(in crate::reasoner) parts: Vec<Part>,
    /// The response that it continues; `None` when it is the whole conversation.
    pub(in crate::reasoner) previous_response_id: Option<String>,
    /// A remedy replaced the owed entries by the whole conversation.
    pub(in crate::reasoner) rebuilt: bool,
    /// Entries that this call leaves out because the service may have refused them.
    pub(in crate::reasoner) withheld: Vec<EntrySeq>,
}

/// An entry of the conversation, and how it is sent.
pub(in crate::reasoner) struct Part {
    pub(in crate::reasoner) entry: Entry,
    pub(in crate::reasoner) form: Form,
}

impl From<Entry> for Part {
    fn from(entry: Entry) -> Self {
        let is_refused = entry.withheld && entry.kind == EntryKind::ToolOutputs;
        let form = if is_refused { Form::StandIns } else { Form::of(entry.kind) };
        Self { entry, form }
    }
}

impl Part {
    /// An entry as a window sends it.
    fn within(window: &Window, entry: Entry) -> Self {
        let mut part = Self::from(entry);
        let (seq, kind) = (part.entry.seq, part.entry.kind);
        if kind == EntryKind::ModelOutput && seq == window.from {
            part.form = Form::SinceCompaction;
        }
        if let Some(shortened) = window.shortened.filter(|shortened| seq <= shortened.through)
            && kind == EntryKind::ToolOutputs
            && part.form == Form::AsStored
        {
            part.form = Form::Shortened(shortened.bytes);
        }
        part
    }
}

/// The length of what is sent of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::reasoner) struct Extent {
    pub(in crate::reasoner) items: usize,
    pub(in crate::reasoner) bytes: usize,
    /// Those of the message that stands for turns.
    pub(in crate::reasoner) stand_in_bytes: usize,
}

impl Input {
    /// The entries that the model service has not got yet; the whole conversation when there is no
    /// chain to continue.
    pub(in crate::reasoner) fn owed<D: Database>(
        store: &SessionStore<D>,
        running: &RunningTurn<'_>,
    ) -> Result<Self, Fault> {
        match running.session.chain_head.clone().filter(|_| running.is_chained()) {
            Some(head) => {
                let parts = store.entries_after(running.session.acknowledged)?;
                let parts = parts.into_iter().map(Part::from).collect();
                Ok(Self { previous_response_id: Some(head), ..Self::of(parts) })
            }
            None => Self::whole(store, &running.session.state.window),
        }
    }

    /// The whole conversation, which continues no response, because a remedy needs it.
    pub(in crate::reasoner) fn rebuilt<D: Database>(
        store: &SessionStore<D>,
        window: &Window,
    ) -> Result<Self, Fault> {
        Ok(Self { rebuilt: true, ..Self::whole(store, window)? })
    }

    /// The whole conversation by a window.
    pub(in crate::reasoner) fn whole<D: Database>(
        store: &SessionStore<D>,
        window: &Window,
    ) -> Result<Self, Fault> {
        if *window == Window::default() {
            let entries = store.entries_after(EntrySeq::START)?;
            return Ok(Self::of(entries.into_iter().map(Part::from).collect()));
        }
        let stand_in = window.stand_in.map(|seq| store.entry(seq)).transpose()?.flatten();
        let mut parts: Vec<Part> =
            store.boot_message()?.into_iter().chain(stand_in).map(Part::from).collect();
        let entries = store.entries_in(window)?;
        parts.extend(entries.into_iter().map(|entry| Part::within(window, entry)));
        Ok(Self::of(parts))
    }

    fn of(parts: Vec<Part>) -> Self {
        Self { parts, ..Self::default() }
    }

    /// What its call sends, as the transcript tells it.
    pub(in crate::reasoner) fn sent(&self) -> Vec<SentEntries> {
        let mut sent = Vec::new();
        for Part { entry, form } in &self.parts {
            SentEntries::add(&mut sent, entry.seq, entry.kind, *form);
        }
        sent
    }

    /// The entries that stand here as they were said: neither the system message nor a stand-in.
    pub(in crate::reasoner) fn word_for_word(&self) -> Vec<Entry> {
        let is_said = |entry: &&Entry| match entry.kind {
            EntryKind::System | EntryKind::StandIn => false,
            EntryKind::User | EntryKind::ModelOutput | EntryKind::ToolOutputs => true,
        };
        self.parts.iter().map(|part| &part.entry).filter(is_said).cloned().collect()
    }

    /// The length of its entries as they are stored, in bytes.
    pub(in crate::reasoner) fn stored_bytes(&self) -> usize {
        self.stored_bytes_after(EntrySeq::START)
    }

    /// The length of its entries after `seq` as they are stored, in bytes.
    pub(in crate::reasoner) fn stored_bytes_after(&self, seq: EntrySeq) -> usize {
        let entries = self.parts.iter().map(|part| &part.entry);
        entries.filter(|entry| entry.seq > seq).map(|entry| entry.bytes).sum()
    }

    /// Its length as it is sent. Each entry is read.
    pub(in crate::reasoner) fn extent<D: Database>(
        &self,
        store: &SessionStore<D>,
    ) -> Result<Extent, Fault> {
        let mut extent = Extent::default();
        for part in &self.parts {
            let before = extent.bytes;
            for items in store.items(&[&part.entry])? {
                part.form.each_item(&items, &mut |item| {
                    extent.items += 1;
                    extent.bytes += item.get().len();
                })?;
            }
            if part.entry.kind == EntryKind::StandIn {
                extent.stand_in_bytes += extent.bytes - before;
            }
        }
        Ok(extent)
    }

    /// The entries that the service may have refused: the turn's own, and those of earlier turns to
    /// which the model has not responded.
    pub(in crate::reasoner) fn refusable(
        &self,
        running: &RunningTurn<'_>,
    ) -> (Vec<EntrySeq>, Vec<EntrySeq>) {
        let refusable = |entry: &&Entry| {
            let can_be_refused = match entry.kind {
                EntryKind::User | EntryKind::ToolOutputs => true,
                EntryKind::System | EntryKind::ModelOutput | EntryKind::StandIn => false,
            };
            entry.seq > running.session.acknowledged && !entry.withheld && can_be_refused
        };
        let entries = self.parts.iter().map(|part| &part.entry);
        let (own, others): (Vec<&Entry>, Vec<&Entry>) =
            entries.filter(refusable).partition(|entry| entry.turn == running.turn.ordinal);
        let seqs = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.seq).collect();
        (seqs(own), seqs(others))
    }

    /// Whether it holds stand-ins for tool outputs that the service refused before.
    pub(in crate::reasoner) fn holds_stand_ins(&self) -> bool {
        self.parts.iter().any(|part| part.form == Form::StandIns)
    }

    /// The same input without these entries: the calls before tool outputs need some, so stand-ins
    /// replace them.
    pub(in crate::reasoner) fn without(mut self, entries: &[EntrySeq]) -> Self {
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
