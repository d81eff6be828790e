//! The input items that stand for the items of an output when a call sends the whole conversation.
//!
//! Output and input items differ: ids and statuses refer to state that the service may not keep, and a tool that the
//! service ran by itself in a container of its own has no input form without it. The callers decide which items belong
//! to a conversation.
//!
//! Reasoning and the items behind it belong together. The service refuses a reasoning item unless the item that it gave
//! behind it follows, which it knows by that item's id; and it refuses an item by its id when the reasoning before it is
//! missing. Encrypted reasoning is bound to its id. So either all of them have their own ids, or the reasoning is left
//! out and the others have none.
//! Source: the published request schema, of which every result is an item; for the pairing, recorded requests and
//! refusals.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::output_item::{FunctionCall, ItemHead, ItemKind, Message, OutputItem, Phase};
use crate::json::{Node, Object, first_member, from_object};

/// Writes the input items for the items of one output. Left out are cut calls, tools that ran in state which the
/// service does not keep, and items that cannot be read.
///
/// - Reasoning keeps `id`, `summary` and `encrypted_content`. Without the last one, without the item that the service
///   gave behind it, and unless it is `with_reasoning`, it is left out.
/// - The items behind reasoning, up to the next, have their own ids when it is sent. When it is not, they have none,
///   and those that need one are left out.
/// - A message keeps its text, refusals included, and its `phase`, which guides newer models. Without an id its text is
///   one string, the only form of an assistant's message that does without one.
/// - A function call keeps `call_id`, `arguments`, and a `name` that a function can have.
/// - A compaction stays as it is.
/// - A search, a picture, and a call of an MCP server by the service keep the members that input items have, the id
///   among them.
pub fn for_replay(items: &[&RawValue], with_reasoning: bool, write: &mut dyn FnMut(&RawValue)) {
    let mut before = Before::NoReasoning;
    for item in items {
        before = match ItemKind::of(item) {
            ItemKind::Reasoning => before.then(reasoning(item).filter(|_| with_reasoning)),
            ItemKind::Compaction => {
                write(item);
                Before::NoReasoning
            }
            ItemKind::Message | ItemKind::FunctionCall | ItemKind::Other => {
                before.followed_by(item, write)
            }
        };
    }
}

/// Writes the input items for the messages and the calls of functions of one output, without ids, and no others but a
/// compaction `with_compaction`: what a service takes that knows nothing of the items that it gave out.
pub fn bare(items: &[&RawValue], with_compaction: bool, write: &mut dyn FnMut(&RawValue)) {
    for item in items {
        if with_compaction && is_compaction(item) {
            write(item);
        }
        without_id(item).iter().for_each(|item| write(item));
    }
}

/// The input item of a message of the model that is this text.
pub(crate) fn assistant_message(text: String) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&InputItem::Message { role: ROLE, content: text, phase: None })
}

/// The reasoning before an item of an output.
enum Before {
    NoReasoning,
    /// It is sent with the item behind it, or not at all.
    Unsent(Vec<Box<RawValue>>),
    Sent,
    LeftOut,
}

impl Before {
    /// The state behind one more reasoning item, which is `None` when it cannot be sent.
    fn then(self, reasoning: Option<Box<RawValue>>) -> Self {
        let mut unsent = if let Self::Unsent(unsent) = self { unsent } else { Vec::new() };
        match reasoning {
            Some(reasoning) => {
                unsent.push(reasoning);
                Self::Unsent(unsent)
            }
            None => Self::LeftOut,
        }
    }

    /// Writes an item that is no reasoning, and the reasoning that waits for it.
    fn followed_by(self, item: &RawValue, write: &mut dyn FnMut(&RawValue)) -> Self {
        let (state, item) = match self {
            Self::Unsent(reasoning) => match with_own_id(item) {
                Some(follower) => {
                    reasoning.iter().for_each(|reasoning| write(reasoning));
                    (Self::Sent, Some(follower))
                }
                None => (Self::LeftOut, without_id(item)),
            },
            Self::Sent => (Self::Sent, with_own_id(item).or_else(|| without_id(item))),
            Self::LeftOut => (Self::LeftOut, without_id(item)),
            Self::NoReasoning => {
                (Self::NoReasoning, without_id(item).or_else(|| hosted_item(item)))
            }
        };
        item.iter().for_each(|item| write(item));
        state
    }
}

