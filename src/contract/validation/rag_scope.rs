//! Reading `RagScope`, for turns and for searches (AGN-034 §4.4).
//!
//! It owns the rules of the scope's shape; what a condition selects is not its business.

use super::values::{full_text, list, one_of, text};
use super::violations::Violations;
use crate::contract::limits;
use crate::contract::request::{RagCondition, RagScope};
use crate::json::{Node, ObjectShape};

const SCOPE: ObjectShape = ObjectShape::new(&["Conditions"], &["Conditions"]);

const CONDITION: ObjectShape =
    ObjectShape::new(&["Key", "Operator", "Values"], &["Key", "Operator", "Values"]);

/// Reads a scope.
pub(super) fn rag_scope(node: Node<'_, '_>, found: &mut Violations) -> Option<RagScope> {
    let mut conditions = None;
    let mut room = limits::CONDITION_VALUES;
    SCOPE.read(node, found, |_, node, found| {
        conditions =
            list(limits::CONDITIONS, node, found, |node, found| condition(node, &mut room, found));
    });
    Some(RagScope { conditions: conditions? })
}

fn condition(node: Node<'_, '_>, room: &mut usize, found: &mut Violations) -> Option<RagCondition> {
    let (mut key, mut operator, mut values) = (None, None, None);
    CONDITION.read(node, found, |name, node, found| match name {
        "Key" => key = full_text(limits::CONDITION_KEY, node, found),
        "Operator" => operator = one_of(node, found),
        _ => values = alternatives(node, room, found),
    });
    Some(RagCondition { key: key?, operator: operator?, values: values? })
}

/// One or more texts; `room` is how many the rest of the scope may still hold.
fn alternatives(
    node: Node<'_, '_>,
    room: &mut usize,
    found: &mut Violations,
) -> Option<Vec<String>> {
    let mut count = 0_usize;
    // The limit on the whole scope is reported below.
    let values = list(usize::MAX, node, found, |node, found| {
        count += 1;
        let within = count <= *room;
        within.then(|| text(limits::CONDITION_VALUE, node, found)).flatten()
    })?;
    if count == 0 {
        found.invalid(node, "must hold at least one value");
    }
    if count > *room {
        let most = limits::CONDITION_VALUES;
        found.invalid(node, &format!("must leave the scope at no more than {most} values in all"));
    }
    *room = room.saturating_sub(count);
    Some(values)
}
