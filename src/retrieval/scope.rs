//! The documents that a scope permits (AGN-034 §4.4, interface §7).
//!
//! Architecture Invariant: a pure function of a document's attributes. Path, language and
//! properties belong to the document, so all its chunks are permitted or none.

use crate::contract::{Properties, RagCondition, RagOperator, RagScope};

/// Whether every condition holds. Comparison is case-sensitive; a key that the document does not
/// have satisfies only `!=` and `does_not_contain`.
pub fn permits(scope: &RagScope, path: &str, language: &str, properties: &Properties) -> bool {
    scope.conditions.iter().all(|condition| {
        let any = match condition.key.as_str() {
            "Path" => any_fits(condition, path),
            "Language" => any_fits(condition, language),
            key => {
                let held = properties.iter().find(|(known, _)| known == key);
                held.is_some_and(|(_, values)| values.iter().any(|v| any_fits(condition, v)))
            }
        };
        match condition.operator {
            RagOperator::Equal | RagOperator::Contains => any,
            RagOperator::NotEqual | RagOperator::DoesNotContain => !any,
        }
    })
}

/// Whether one of the condition's values equals the value or, with `contains` and
/// `does_not_contain`, is a part of it.
fn any_fits(condition: &RagCondition, value: &str) -> bool {
    condition.values.iter().any(|wanted| match condition.operator {
        RagOperator::Equal | RagOperator::NotEqual => value == wanted,
        RagOperator::Contains | RagOperator::DoesNotContain => value.contains(wanted.as_str()),
    })
}