/// The input item for reasoning; `None` when nobody could read it.
fn reasoning(item: &RawValue) -> Option<Box<RawValue>> {
    let reasoning: Reasoning = from_object(item.get()).ok()?;
    if reasoning.id.is_empty() || reasoning.encrypted_content.is_empty() {
        return None;
    }
    to_raw_value(&InputItem::Reasoning(reasoning)).ok()
}

/// The input item for an item that is no reasoning, with its own id; `None` when it has none, or no input form.
fn with_own_id(item: &RawValue) -> Option<Box<RawValue>> {
    let (ItemHead { id, .. }, read) = OutputItem::read_with_head(item).ok()?;
    let id = id.filter(|id| !id.is_empty());
    let own = match read {
        OutputItem::Message(message) => InputItem::output_message(id?, item, message),
        OutputItem::FunctionCall(call) if call.cut => return None,
        OutputItem::FunctionCall(call) => InputItem::FunctionCall(CallItem::new(Some(id?), call)),
        OutputItem::Other => return hosted_item(item),
    };
    to_raw_value(&own).ok()
}

/// The input item without an id for a message or a call; `None` for any other item, and for a call that was cut.
fn without_id(item: &RawValue) -> Option<Box<RawValue>> {
    let own = match OutputItem::read(item).ok()? {
        OutputItem::Message(Message { parts, phase, .. }) => InputItem::Message {
            role: ROLE,
            content: parts.into_iter().map(|part| part.text).collect(),
            phase: Phase::known(phase),
        },
        OutputItem::FunctionCall(call) if call.cut => return None,
        OutputItem::FunctionCall(call) => InputItem::FunctionCall(CallItem::new(None, call)),
        OutputItem::Other => return None,
    };
    to_raw_value(&own).ok()
}

/// Whether an output item holds all that was said before it, as only the service can read it.
pub fn is_compaction(item: &RawValue) -> bool {
    ItemKind::of(item) == ItemKind::Compaction
}

/// The items of an output that are sent where its newest compaction item stands for all before it: the item, the calls
/// before it, whose outputs come behind the output, and what stands behind it. All items where none is one.
pub fn since_compaction<'a>(items: &[&'a RawValue]) -> Vec<&'a RawValue> {
    let newest = items.iter().rposition(|item| is_compaction(item)).unwrap_or_default();
    let (before, since) = items.split_at_checked(newest).unwrap_or_default();
    let calls = before.iter().filter(|item| ItemKind::of(item) == ItemKind::FunctionCall);
    since.iter().take(1).chain(calls).chain(since.iter().skip(1)).copied().collect()
}

/// The types of items of tools that the service ran by itself and takes back without state, and their members:
/// those that an item must have, and those that it may have.
const HOSTED: [(&str, &[&str], &[&str]); 5] = [
    ("web_search_call", &["id", "status", "action"], &[]),
    ("file_search_call", &["id", "status", "queries"], &["results"]),
    ("image_generation_call", &["id", "status", "result"], &[]),
    ("mcp_list_tools", &["id", "server_label", "tools"], &["error"]),
    ("mcp_call", &["id", "server_label", "name", "arguments"], &["output", "error", "status"]),
];

/// The input item for the item of a tool that the service ran by itself.
fn hosted_item(item: &RawValue) -> Option<Box<RawValue>> {
    // An item has any number of members, of which few are looked for.
    let member = |name: &str| first_member(item.get(), name).filter(|json| *json != "null");
    let kind = Node::root(member("type")?).as_text()?;
    let (_, required, optional) = HOSTED.iter().find(|(known, ..)| *known == kind)?;
    let mut kept: BTreeMap<&str, Cow<'_, RawValue>> = BTreeMap::new();
    for name in ["type"].iter().chain(*required).chain(*optional) {
        match member(name) {
            Some(json) => drop(kept.insert(*name, without_sources(json)?)),
            None if optional.contains(name) => {}
            None => return None,
        }
    }
    to_raw_value(&kept).ok()
}

