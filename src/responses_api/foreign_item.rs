//! The input items that stand for what another service has made, and for the outputs of its calls: nothing in them
//! refers to that service. Its ids mean nothing here, its reasoning and its compactions nobody here can read, and a
//! service may take shorter ids of calls than the other one gives.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};

use crate::encoding::sha256_hex;
use crate::json::first_member;

/// The longest id of a call that every service takes.
const CALL_ID_BYTES: usize = 64;

/// An item with the id of its call in a form that every service takes. The call and its output get the same.
pub fn with_plain_call_id(item: &RawValue) -> Cow<'_, RawValue> {
    renamed(item).map_or(Cow::Borrowed(item), Cow::Owned)
}

/// The item under the other id of its call; `None` where that is not needed.
fn renamed(item: &RawValue) -> Option<Box<RawValue>> {
    let text = item.get();
    let held = first_member(text, "call_id")?;
    let id: String = serde_json::from_str(held).ok()?;
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if id.len() <= CALL_ID_BYTES && id.bytes().all(is_plain) {
        return None;
    }
    let plain = format!("call_{}", sha256_hex(id.as_bytes()).get(..32)?);
    let plain = to_raw_value(&plain).ok()?;
    // The member is a slice of the item.
    let start = held.as_ptr().addr() - text.as_ptr().addr();
    let mut named = text.to_owned();
    named.replace_range(start..start + held.len(), plain.get());
    RawValue::from_string(named).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responses_api::bare;

    fn sent(items: &[&str]) -> Vec<String> {
        let items: Vec<&RawValue> =
            items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        let mut sent = Vec::new();
        let mut write = |item: &RawValue| sent.push(with_plain_call_id(item).get().to_owned());
        bare(&items, false, &mut write);
        sent
    }

    #[test]
    fn a_call_and_its_output_get_the_same_id_where_a_service_may_not_take_theirs() {
        let compaction = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"e"}"#;
        for (id, is_taken) in [
            ("a".repeat(64), true),
            ("call-A_9".to_owned(), true),
            ("a".repeat(65), false),
            ("functions.f:0".to_owned(), false),
            ("ä".to_owned(), false),
            ("\"".to_owned(), false),
            (String::new(), true),
        ] {
            let quoted = serde_json::to_string(&id).unwrap();
            let of = |item: &str| -> String {
                let item: serde_json::Value = serde_json::from_str(item).unwrap();
                item["call_id"].as_str().unwrap().to_owned()
            };
            let call = format!(
                r#"{{"type":"function_call","call_id":{quoted},"name":"f","arguments":"{{\"call_id\":1}}"}}"#
            );
            let output =
                format!(r#"{{"type":"function_call_output","call_id":{quoted},"output":"o"}}"#);
            let raw = RawValue::from_string(output).unwrap();
            let made = sent(&[compaction, &call]);
            let (of_call, of_output) = (of(&made[0]), of(with_plain_call_id(&raw).get()));
            assert_eq!((made.len(), &of_call), (1, &of_output));
            let hashed =
                format!("call_{}", sha256_hex(id.as_bytes()).get(..32).unwrap_or_default());
            assert_eq!(of_call, if is_taken { id } else { hashed });
        }
    }
}
