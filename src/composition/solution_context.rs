//! The `[SOLUTION CONTEXT]` block (AGN-034 §4.5): a part of its own in a user message, and in the message that stands for
//! earlier turns.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::contract::{Fault, Result};
use crate::responses_api::{ReadableItem, ReadablePart, without_text};

/// What stands before the text of a solution context.
pub(super) const SOLUTION_CONTEXT: &str = "[SOLUTION CONTEXT]\n";

/// Whether a user message shows a solution context.
pub(crate) fn shows_solution_context(message: &RawValue) -> bool {
    solution_context_of(message).is_some()
}

/// The solution context that a user message shows.
pub(crate) fn solution_context_of(message: &RawValue) -> Option<String> {
    let ReadableItem::User(parts) = ReadableItem::read(message) else { return None };
    parts.iter().find_map(|part| match part {
        ReadablePart::Text(text) => text.strip_prefix(SOLUTION_CONTEXT).map(str::to_owned),
        ReadablePart::Image | ReadablePart::File(_) => None,
    })
}

/// A user message without its solution context; `None` when nothing else is in it.
pub(crate) fn without_solution_context(message: &RawValue) -> Result<Option<Cow<'_, RawValue>>> {
    without_text(message, SOLUTION_CONTEXT)
        .map_err(|_| Fault::internal("A stored message is unreadable."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::responses_api::{ContentPart, user_message};

    fn message(texts: &[&str]) -> Box<RawValue> {
        let parts: Vec<ContentPart<'_>> =
            texts.iter().map(|text| ContentPart::text(*text)).collect();
        user_message(&parts).unwrap()
    }

    #[test]
    fn a_solution_context_is_recognised_by_its_own_part_only() {
        assert!(shows_solution_context(&message(&["[MODE: general]", "[SOLUTION CONTEXT]\nnet9"])));
        assert!(!shows_solution_context(&message(&["[CONTEXT]\n\n[SOLUTION CONTEXT]\n"])));
        let reasoning = serde_json::from_str(r#"{"type":"reasoning"}"#).unwrap();
        assert!(!shows_solution_context(reasoning));
    }

    #[test]
    fn a_message_without_its_solution_context_keeps_every_other_part() {
        let with = message(&["[MODE: general]", "[SOLUTION CONTEXT]\nnet9", "[CONTEXT]\n…"]);
        let without = message(&["[MODE: general]", "[CONTEXT]\n…"]);
        let left = |message: &RawValue| {
            without_solution_context(message).unwrap().map(|left| left.get().to_owned())
        };
        assert_eq!(left(&with).as_deref(), Some(without.get()));
        assert_eq!(left(&without).as_deref(), Some(without.get()));
        assert_eq!(left(&message(&["[SOLUTION CONTEXT]\nnet9"])), None);
    }
}
