//! Which entries of the conversation a call sent, and in which form: with the entries themselves, the input of
//! its body, byte for byte. A transcript keeps it, because entries are withheld and windows move later.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::composition::{
    plain_model_message, plain_user_message, replacement_output, shortened_output,
    without_solution_context,
};
use crate::contract::{Fault, Result};
use crate::persistence::{EntryKind, EntrySeq};
use crate::responses_api::{bare, for_replay, is_compaction, since_compaction, with_plain_call_id};

/// Entries that follow each other and are sent alike: their number does not count for the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct SentEntries {
    pub first: EntrySeq,
    /// The last one, which can be the same.
    pub last: EntrySeq,
    /// The form of those that can have several forms: tool outputs, or model outputs or messages of which only a
    /// part is sent. All others have the form of their kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<SentForm>,
    /// Outputs of a model, or of its calls, come from another service than the one that gets them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// How an entry is sent: its form, and whether another service made it than the one that it is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    pub form: SentForm,
    /// Of an output of a model, or of its calls.
    pub foreign: bool,
}

impl Sending {
    /// Whether the items are sent byte for byte.
    pub(crate) fn is_as_stored(self) -> bool {
        self.form == SentForm::AsStored && !self.foreign
    }

    /// Writes the items that are sent of an entry, as [`SentForm::each_item`] does, and nothing that names another service.
    pub fn each_item(
        self,
        items: &str,
        outputs: Option<(&str, SentForm)>,
        write: &mut dyn FnMut(&RawValue),
    ) -> Result<()> {
        if !self.foreign {
            return self.form.each_item(items, outputs, write);
        }
        // Of an output its messages and its calls of functions, without ids of items.
        let form = match self.form {
            SentForm::ForReplay
            | SentForm::SinceCompaction
            | SentForm::WithoutReasoning
            | SentForm::WholeWithoutReasoning
            | SentForm::BareSinceCompaction => SentForm::Bare,
            other => other,
        };
        form.each_item(items, outputs, &mut |item| write(&with_plain_call_id(item)))
    }
}

impl SentEntries {
    /// The form of one of the entries.
    pub fn form_of(&self, kind: EntryKind) -> SentForm {
        let concerned: &[EntryKind] = match self.form {
            None | Some(SentForm::AsStored | SentForm::ForReplay) => &[],
            Some(
                SentForm::SinceCompaction
                | SentForm::WithoutReasoning
                | SentForm::WholeWithoutReasoning
                | SentForm::Bare
                | SentForm::BareSinceCompaction,
            ) => &[EntryKind::ModelOutput],
            Some(SentForm::Replacements | SentForm::Shortened(_) | SentForm::PlainReplacements) => {
                &[EntryKind::ToolOutputs]
            }
            Some(SentForm::Plain) => {
                &[EntryKind::User, EntryKind::Steer, EntryKind::ModelOutput, EntryKind::ToolOutputs]
            }
            Some(SentForm::WithoutSolutionContext) => &[EntryKind::User, EntryKind::SummaryMessage],
        };
        self.form.filter(|_| concerned.contains(&kind)).unwrap_or(SentForm::of(kind))
    }

    /// How one of the entries is sent.
    pub fn sending_of(&self, kind: EntryKind) -> Sending {
        Sending { form: self.form_of(kind), foreign: self.foreign && kind.is_of_a_model() }
    }

    /// Adds an entry to those that are sent.
    pub(crate) fn add(sent: &mut Vec<Self>, seq: EntrySeq, kind: EntryKind, sending: Sending) {
        match sent.last_mut() {
            Some(before) if seq.follows(before.last) && before.sending_of(kind) == sending => {
                before.last = seq;
            }
            _ => {
                let Sending { form, foreign } = sending;
                let form = Some(form).filter(|form| *form != SentForm::of(kind));
                sent.push(Self { first: seq, last: seq, form, foreign });
            }
        }
    }
}

/// The form in which an entry's items are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentForm {
    AsStored,
    /// Model outputs as the service takes them back, without compaction items.
    ForReplay,
    /// Replacements of tool outputs that the service refused.
    #[serde(rename = "stand_ins")]
    Replacements,
    /// Tool outputs of which so many bytes stay.
    Shortened(u32),
    /// Like [`Self::ForReplay`], from the newest compaction item on, with the calls before it.
    SinceCompaction,
    /// Like that, without reasoning; of an output without a compaction item, all the rest.
    WithoutReasoning,
    /// Like [`Self::ForReplay`], without reasoning.
    WholeWithoutReasoning,
    /// Messages without the solution context.
    WithoutSolutionContext,
    /// Of model outputs, messages and calls of functions alone, without ids.
    Bare,
    /// The same from the newest compaction item on, with it.
    BareSinceCompaction,
    /// Plain messages. A model output shows the outputs of its calls, which the entry behind it holds, so that entry
    /// sends nothing.
    Plain,
    /// The same of tool outputs that the service refused.
    PlainReplacements,
}

impl SentForm {
    /// The form of an entry of which nothing else is known.
    pub fn of(kind: EntryKind) -> Self {
        match kind {
            EntryKind::ModelOutput => Self::ForReplay,
            EntryKind::System
            | EntryKind::User
            | EntryKind::Steer
            | EntryKind::ToolOutputs
            | EntryKind::SummaryMessage => Self::AsStored,
        }
    }

    /// Whether a model output in this form shows the outputs of its calls.
    pub fn shows_outputs(self, kind: EntryKind) -> bool {
        self == Self::Plain && kind == EntryKind::ModelOutput
    }

