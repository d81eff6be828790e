//! Reading `RagScope`, for turns and for searches (AGN-034 §4.4).
//!
//! It owns the rules of the scope's shape; retrieval decides what a condition selects.

use super::reader::Reader;
use crate::contract::limits;
use crate::contract::request::{RagCondition, RagScope};
use crate::json::{Node, ObjectShape};

const SCOPE: ObjectShape = ObjectShape::new(&["Conditions"], &["Conditions"]);

const CONDITION: ObjectShape =
    ObjectShape::new(&["Key", "Operator", "Values"], &["Key", "Operator", "Values"]);

pub(super) fn rag_scope(node: Node<'_, '_>, reader: &mut Reader) -> Option<RagScope> {
    let mut conditions = None;
    SCOPE.read(node, reader, |_, node, reader| {
        conditions = reader.list(limits::CONDITIONS, node, condition);
    });
    Some(RagScope { conditions: conditions? })
}

fn condition(node: Node<'_, '_>, reader: &mut Reader) -> Option<RagCondition> {
    let (mut key, mut operator, mut values) = (None, None, None);
    CONDITION.read(node, reader, |name, node, reader| match name {
        "Key" => key = reader.full_text(limits::CONDITION_KEY, node),
        "Operator" => operator = reader.one_of(node),
        "Values" => {
            values = reader.full_list(limits::CONDITION_VALUES, "value", node, |node, reader| {
                reader.text(limits::CONDITION_VALUE, node)
            });
        }
        _ => {}
    });
    Some(RagCondition { key: key?, operator: operator?, values: values? })
}
