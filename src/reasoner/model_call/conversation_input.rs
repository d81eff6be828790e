//! The part of the conversation that one model call sends, by reference: `streamed_request.rs` reads it.

use serde_json::value::RawValue;

use super::sent_entries::{Sending, SentEntries, SentForm};
use crate::composition::{estimated_bytes, shows_solution_context};
use crate::contract::Result;
use crate::persistence::{Entry, EntryKind, EntrySeq, Rung, SessionStore, Window};
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::RunningTurn;

/// What is read of entries before others go on, in bytes.
const SLICE_BYTES: usize = 256 * 1024;

/// What a call sends.
#[derive(Default)]
pub(crate) struct Input {
    pub(crate) entries: Vec<InputEntry>,
    /// The response that it continues; `None` when it is the whole conversation.
    pub(crate) previous_response_id: Option<String>,
    /// A remedy replaced the unsent entries by the whole conversation.
    pub(crate) rebuilt: bool,
    /// Entries that this call leaves out because the service may have refused them.
    pub(crate) withheld: Vec<EntrySeq>,
}

/// An entry of the conversation, and how it is sent.
pub(crate) struct InputEntry {
    pub(crate) entry: Entry,
    pub(crate) form: SentForm,
    /// The entry is an output of a model, or of its calls, and comes from another service than the one that gets it.
    pub(crate) foreign: bool,
}

impl InputEntry {
    /// An entry as a window sends it.
    fn within(window: &Window, entry: Entry, foreign: bool) -> Self {
        let Entry { seq, kind, withheld, turn, .. } = entry;
        let shortened = window.shortened.filter(|shortened| seq <= shortened.through);
        let is_plain = window.rung.is_some_and(Rung::is_plain) && Some(turn) != window.turn;
        let form = match kind {
            EntryKind::ModelOutput if is_plain => SentForm::Plain,
            EntryKind::ModelOutput if window.rung == Some(Rung::Items) && seq == window.from => {
                SentForm::BareSinceCompaction
            }
            EntryKind::ModelOutput if window.rung.is_some_and(|rung| rung != Rung::Whole) => {
                SentForm::Bare
            }
            EntryKind::ToolOutputs if is_plain && withheld => SentForm::PlainReplacements,
            EntryKind::ToolOutputs if is_plain => SentForm::Plain,
            EntryKind::ModelOutput if seq == window.from => match seq <= window.without_reasoning {
                true => SentForm::WithoutReasoning,
                false => SentForm::SinceCompaction,
            },
            EntryKind::ModelOutput if seq <= window.without_reasoning => {
                SentForm::WholeWithoutReasoning
            }
            EntryKind::ToolOutputs if withheld => SentForm::Replacements,
            EntryKind::ToolOutputs => shortened
                .map_or(SentForm::AsStored, |shortened| SentForm::Shortened(shortened.bytes)),
            EntryKind::User | EntryKind::SummaryMessage
                if seq <= window.without_solution_context =>
            {
                SentForm::WithoutSolutionContext
            }
            EntryKind::User | EntryKind::Steer if is_plain => SentForm::Plain,
            EntryKind::System
            | EntryKind::User
            | EntryKind::Steer
            | EntryKind::ModelOutput
            | EntryKind::SummaryMessage => SentForm::of(kind),
        };
        Self { entry, form, foreign }
    }

    /// How it is sent.
    pub(super) fn sending(&self) -> Sending {
        Sending { form: self.form, foreign: self.foreign }
    }

    /// Whether it is written by its length in storage alone: one item, as it is stored.
    fn is_one_stored_item(&self) -> bool {
        !self.entry.kind.is_of_a_model() && self.form == SentForm::AsStored
    }
}

/// The entry with the outputs of the calls of one of the entries, where its form shows them.
pub(super) fn outputs_shown_by(entries: &[InputEntry], number: usize) -> Option<&InputEntry> {
    let shown_by = entries.get(number)?;
    let mut behind = entries.get(number + 1..)?.iter();
    let next = behind.find(|sent| sent.entry.kind.is_of_a_model())?;
    let shows = shown_by.form.shows_outputs(shown_by.entry.kind);
    (shows && next.entry.kind == EntryKind::ToolOutputs).then_some(next)
}

/// Writes the items of one of the entries, whose stored items are `items`.
pub(super) fn each_item_sent<D: Database>(
    store: &SessionStore<D>,
    entries: &[InputEntry],
    number: usize,
    items: &str,
    write: &mut dyn FnMut(&RawValue),
) -> Result<()> {
    let Some(sent) = entries.get(number) else { return Ok(()) };
    let shown = outputs_shown_by(entries, number);
    let outputs = shown.map(|shown| store.items(&[&shown.entry])).transpose()?;
    let outputs = outputs.as_ref().and_then(|outputs| outputs.first());
    let outputs = outputs.zip(shown).map(|(outputs, shown)| (outputs.as_str(), shown.form));
    sent.sending().each_item(items, outputs, write)
}

