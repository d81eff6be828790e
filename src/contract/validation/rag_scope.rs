//! Reading `RagScope`, for turns and for searches (AGN-034 §4.4).
//!
//! It owns the rules of the scope's shape; retrieval decides what a condition selects.

use super::reader::Reader;
use super::values::ValueBudget;
use crate::contract::limits;
use crate::contract::request::{RagCondition, RagScope};
use crate::json::{Node, ObjectShape};

const SCOPE: ObjectShape = ObjectShape::new(&["Conditions"], &["Conditions"]);

const CONDITION: ObjectShape =
    ObjectShape::new(&["Key", "Operator", "Values"], &["Key", "Operator", "Values"]);

/// Reads a scope.
pub(super) fn rag_scope(node: Node<'_, '_>, reader: &mut Reader) -> Option<RagScope> {
    let mut conditions = None;
    let mut budget = ValueBudget {
        owner: "scope",
        most: limits::CONDITION_VALUES,
        used: 0,
        longest: limits::CONDITION_VALUE,
        takes_one_text: false,
    };
    SCOPE.read(node, reader, |_, node, reader| {
        conditions = reader
            .list(limits::CONDITIONS, node, |node, reader| condition(node, &mut budget, reader));
    });
    Some(RagScope { conditions: conditions? })
}

fn condition(
    node: Node<'_, '_>,
    budget: &mut ValueBudget,
    reader: &mut Reader,
) -> Option<RagCondition> {
    let (mut key, mut operator, mut values) = (None, None, None);
    CONDITION.read(node, reader, |name, node, reader| match name {
        "Key" => key = reader.full_text(limits::CONDITION_KEY, node),
        "Operator" => operator = reader.one_of(node),
        _ => values = budget.texts(node, reader),
    });
    Some(RagCondition { key: key?, operator: operator?, values: values? })
}
