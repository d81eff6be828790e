//! Reading `RagScope`, for turns and for searches (AGN-034 section 4.4).
//!
//! It owns the rules of the scope's shape; what a condition selects is not its business.

use serde_json::value::RawValue;

use super::json_object::ObjectShape;
use super::json_value::{full_text, invalid, list, one_of, text};
use super::place::Place;
use super::violations::Violations;
use crate::contract::limits;
use crate::contract::request::{RagCondition, RagScope};

const SCOPE: ObjectShape = ObjectShape { required: &["Conditions"], optional: &[], forbidden: &[] };

const CONDITION: ObjectShape =
    ObjectShape { required: &["Key", "Operator", "Values"], optional: &[], forbidden: &[] };

/// Reads the scope at `place`.
pub fn rag_scope(
    value: &RawValue,
    place: &Place<'_>,
    violations: &mut Violations,
) -> Option<RagScope> {
    let mut conditions = None;
    let mut room = limits::CONDITION_VALUES;
    SCOPE.read(value.get(), place, violations, |_, value, place, found| {
        conditions = list(limits::CONDITIONS, value, place, found, |value, place, found| {
            condition(value, place, &mut room, found)
        });
    });
    Some(RagScope { conditions: conditions? })
}

fn condition(
    value: &RawValue,
    place: &Place<'_>,
    room: &mut usize,
    violations: &mut Violations,
) -> Option<RagCondition> {
    let (mut key, mut operator, mut values) = (None, None, None);
    CONDITION.read(value.get(), place, violations, |name, value, place, found| match name {
        "Key" => key = full_text(limits::CONDITION_KEY, value, place, found),
        "Operator" => {
            operator = one_of("==, !=, contains, does_not_contain", value, place, found);
        }
        _ => values = alternatives(value, place, room, found),
    });
    Some(RagCondition { key: key?, operator: operator?, values: values? })
}

fn alternatives(
    value: &RawValue,
    place: &Place<'_>,
    room: &mut usize,
    violations: &mut Violations,
) -> Option<Vec<String>> {
    let mut count = 0_usize;
    // The scope's own limit is told below.
    let values = list(usize::MAX, value, place, violations, |value, place, found| {
        count += 1;
        let within = count <= *room;
        within.then(|| text(limits::CONDITION_VALUE, value, place, found)).flatten()
    })?;
    if count == 0 {
        invalid(violations, place, "must hold at least one value");
    }
    if count > *room {
        invalid(
            violations,
            place,
            &format!(
                "must leave the scope at no more than {} values in all",
                limits::CONDITION_VALUES
            ),
        );
    }
    *room = room.saturating_sub(count);
    Some(values)
}