/// The length of what is sent of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
    pub(crate) summary_message_bytes: usize,
}

impl Input {
    /// The entries that the model service has not got yet; the whole conversation when there is no
    /// chain to continue.
    pub(crate) fn unsent<D: Database>(
        store: &SessionStore<D>,
        running: &RunningTurn<'_>,
    ) -> Result<Self> {
        match running.session.chain_head.clone().filter(|_| running.continues_chain()) {
            Some(head) => {
                let entries = store.entries_after(running.session.acknowledged)?;
                let sent = Self::within(&running.session.state.window, entries);
                Ok(Self { previous_response_id: Some(head), ..sent })
            }
            None => {
                let whole = Self::whole(store, &running.session.state.window)?;
                // Another service had the conversation, or a part of it.
                let rebuilt = running.comes_anew
                    && running.continues_chain()
                    && running.session.acknowledged != EntrySeq::START;
                Ok(Self { rebuilt, ..whole })
            }
        }
    }

    /// The whole conversation, which continues no response, because a remedy needs it.
    pub(crate) fn rebuild<D: Database>(store: &SessionStore<D>, window: &Window) -> Result<Self> {
        Ok(Self { rebuilt: true, ..Self::whole(store, window)? })
    }

    /// The whole conversation by a window.
    pub(crate) fn whole<D: Database>(store: &SessionStore<D>, window: &Window) -> Result<Self> {
        if *window == Window::default() {
            return Ok(Self::within(window, store.entries_after(EntrySeq::START)?));
        }
        // What an item of the service stands for is said in plain words, or to a service that cannot read the item.
        let is_said = window.is_of_another_service()
            || window.rung.is_some_and(Rung::is_plain) && window.is_of_the_service();
        let from_start = || Window { from: EntrySeq::START, ..window.clone() };
        let window = &if is_said { from_start() } else { window.clone() };
        let summary_message =
            window.summary_message.map(|seq| store.entry(seq)).transpose()?.flatten();
        let first = store.boot_message(window)?.into_iter().chain(summary_message);
        let mut entries = store.entries_in(window)?;
        // The item may have left the conversation, with the turn or the calls beside it.
        let begins = entries.first().is_some_and(|first| first.seq == window.from);
        if window.is_of_the_service() && !begins {
            entries = store.entries_in(&from_start())?;
        }
        Ok(Self::within(window, first.chain(entries)))
    }

    /// The entry at a place and those behind it, as a window sends them.
    pub(super) fn since<D: Database>(
        store: &SessionStore<D>,
        window: &Window,
        seq: EntrySeq,
    ) -> Result<Self> {
        Ok(Self::within(window, store.entries_after(seq.before())?))
    }

    /// Entries as a window sends them.
    fn within(window: &Window, entries: impl IntoIterator<Item = Entry>) -> Self {
        // Whether the output of a model that came last is another service's, and so are the outputs of its calls.
        let mut of_another = false;
        let sent = |entry: Entry| {
            if entry.kind == EntryKind::ModelOutput {
                of_another = entry.service != window.service;
            }
            let foreign = of_another && entry.kind.is_of_a_model();
            InputEntry::within(window, entry, foreign)
        };
        Self { entries: entries.into_iter().map(sent).collect(), ..Self::default() }
    }

    /// The same entries as another window sends them.
    pub(crate) fn sent_within(&self, window: &Window) -> Self {
        let entries = self.entries.iter().map(|sent| sent.entry.clone());
        Self {
            previous_response_id: self.previous_response_id.clone(),
            rebuilt: self.rebuilt,
            ..Self::within(window, entries)
        }
    }

    /// Whether an entry that the service has not received yet shows a solution context.
    pub(crate) fn brings_solution_context<D: Database>(
        &self,
        store: &SessionStore<D>,
        acknowledged: EntrySeq,
    ) -> Result<bool> {
        let mut brings = false;
        for InputEntry { entry, form, .. } in &self.entries {
            let is_message = match entry.kind {
                EntryKind::User | EntryKind::SummaryMessage => true,
                EntryKind::System
                | EntryKind::Steer
                | EntryKind::ModelOutput
                | EntryKind::ToolOutputs => false,
            };
            if is_message && *form == SentForm::AsStored && entry.seq > acknowledged {
                for items in store.items(&[entry])? {
                    let mut read = |item: &RawValue| brings |= shows_solution_context(item);
                    form.each_item(&items, None, &mut read)?;
                }
            }
        }
        Ok(brings)
    }

    /// What its call sends, in the transcript's form.
    pub(crate) fn sent(&self) -> Vec<SentEntries> {
        let mut sent = Vec::new();
        for part in &self.entries {
            SentEntries::add(&mut sent, part.entry.seq, part.entry.kind, part.sending());
        }
        sent
    }