/// The members of a search's action that the service takes back. The sources, which it gives where it is asked for them,
/// are none: `Unknown parameter: 'input[2].action.sources'` (pydantic/pydantic-ai#2877).
const OF_ACTION: [&str; 5] = ["type", "query", "queries", "url", "pattern"];

/// A member of a hosted tool's item, without the sources of a search.
fn without_sources(json: &str) -> Option<Cow<'_, RawValue>> {
    if first_member(json, "sources").is_none() {
        return serde_json::from_str(json).ok().map(Cow::Borrowed);
    }
    let member = |name: &'static str| {
        let value: &RawValue = serde_json::from_str(first_member(json, name)?).ok()?;
        Some((name, value))
    };
    let members: BTreeMap<&str, &RawValue> = OF_ACTION.into_iter().filter_map(member).collect();
    to_raw_value(&members).ok().map(Cow::Owned)
}

/// The role of a model's message.
const ROLE: &str = "assistant";

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputItem {
    Message {
        role: &'static str,
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
    },
    #[serde(rename = "message")]
    OutputMessage {
        id: String,
        role: &'static str,
        status: &'static str,
        content: Vec<OutputPart>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
    },
    FunctionCall(CallItem),
    Reasoning(Reasoning),
}

impl InputItem {
    fn output_message(id: String, item: &RawValue, message: Message<'_>) -> Self {
        let cut = first_member(item.get(), "status") == Some(r#""incomplete""#);
        let parts = message.parts.into_iter().filter(|part| !part.text.is_empty());
        let mut content: Vec<OutputPart> = parts
            .map(|part| match part.refusal {
                true => OutputPart::Refusal { refusal: part.text },
                false => OutputPart::text(part.text),
            })
            .collect();
        if content.is_empty() {
            content.push(OutputPart::text(Cow::default()));
        }
        Self::OutputMessage {
            id,
            role: ROLE,
            status: if cut { "incomplete" } else { "completed" },
            content,
            phase: Phase::known(message.phase),
        }
    }
}

/// A part of a message that has its id. The schema requires the empty lists.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputPart {
    OutputText { text: Cow<'static, str>, annotations: [(); 0], logprobs: [(); 0] },
    Refusal { refusal: Cow<'static, str> },
}

impl OutputPart {
    fn text(text: Cow<'static, str>) -> Self {
        Self::OutputText { text, annotations: [], logprobs: [] }
    }
}

#[derive(Serialize)]
struct CallItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    call: FunctionCall,
}

/// The longest name of a function, in characters.
const NAME_CHARACTERS: usize = 64;

impl CallItem {
    /// A model may write any name, but the service takes none back that a function cannot have: openai/codex#24369. No
    /// tool was offered under such a name, so a call loses nothing with it.
    fn new(id: Option<String>, call: FunctionCall) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let mut name: String = call.name.chars().map(plain).take(NAME_CHARACTERS).collect();
        if name.is_empty() {
            name.push('_');
        }
        Self { id, call: FunctionCall { name, ..call } }
    }
}

#[derive(Deserialize, Serialize)]
struct Reasoning {
    id: String,
    #[serde(default)]
    summary: Vec<Object<Summary>>,
    encrypted_content: String,
}

