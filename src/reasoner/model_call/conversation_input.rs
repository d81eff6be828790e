//! The part of the conversation that one model call sends, by reference: `streamed_request.rs` reads it.

use super::sent_entries::{Form, SentEntries};
use crate::composition::shows_solution_context;
use crate::contract::Fault;
use crate::persistence::{Entry, EntryKind, EntrySeq, SessionStore, Window};
use crate::ports::Database;
use crate::reasoner::running_turn::RunningTurn;

/// What a call sends.
#[derive(Default)]
pub(in crate::reasoner) struct Input {
    pub(in crate::reasoner) entries: Vec<InputEntry>,
    /// The response that it continues; `None` when it is the whole conversation.
    pub(in crate::reasoner) previous_response_id: Option<String>,
    /// A remedy replaced the unsent entries by the whole conversation.
    pub(in crate::reasoner) rebuilt: bool,
    /// Entries that this call leaves out because the service may have refused them.
    pub(in crate::reasoner) withheld: Vec<EntrySeq>,
}

/// An entry of the conversation, and how it is sent.
pub(in crate::reasoner) struct InputEntry {
    pub(in crate::reasoner) entry: Entry,
    pub(in crate::reasoner) form: Form,
}

impl InputEntry {
    /// An entry as a window sends it.
    fn within(window: &Window, entry: Entry) -> Self {
        let Entry { seq, kind, withheld, .. } = entry;
        let shortened = window.shortened.filter(|shortened| seq <= shortened.through);
        let form = match kind {
            EntryKind::ModelOutput if seq <= window.without_reasoning => Form::WithoutReasoning,
            EntryKind::ModelOutput if seq == window.from => Form::SinceCompaction,
            EntryKind::ToolOutputs if withheld => Form::Replacements,
            EntryKind::ToolOutputs => {
                shortened.map_or(Form::AsStored, |shortened| Form::Shortened(shortened.bytes))
            }
            EntryKind::User | EntryKind::SummaryMessage
                if seq <= window.without_solution_context =>
            {
                Form::WithoutSolutionContext
            }
            EntryKind::System
            | EntryKind::User
            | EntryKind::Steer
            | EntryKind::ModelOutput
            | EntryKind::SummaryMessage => Form::of(kind),
        };
        Self { entry, form }
    }
}

/// The length of what is sent of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::reasoner) struct Extent {
    pub(in crate::reasoner) items: usize,
    pub(in crate::reasoner) bytes: usize,
    /// Those of the summary message.
    pub(in crate::reasoner) summary_message_bytes: usize,
}

impl Input {
    /// The entries that the model service has not got yet; the whole conversation when there is no
    /// chain to continue.
    pub(in crate::reasoner) fn unsent<D: Database>(
        store: &SessionStore<D>,
        running: &RunningTurn<'_>,
    ) -> Result<Self, Fault> {
        match running.session.chain_head.clone().filter(|_| running.is_chained()) {
            Some(head) => {
                let entries = store.entries_after(running.session.acknowledged)?;
                let sent = Self::within(&running.session.state.window, entries);
                Ok(Self { previous_response_id: Some(head), ..sent })
            }
            None => Self::whole(store, &running.session.state.window),
        }
    }

