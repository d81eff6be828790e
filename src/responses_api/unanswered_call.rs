//! Calls of a response that nobody answers.
//!
//! Source: the published request schema, whose calls and their outputs are joined by `call_id`; the live API refuses to
//! continue a response in which a call lacks its output (`No tool output found for custom tool call …`).

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::output_item::ItemKind;
use crate::json::{first_member, text_of};

/// Whether a response holds a call for which neither the response itself has an output nor this product will make one:
/// of any kind but a function call. No request can continue such a response.
pub fn holds_unanswered_call(items: &[Box<RawValue>]) -> bool {
    let (mut called, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for item in items.iter().filter(|item| ItemKind::of(item).is_hosted()) {
        let text = |name: &str| first_member(item.get(), name).and_then(text_of);
        let (Some(kind), Some(id)) = (text("type"), text("call_id")) else { continue };
        if id.is_empty() {
            continue;
        }
        match kind.ends_with("_output") {
            true => answered.insert(id),
            false => called.insert(id),
        };
    }
    !called.is_subset(&answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_another_kind_than_a_function_needs_its_output_beside_it() {
        let custom =
            r#"{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"n","input":"i"}"#;
        let shell = r#"{"id":"sh_1","call_id":"s","type":"shell_call","action":{}}"#;
        let of_shell = r#"{"type":"shell_call_output","call_id":"s","output":[]}"#;
        let search = r#"{"type":"web_search_call","id":"ws_1","status":"completed","action":{}}"#;
        let call = r#"{"type":"function_call","call_id":"f","name":"f","arguments":"{}"}"#;
        let message = r#"{"type":"message","content":[]}"#;
        for (items, expected) in [
            (vec![message, call, search], false),
            (vec![message, custom], true),
            (vec![shell], true),
            (vec![of_shell, shell], false),
            (vec![shell, of_shell, custom], true),
            (
                vec![r#"{"type":"new_call","call_id":null}"#, r#"{"type":"new_call","call_id":7}"#],
                false,
            ),
        ] {
            let items: Vec<_> =
                items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
            assert_eq!(holds_unanswered_call(&items), expected, "{items:?}");
        }
    }
}