#[derive(Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Summary {
    SummaryText { text: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input items for an output, joined by line feeds.
    fn sent(items: &[&str], with_reasoning: bool) -> String {
        let items: Vec<&RawValue> =
            items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        let mut sent = Vec::new();
        for_replay(&items, with_reasoning, &mut |item| sent.push(item.get().to_owned()));
        sent.join("\n")
    }

    fn replayed(item: &str) -> Option<String> {
        Some(sent(&[item], true)).filter(|sent| !sent.is_empty())
    }

    const REASONING: &str = r#"{"id":"rs_1","type":"reasoning","status":null,"encrypted_content":"e",
        "summary":[{"type":"summary_text","text":"s"}],"content":[]}"#;
    const SENT_REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}"#;
    const MESSAGE: &str = r#"{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"final_answer",
        "content":[{"type":"output_text","text":"a\n","annotations":[{"a":1}]},{"type":"refusal","refusal":"b"}]}"#;
    const MESSAGE_WITHOUT_ID: &str =
        r#"{"type":"message","role":"assistant","content":"a\nb","phase":"final_answer"}"#;
    const CALL: &str = r#"{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"}"#;
    const CALL_WITHOUT_ID: &str =
        r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
    const SEARCH: &str = r#"{"action":{"type":"search","query":"q"},"id":"ws_1","status":"completed","type":"web_search_call"}"#;
    #[test]
    fn a_bare_output_is_its_messages_and_calls_without_ids() {
        let compaction = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"e"}"#;
        let items = [compaction, REASONING, SEARCH, MESSAGE, CUSTOM_CALL, CALL];
        let items: Vec<&RawValue> =
            items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        for (with_compaction, begins) in [(true, vec![compaction]), (false, Vec::new())] {
            let mut sent = Vec::new();
            bare(&items, with_compaction, &mut |item| sent.push(item.get().to_owned()));
            assert_eq!(sent, [begins, vec![MESSAGE_WITHOUT_ID, CALL_WITHOUT_ID]].concat());
        }
    }

    const CUSTOM_CALL: &str =
        r#"{"id":"ctc_1","type":"custom_tool_call","call_id":"c","name":"n","input":"i"}"#;

    #[test]
    fn reasoning_goes_back_with_the_items_behind_it_under_their_own_ids() {
        let message = concat!(
            r#"{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":["#,
            r#"{"type":"output_text","text":"a\n","annotations":[],"logprobs":[]},"#,
            r#"{"type":"refusal","refusal":"b"}],"phase":"final_answer"}"#
        );
        let call =
            r#"{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}"#;
        for (items, expected) in [
            (vec![REASONING, MESSAGE], vec![SENT_REASONING, message]),
            (vec![REASONING, CALL, MESSAGE], vec![SENT_REASONING, call, message]),
            (vec![REASONING, REASONING, CALL], vec![SENT_REASONING, SENT_REASONING, call]),
            (
                vec![REASONING, SEARCH, REASONING, MESSAGE],
                vec![SENT_REASONING, SEARCH, SENT_REASONING, message],
            ),
            (vec![MESSAGE, REASONING, CALL], vec![MESSAGE_WITHOUT_ID, SENT_REASONING, call]),
        ] {
            assert_eq!(sent(&items, true), expected.join("\n"), "{items:?}");
        }
        let cut = MESSAGE.replace("completed", "incomplete");
        assert!(sent(&[REASONING, &cut], true).contains(r#""status":"incomplete""#));
        let empty = r#"{"id":"msg_1","type":"message","content":[]}"#;
        assert!(sent(&[REASONING, empty], true).contains(r#"[{"type":"output_text","text":"","#));
    }

    #[test]
    fn reasoning_that_lacks_its_follower_stays_here_and_nothing_behind_it_has_an_id() {
        let unreadable = REASONING.replace(r#""e""#, "null");
        let nameless = REASONING.replace("rs_1", "");
        let cut_call = CALL.replace("completed", "incomplete");
        let message_of_a_gateway = MESSAGE.replace(r#""id":"msg_1","#, "");
        for (items, expected) in [
            (vec![MESSAGE, REASONING], vec![MESSAGE_WITHOUT_ID]),
            (vec![REASONING, CUSTOM_CALL, MESSAGE], vec![MESSAGE_WITHOUT_ID]),
            (vec![REASONING, &cut_call, MESSAGE], vec![MESSAGE_WITHOUT_ID]),
            (vec![REASONING, &message_of_a_gateway], vec![MESSAGE_WITHOUT_ID]),
            (vec![REASONING, &unreadable, CALL], vec![CALL_WITHOUT_ID]),
            (vec![&unreadable, SEARCH, MESSAGE], vec![MESSAGE_WITHOUT_ID]),
            (vec![&nameless, CALL], vec![CALL_WITHOUT_ID]),
        ] {
            assert_eq!(sent(&items, true), expected.join("\n"), "{items:?}");
        }
    }

    #[test]
    fn without_reasoning_nothing_that_belongs_to_it_is_sent() {
        let compaction = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"e"}"#;
        for (items, expected) in [
            (vec![SEARCH, REASONING, CALL], vec![SEARCH, CALL_WITHOUT_ID]),
            (vec![REASONING, SEARCH, MESSAGE, CALL], vec![MESSAGE_WITHOUT_ID, CALL_WITHOUT_ID]),
            (vec![REASONING, compaction, SEARCH], vec![compaction, SEARCH]),
        ] {
            assert_eq!(sent(&items, false), expected.join("\n"), "{items:?}");
        }
    }

    #[test]
    fn what_is_replayed_alone_loses_what_refers_to_the_service_s_state_and_a_compaction_nothing() {
        let cut_call = CALL.replace("completed", "incomplete");
        let unknown_phase = r#"{"type":"message","phase":"new","content":"a"}"#;
        let compaction =
            r#"{ "type":"compaction", "id":"cmp_1", "encrypted_content":"e", "new":1.50 }"#;
        for (item, expected) in [
            (MESSAGE, Some(MESSAGE_WITHOUT_ID)),
            (unknown_phase, Some(r#"{"type":"message","role":"assistant","content":"a"}"#)),
            (CALL, Some(CALL_WITHOUT_ID)),
            (cut_call.as_str(), None),
            (compaction, Some(compaction)),
        ] {
            assert_eq!(replayed(item).as_deref(), expected, "{item}");
        }
    }

    #[test]
    fn a_call_goes_back_under_a_name_that_a_function_can_have() {
        let long = "é".repeat(65);
        let cut = "_".repeat(64);
        for (name, expected) in [
            ("look-up_2", "look-up_2"),
            ("functions.look up", "functions_look_up"),
            ("apply\\u0000", "apply_"),
            ("", "_"),
            (long.as_str(), cut.as_str()),
        ] {
            let named = |call: &str, name: &str| call.replace(r#""f""#, &format!(r#""{name}""#));
            let call = named(CALL, name);
            assert_eq!(replayed(&call), Some(named(CALL_WITHOUT_ID, expected)));
            let behind = sent(&[REASONING, &call], true);
            assert!(behind.contains(&format!(r#""name":"{expected}""#)), "{behind}");
        }
    }

    #[test]
    fn a_hosted_tool_s_item_keeps_the_members_that_an_input_item_may_have() {
        for (item, expected) in [
            (
                r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"},"new":1}"#,
                r#"{"action":{"type":"search","query":"q"},"id":"ws_1","status":"completed","type":"web_search_call"}"#,
            ),
            (
                r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q","sources":[{"type":"url","url":"u"}]}}"#,
                r#"{"action":{"query":"q","type":"search"},"id":"ws_1","status":"completed","type":"web_search_call"}"#,
            ),
            (
                r#"{"id":"fs_1","type":"file_search_call","status":"completed","queries":["q"],"results":null}"#,
                r#"{"id":"fs_1","queries":["q"],"status":"completed","type":"file_search_call"}"#,
            ),
            (
                r#"{"id":"ig_1","type":"image_generation_call","status":"completed","output_format":"png","result":"AA=="}"#,
                r#"{"id":"ig_1","result":"AA==","status":"completed","type":"image_generation_call"}"#,
            ),
            (
                r#"{"id":"mcp_1","type":"mcp_call","server_label":"d","name":"n","arguments":"{}","output":"o","error":null}"#,
                r#"{"arguments":"{}","id":"mcp_1","name":"n","output":"o","server_label":"d","type":"mcp_call"}"#,
            ),
        ] {
            assert_eq!(replayed(item).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_needs_state_and_what_cannot_be_read_is_left_out() {
        for item in [
            r#"{"type":"web_search_call","id":"ws_1","status":"completed","encrypted_content":"e"}"#,
            r#"{"type":"code_interpreter_call","id":"ci_1","status":"completed","container_id":"cntr_1","code":"1","outputs":null}"#,
            r#"{"type":"image_generation_call","id":"ig_1","status":"failed","result":null}"#,
            r#"{"type":"custom_tool_call","call_id":"c","name":"n","input":"i"}"#,
            r#"{"type":"function_call","name":"f"}"#,
            r#"{"id":"msg_1"}"#,
        ] {
            assert_eq!(replayed(item), None, "{item}");
        }
    }
}