    /// The whole conversation, which continues no response, because a remedy needs it.
    pub(in crate::reasoner) fn rebuild<D: Database>(
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
            return Ok(Self::within(window, store.entries_after(EntrySeq::START)?));
        }
        let summary_message =
            window.summary_message.map(|seq| store.entry(seq)).transpose()?.flatten();
        let first = store.boot_message(window)?.into_iter().chain(summary_message);
        Ok(Self::within(window, first.chain(store.entries_in(window)?)))
    }

    /// Entries as a window sends them.
    fn within(window: &Window, entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries = entries.into_iter().map(|entry| InputEntry::within(window, entry)).collect();
        Self { entries, ..Self::default() }
    }

    /// The same entries as another window sends them.
    pub(in crate::reasoner) fn sent_within(&self, window: &Window) -> Self {
        let entries = self.entries.iter().map(|sent| sent.entry.clone());
        Self {
            previous_response_id: self.previous_response_id.clone(),
            rebuilt: self.rebuilt,
            ..Self::within(window, entries)
        }
    }

    /// Whether an entry that the service has not received yet shows a solution context.
    pub(in crate::reasoner) fn brings_solution_context<D: Database>(
        &self,
        store: &SessionStore<D>,
        acknowledged: EntrySeq,
    ) -> Result<bool, Fault> {
        let mut brings = false;
        for InputEntry { entry, form } in &self.entries {
            let is_message = match entry.kind {
                EntryKind::User | EntryKind::SummaryMessage => true,
                EntryKind::System
                | EntryKind::Steer
                | EntryKind::ModelOutput
                | EntryKind::ToolOutputs => false,
            };
            if is_message && *form == Form::AsStored && entry.seq > acknowledged {
                for items in store.items(&[entry])? {
                    form.each_item(&items, &mut |item| brings |= shows_solution_context(item))?;
                }
            }
        }
        Ok(brings)
    }

    /// What its call sends, in the transcript's form.
    pub(in crate::reasoner) fn sent(&self) -> Vec<SentEntries> {
        let mut sent = Vec::new();
        for InputEntry { entry, form } in &self.entries {
            SentEntries::add(&mut sent, entry.seq, entry.kind, *form);
        }
        sent
    }

    /// The entries of turns: neither the system message nor a summary message.
    pub(in crate::reasoner) fn verbatim_entries(&self) -> Vec<Entry> {
        let is_of_a_turn = |entry: &&Entry| match entry.kind {
            EntryKind::System | EntryKind::SummaryMessage => false,
            EntryKind::User
            | EntryKind::Steer
            | EntryKind::ModelOutput
            | EntryKind::ToolOutputs => true,
        };
        self.entries.iter().map(|sent| &sent.entry).filter(is_of_a_turn).cloned().collect()
    }

    /// The length of its entries as they are stored, in bytes.
    pub(in crate::reasoner) fn stored_bytes(&self) -> usize {
        self.stored_bytes_after(EntrySeq::START)
    }

    /// The length of its entries after `seq` as they are stored, in bytes.
    pub(in crate::reasoner) fn stored_bytes_after(&self, seq: EntrySeq) -> usize {
        let entries = self.entries.iter().map(|sent| &sent.entry);
        entries.filter(|entry| entry.seq > seq).map(|entry| entry.bytes).sum()
    }

    /// Its length as it is sent. Each entry is read.
    pub(in crate::reasoner) fn extent<D: Database>(
        &self,
        store: &SessionStore<D>,
    ) -> Result<Extent, Fault> {
        let mut extent = Extent::default();
        for sent in &self.entries {
            let before = extent.bytes;
            for items in store.items(&[&sent.entry])? {
                sent.form.each_item(&items, &mut |item| {
                    extent.items += 1;
                    extent.bytes += item.get().len();
                })?;
            }
            if sent.entry.kind == EntryKind::SummaryMessage {
                extent.summary_message_bytes += extent.bytes - before;
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
                EntryKind::User | EntryKind::Steer | EntryKind::ToolOutputs => true,
                EntryKind::System | EntryKind::ModelOutput | EntryKind::SummaryMessage => false,
            };
            entry.seq > running.session.acknowledged && !entry.withheld && can_be_refused
        };
        let entries = self.entries.iter().map(|sent| &sent.entry);
        let (own, others): (Vec<&Entry>, Vec<&Entry>) =
            entries.filter(refusable).partition(|entry| entry.turn == running.turn.ordinal);
        let seqs = |entries: Vec<&Entry>| entries.iter().map(|entry| entry.seq).collect();
        (seqs(own), seqs(others))
    }

    /// The steers of the turn that the service has not received yet, oldest first.
    pub(in crate::reasoner) fn unsent_steers(&self, running: &RunningTurn<'_>) -> Vec<EntrySeq> {
        let is_unsent = |entry: &&Entry| {
            entry.kind == EntryKind::Steer
                && entry.turn == running.turn.ordinal
                && entry.seq > running.session.acknowledged
        };
        let entries = self.entries.iter().map(|sent| &sent.entry);
        entries.filter(is_unsent).map(|entry| entry.seq).collect()
    }

    /// Whether it holds replacements of tool outputs that the service refused before.
    pub(in crate::reasoner) fn holds_replacements(&self) -> bool {
        self.entries.iter().any(|sent| sent.form == Form::Replacements)
    }

    /// The same input without these entries. Tool outputs are replaced, since the calls before them need some.
    pub(in crate::reasoner) fn without(mut self, entries: &[EntrySeq]) -> Self {
        self.entries.retain_mut(|sent| {
            if !entries.contains(&sent.entry.seq) {
                return true;
            }
            sent.form = Form::Replacements;
            sent.entry.kind == EntryKind::ToolOutputs
        });
        self.withheld = entries.to_vec();
        self
    }
}