    /// Writes each of an entry's items, a JSON array, in this form. `outputs` are those of its calls, where the form
    /// shows them: the items of their entry, and its form.
    pub fn each_item(
        self,
        items: &str,
        outputs: Option<(&str, Self)>,
        write: &mut dyn FnMut(&RawValue),
    ) -> Result<()> {
        let items = items_of(items)?;
        match self {
            Self::AsStored => items.iter().for_each(|item| write(item)),
            // Where the conversation begins with the item, the form is one of those since it.
            Self::ForReplay | Self::WholeWithoutReasoning => {
                for_replay(&items, self == Self::ForReplay, &mut |item| {
                    if !is_compaction(item) {
                        write(item);
                    }
                });
            }
            Self::SinceCompaction => for_replay(&since_compaction(&items), true, write),
            Self::WithoutReasoning => for_replay(&since_compaction(&items), false, write),
            Self::WithoutSolutionContext => {
                for item in &items {
                    without_solution_context(item)?.iter().for_each(|item| write(item));
                }
            }
            Self::Replacements => {
                for item in &items {
                    write(&replacement_output(item)?);
                }
            }
            Self::Bare => bare(&items, false, write),
            Self::BareSinceCompaction => bare(&since_compaction(&items), true, write),
            Self::Plain => plain(&items, outputs, write)?,
            Self::PlainReplacements => {}
            Self::Shortened(bytes) => {
                for item in &items {
                    let shortened = shortened_output(item, bytes as usize)?;
                    write(shortened.as_deref().unwrap_or(item));
                }
            }
        }
        Ok(())
    }
}

/// Writes the plain messages of an entry.
fn plain(
    items: &[&RawValue],
    outputs: Option<(&str, SentForm)>,
    write: &mut dyn FnMut(&RawValue),
) -> Result<()> {
    for item in items {
        plain_user_message(item)?.iter().for_each(|message| write(message));
    }
    let mut of_calls: Vec<Box<RawValue>> = Vec::new();
    if let Some((outputs, form)) = outputs {
        for output in items_of(outputs)? {
            of_calls.push(match form == SentForm::PlainReplacements {
                true => replacement_output(output)?,
                false => output.to_owned(),
            });
        }
    }
    plain_model_message(items, &of_calls)?.iter().for_each(|message| write(message));
    Ok(())
}

fn items_of(array: &str) -> Result<Vec<&RawValue>> {
    serde_json::from_str(array)
        .map_err(|_| Fault::internal("A stored part of the conversation is unreadable."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_conversation_takes_few_bytes_and_each_entry_keeps_its_form() {
        use EntryKind::{ModelOutput, System, ToolOutputs, User};
        let mut entries = vec![
            (1, System, SentForm::AsStored),
            (90, EntryKind::SummaryMessage, SentForm::AsStored),
        ];
        entries.push((40, ModelOutput, SentForm::SinceCompaction));
        for turn in 0..10 {
            let seq = 41 + 4 * turn;
            let form = if turn < 5 { SentForm::Shortened(1024) } else { SentForm::AsStored };
            entries.push((seq, User, SentForm::AsStored));
            entries.push((seq + 1, ModelOutput, SentForm::ForReplay));
            entries.push((seq + 2, ToolOutputs, form));
            entries.push((seq + 3, ModelOutput, SentForm::ForReplay));
        }
        // The message at 81 was withheld.
        entries.push((82, ToolOutputs, SentForm::Replacements));
        entries.push((83, User, SentForm::AsStored));
        let mut sent = Vec::new();
        for (seq, kind, form) in &entries {
            let sending = Sending { form: *form, foreign: false };
            SentEntries::add(&mut sent, EntrySeq(*seq), *kind, sending);
        }
        for (seq, kind, form) in &entries {
            let seq = EntrySeq(*seq);
            let run = sent.iter().find(|run| run.first <= seq && seq <= run.last).unwrap();
            assert_eq!(run.form_of(*kind), *form, "{seq:?}");
        }
        assert_eq!(
            serde_json::to_string(&sent).unwrap(),
            concat!(
                r#"[{"First":1,"Last":1},{"First":90,"Last":90},"#,
                r#"{"First":40,"Last":41,"Form":"since_compaction"},{"First":42,"Last":42},"#,
                r#"{"First":43,"Last":62,"Form":{"shortened":1024}},{"First":63,"Last":80},"#,
                r#"{"First":82,"Last":83,"Form":"stand_ins"}]"#
            )
        );
    }

    #[test]
    fn what_other_services_made_stands_together_with_the_messages_between() {
        use EntryKind::{ModelOutput, System, ToolOutputs, User};
        let entries = [
            (1, System, false),
            (2, User, false),
            (3, ModelOutput, true),
            (4, ToolOutputs, true),
            (5, ModelOutput, true),
            (6, User, false),
            (7, ModelOutput, true),
            (8, User, false),
            (9, ModelOutput, false),
            (10, User, false),
        ];
        let mut sent = Vec::new();
        for (seq, kind, foreign) in entries {
            let sending = Sending { form: SentForm::of(kind), foreign };
            SentEntries::add(&mut sent, EntrySeq(seq), kind, sending);
        }
        for (seq, kind, foreign) in entries {
            let seq = EntrySeq(seq);
            let run = sent.iter().find(|run| run.first <= seq && seq <= run.last).unwrap();
            assert_eq!(run.sending_of(kind).foreign, foreign, "{seq:?}");
        }
        assert_eq!(
            serde_json::to_string(&sent).unwrap(),
            r#"[{"First":1,"Last":2},{"First":3,"Last":8,"Foreign":true},{"First":9,"Last":10}]"#
        );
    }
}
