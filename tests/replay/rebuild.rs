//! The body of a model call, from its transcript and what the transcript refers to.

use std::fmt;

use aptix_edge::encoding::sha256_hex;
use aptix_edge::persistence::{EntryKind, EntrySeq};
use aptix_edge::reasoner::{Sending, SentForm};
use aptix_edge::responses_api::{CallMembers, ToolChoice};
use serde_json::value::{RawValue, to_raw_value};

use super::bundle::{Bundle, BundledEntry, BundledTurn, ModelCall};

/// Why a body could not be rebuilt.
#[derive(Debug, PartialEq, Eq)]
pub enum NotRebuilt {
    /// The transcript does not say what the body was made of.
    StoredByOlderVersion,
    /// A text that it refers to is not there.
    MissingText(String),
    /// A text is there, and not the one with that hash.
    ChangedText(String),
    /// An entry of the conversation is not there.
    MissingEntry(EntrySeq),
    /// A text or an entry cannot be read.
    Unreadable(String),
    /// It was rebuilt, and is another body than the one that was sent.
    Differs(String),
}

impl fmt::Display for NotRebuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoredByOlderVersion => {
                f.write_str("cannot be rebuilt: stored by an older version")
            }
            Self::MissingText(hash) => {
                write!(f, "cannot be rebuilt: the export lacks the text {hash}")
            }
            Self::ChangedText(hash) => write!(f, "cannot be rebuilt: the text {hash} was changed"),
            Self::MissingEntry(seq) => {
                write!(f, "cannot be rebuilt: the export lacks entry {} of the conversation", seq.0)
            }
            Self::Unreadable(what) => write!(f, "cannot be rebuilt: {what} cannot be read"),
            Self::Differs(how) => write!(f, "differs from the body that was sent: {how}"),
        }
    }
}

/// Rebuilds the body of one call, and compares it with the hash of the body that was sent.
pub fn rebuild(
    bundle: &Bundle,
    turn: &BundledTurn,
    call: &ModelCall,
) -> Result<String, NotRebuilt> {
    let Some(template) = &call.template else { return Err(NotRebuilt::StoredByOlderVersion) };
    let unreadable = |what: &str| NotRebuilt::Unreadable(what.to_owned());
    let offered = turn.tools.iter().filter(|tool| !(tool.hosted && call.without_hosted_tools));
    let definitions: Vec<&RawValue> = offered.map(|tool| &*tool.definition).collect();
    let tools = to_raw_value(&definitions).map_err(|_| unreadable("the tool list"))?;
    let members = CallMembers {
        tools: call.tools_sent.then_some(&*tools),
        tool_choice: call.tool_choice.as_deref().map(|name| ToolChoice { name }),
        previous_response_id: call.previous_response_id.as_deref(),
    };
    let template = text(bundle, template)?;
    let (head, tail) = members.around_input(template).map_err(|_| unreadable("the template"))?;
    let input = match &call.summarised {
        Some(hash) => text(bundle, hash)?.to_owned(),
        None => input(bundle, call)?,
    };
    let body = format!("{head}{input}{tail}");
    match sha256_hex(body.as_bytes()) == call.body_sha256 {
        true => Ok(body),
        false => Err(NotRebuilt::Differs(difference(call, &body, &input, tools.get()))),
    }
}

/// A text that is what its hash says.
fn text<'a>(bundle: &'a Bundle, hash: &str) -> Result<&'a str, NotRebuilt> {
    let text = bundle.texts.get(hash).ok_or_else(|| NotRebuilt::MissingText(hash.to_owned()))?;
    match sha256_hex(text.as_bytes()) == hash {
        true => Ok(text),
        false => Err(NotRebuilt::ChangedText(hash.to_owned())),
    }
}

/// The items of the entries that were sent, joined by commas.
fn input(bundle: &Bundle, call: &ModelCall) -> Result<String, NotRebuilt> {
    let mut sent = Vec::new();
    for run in &call.input {
        for place in run.first.0..=run.last.0 {
            let seq = EntrySeq(place);
            let entry = bundle.entry(seq).ok_or(NotRebuilt::MissingEntry(seq))?;
            sent.push((entry, run.sending_of(entry.kind)));
        }
    }
    let mut items = Vec::new();
    for (number, (entry, sending)) in sent.iter().enumerate() {
        let place = entry.sequence.0;
        let unreadable = || NotRebuilt::Unreadable(format!("entry {place} of the conversation"));
        if *sending == (Sending { form: SentForm::AsStored, foreign: false }) {
            let stored = entry.items.get();
            let stored = stored.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let stored = stored.ok_or_else(unreadable)?;
            items.extend(Some(stored.to_owned()).filter(|items| !items.is_empty()));
            continue;
        }
        let of_calls = |(entry, _): &&(&BundledEntry, Sending)| {
            matches!(entry.kind, EntryKind::ModelOutput | EntryKind::ToolOutputs)
        };
        let next = sent[number + 1..].iter().find(of_calls);
        let shows = sending.form.shows_outputs(entry.kind);
        let outputs = next.filter(|(next, _)| shows && next.kind == EntryKind::ToolOutputs);
        let outputs = outputs.map(|(outputs, of_them)| (outputs.items.get(), of_them.form));
        sending
            .each_item(entry.items.get(), outputs, &mut |item| items.push(item.get().to_owned()))
            .map_err(|_| unreadable())?;
    }
    Ok(items.join(","))
}

/// What of the body is not as the transcript says. The template is as it was, since its hash is.
fn difference(call: &ModelCall, body: &str, input: &str, tools: &str) -> String {
    let recorded = |name: &str| {
        call.composition.iter().find(|block| block.block == name).map_or(0, |block| block.bytes)
    };
    let entries: Vec<String> = call
        .input
        .iter()
        .map(|sent| match (sent.first.0, sent.last.0) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        })
        .collect();
    let place = match call.summarised {
        Some(_) => "the text to be summarised".to_owned(),
        None => format!("the input (entries {} of the conversation)", entries.join(", ")),
    };
    // Between items stand commas, which the transcript does not count.
    let (sent, rebuilt) = (call.body_bytes, body.len());
    let tools_differ = call.tools_sent && recorded("tools") != tools.len();
    match (sent == rebuilt, tools_differ) {
        (_, true) => format!(
            "the tools have {} bytes, and {} bytes were sent",
            tools.len(),
            recorded("tools")
        ),
        (false, false) => format!(
            "{place} has {} bytes, and {} bytes were sent",
            input.len(),
            (input.len() + sent).saturating_sub(rebuilt)
        ),
        (true, false) if call.tools_sent => {
            format!("it has the same length, so {place} or the tools have other content")
        }
        (true, false) => format!("it has the same length, so {place} has other content"),
    }
}