    /// The entries of turns: neither the system message nor a summary message.
    pub(crate) fn verbatim_entries(&self) -> Vec<Entry> {
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
    pub(crate) fn stored_bytes(&self) -> usize {
        self.stored_bytes_after(EntrySeq::START)
    }

    /// The length of its entries after `seq` as they are stored, in bytes.
    pub(crate) fn stored_bytes_after(&self, seq: EntrySeq) -> usize {
        let entries = self.entries.iter().map(|sent| &sent.entry);
        entries.filter(|entry| entry.seq > seq).map(|entry| entry.bytes).sum()
    }

    /// Its length as it is sent. Others go on between two entries that have to be read.
    pub(crate) async fn extent<D: Database>(
        &self,
        platform: &impl Platform,
        store: &SessionStore<D>,
    ) -> Result<Extent> {
        let (mut extent, mut read) = (Extent::default(), 0);
        for (number, sent) in self.entries.iter().enumerate() {
            let before = extent.bytes;
            if sent.is_one_stored_item() {
                extent.items += 1;
                extent.bytes += sent.entry.bytes.saturating_sub("[]".len());
            } else {
                read += sent.entry.bytes;
                if read > SLICE_BYTES {
                    read = 0;
                    platform.yield_to_others().await;
                }
                for items in store.items(&[&sent.entry])? {
                    each_item_sent(store, &self.entries, number, &items, &mut |item| {
                        extent.items += 1;
                        extent.bytes += item.get().len();
                    })?;
                }
            }
            if sent.entry.kind == EntryKind::SummaryMessage {
                extent.summary_message_bytes += extent.bytes - before;
            }
        }
        Ok(extent)
    }

    /// Its length for an estimate of its tokens, in bytes. Each entry is read.
    pub(super) fn weight<D: Database>(&self, store: &SessionStore<D>) -> Result<usize> {
        let mut weight = 0;
        for (number, sent) in self.entries.iter().enumerate() {
            for items in store.items(&[&sent.entry])? {
                let mut weigh = |item: &RawValue| weight += estimated_bytes(item);
                each_item_sent(store, &self.entries, number, &items, &mut weigh)?;
            }
        }
        Ok(weight)
    }

    /// The entries that the service may have refused: the turn's own, and those of earlier turns to
    /// which the model has not responded.
    pub(crate) fn refusable(&self, running: &RunningTurn<'_>) -> (Vec<EntrySeq>, Vec<EntrySeq>) {
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

    /// The same of the earlier turns, those of each turn together, oldest first.
    pub(crate) fn refusable_of_others(&self, running: &RunningTurn<'_>) -> Vec<Vec<EntrySeq>> {
        let (_, others) = self.refusable(running);
        let is_one = |entry: &&Entry| others.contains(&entry.seq);
        let entries: Vec<&Entry> =
            self.entries.iter().map(|sent| &sent.entry).filter(is_one).collect();
        let turns = entries.chunk_by(|entry, next| entry.turn == next.turn);
        turns.map(|entries| entries.iter().map(|entry| entry.seq).collect()).collect()
    }

    /// The steers of the turn that the service has not received yet, oldest first.
    pub(crate) fn unsent_steers(&self, running: &RunningTurn<'_>) -> Vec<EntrySeq> {
        let is_unsent = |entry: &&Entry| {
            entry.kind == EntryKind::Steer
                && entry.turn == running.turn.ordinal
                && entry.seq > running.session.acknowledged
        };
        let entries = self.entries.iter().map(|sent| &sent.entry);
        entries.filter(is_unsent).map(|entry| entry.seq).collect()
    }

    /// The longest of some of its entries.
    pub(super) fn longest_of(&self, some: &[EntrySeq]) -> Vec<EntrySeq> {
        let entries = self.entries.iter().map(|sent| &sent.entry);
        let longest =
            entries.filter(|entry| some.contains(&entry.seq)).max_by_key(|entry| entry.bytes);
        longest.map(|entry| entry.seq).into_iter().collect()
    }

    /// Whether it holds replacements of tool outputs that the service refused before.
    pub(crate) fn holds_replacements(&self) -> bool {
        let is_one = |form| form == SentForm::Replacements || form == SentForm::PlainReplacements;
        self.entries.iter().any(|sent| is_one(sent.form))
    }

    /// The same input without these entries. Tool outputs are replaced, since the calls before them need some.
    pub(crate) fn without(mut self, entries: &[EntrySeq]) -> Self {
        self.entries.retain_mut(|sent| {
            if !entries.contains(&sent.entry.seq) {
                return true;
            }
            sent.form = match sent.form == SentForm::Plain {
                true => SentForm::PlainReplacements,
                false => SentForm::Replacements,
            };
            sent.entry.kind == EntryKind::ToolOutputs
        });
        self.withheld = entries.to_vec();
        self
    }
}
