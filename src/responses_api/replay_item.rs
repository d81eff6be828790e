//! The input items that stand for output items when the service keeps nothing and every call sends
//! the whole conversation (`store: false`).
//!
//! Output and input items differ: ids and statuses refer to state that the service does not
//! keep, and a tool that the service ran by itself in a container of its own has no input form without it. The callers
//! decide which items belong to a conversation.
//! Source: the published request schema; every result is an item of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::output_item::{FunctionCall, ItemKind, OutputItem, Phase};

use crate::json::{Object, from_object};

/// The input item for an output item, or `None` where there is none: for cut calls, for reasoning
/// without its encrypted content, for tools that ran in state which the service does not keep, and for items
/// that cannot be read.
///
/// - A message keeps its text, refusals included, as one string: the only form of an
///   assistant's message that needs no id. It keeps its `phase`, which guides newer models.
/// - A function call keeps `call_id`, `name` and `arguments`.
/// - Reasoning keeps `id`, `summary` and `encrypted_content`.
/// - A compaction stays as it is.
/// - A search, a picture, and a call of an MCP server by the service keep the members that input items have.
pub fn for_replay(item: &RawValue) -> Option<Box<RawValue>> {
    let replayed = match OutputItem::read(item).ok()? {
        OutputItem::Message(message) => InputItem::Own(OwnItem::Message {
            role: "assistant",
            content: message.parts.into_iter().map(|part| part.text).collect(),
            phase: Phase::known(message.phase),
        }),
        OutputItem::FunctionCall(call) if call.cut => return None,
        OutputItem::FunctionCall(call) => InputItem::Own(OwnItem::FunctionCall(call)),
        OutputItem::Other if ItemKind::of(item) == ItemKind::Reasoning => {
            let reasoning: Reasoning = from_object(item.get()).ok()?;
            if reasoning.encrypted_content.is_empty() {
                return None;
            }
            InputItem::Own(OwnItem::Reasoning(reasoning))
        }
        OutputItem::Other if is_compaction(item) => return Some(item.to_owned()),
        OutputItem::Other => InputItem::Hosted(hosted_item(item)?),
    };
    to_raw_value(&replayed).ok()
}

/// Whether an output item holds all that was said before it, as only the service can read it.
pub fn is_compaction(item: &RawValue) -> bool {
    ItemKind::of(item) == ItemKind::Compaction
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

/// The members of a hosted tool's item that its input item has.
fn hosted_item(item: &RawValue) -> Option<BTreeMap<&'static str, Box<RawValue>>> {
    let mut members: BTreeMap<&str, Box<RawValue>> = serde_json::from_str(item.get()).ok()?;
    let kind: &str = serde_json::from_str(members.get("type")?.get()).ok()?;
    let (_, required, optional) = HOSTED.iter().find(|(known, ..)| *known == kind)?;
    let mut kept = BTreeMap::new();
    for name in ["type"].iter().chain(*required).chain(*optional) {
        let value = members.remove(*name).filter(|value| value.get() != "null");
        match value {
            Some(value) => drop(kept.insert(*name, value)),
            None if optional.contains(name) => {}
            None => return None,
        }
    }
    Some(kept)
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputItem {
    Own(OwnItem),
    Hosted(BTreeMap<&'static str, Box<RawValue>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OwnItem {
    Message {
        role: &'static str,
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
    },
    FunctionCall(FunctionCall),
    Reasoning(Reasoning),
}

#[derive(Deserialize, Serialize)]
struct Reasoning {
    id: String,
    #[serde(default)]
    summary: Vec<Object<Summary>>,
    encrypted_content: String,
}

#[derive(Deserialize, Serialize)]
struct Summary {
    #[serde(rename = "type")]
    kind: SummaryKind,
    text: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum SummaryKind {
    SummaryText,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(item: &str) -> Option<String> {
        let item = RawValue::from_string(item.to_owned()).unwrap();
        for_replay(&item).map(|raw| raw.get().to_owned())
    }

    #[test]
    fn a_message_keeps_its_text_and_phase_and_loses_what_refers_to_the_service_s_state() {
        assert_eq!(
            replayed(
                r#"{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"final_answer",
                "content":[{"type":"output_text","text":"a\n","annotations":[],"logprobs":[]},
                {"type":"refusal","refusal":"b"}]}"#
            )
            .as_deref(),
            Some(r#"{"type":"message","role":"assistant","content":"a\nb","phase":"final_answer"}"#)
        );
        assert_eq!(
            replayed(r#"{"type":"message","phase":"new","content":"a"}"#).as_deref(),
            Some(r#"{"type":"message","role":"assistant","content":"a"}"#)
        );
    }

    #[test]
    fn a_call_is_replayed_without_its_item_id_and_a_cut_one_not_at_all() {
        let call = |status: &str| {
            replayed(&format!(
                r#"{{"id":"fc_1","type":"function_call","status":"{status}","call_id":"c","name":"f","arguments":"{{}}"}}"#
            ))
        };
        assert_eq!(
            call("completed").as_deref(),
            Some(r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#)
        );
        assert_eq!(call("incomplete"), None);
    }

    #[test]
    fn reasoning_is_replayed_only_when_it_is_encrypted() {
        assert_eq!(
            replayed(
                r#"{"id":"rs_1","type":"reasoning","status":null,"encrypted_content":"e",
                "summary":[{"type":"summary_text","text":"s"}],"content":[]}"#
            )
            .as_deref(),
            Some(
                r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}"#
            )
        );
        for rest in [r#""summary":[]"#, r#""encrypted_content":null"#, r#""encrypted_content":"""#]
        {
            assert_eq!(replayed(&format!(r#"{{"type":"reasoning","id":"rs_1",{rest}}}"#)), None);
        }
    }

    #[test]
    fn a_compaction_is_replayed_as_it_is() {
        let item = r#"{ "type":"compaction", "id":"cmp_1", "encrypted_content":"e", "new":1.50 }"#;
        assert_eq!(replayed(item).as_deref(), Some(item));
    }

    #[test]
    fn a_hosted_tool_s_item_keeps_the_members_that_an_input_item_may_have() {
        for (item, expected) in [
            (
                r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"},"new":1}"#,
                r#"{"action":{"type":"search","query":"q"},"id":"ws_1","status":"completed","type":"web_search_call"}"#,
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
