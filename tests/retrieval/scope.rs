//! The documents that a scope permits (AGN-034 §4.4): each operator, on each key, with one and several values.

use aptix_edge::contract::{RagCondition, RagOperator, RagScope};
use aptix_edge::retrieval::permits;

pub(super) fn scope(conditions: &[(&str, RagOperator, &[&str])]) -> RagScope {
    let condition = |(key, operator, values): &(&str, RagOperator, &[&str])| RagCondition {
        key: (*key).to_owned(),
        operator: *operator,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    RagScope { conditions: conditions.iter().map(condition).collect() }
}

fn permitted(conditions: &[(&str, RagOperator, &[&str])]) -> bool {
    let properties = vec![
        ("team".to_owned(), vec!["billing".to_owned()]),
        ("tags".to_owned(), vec!["api".to_owned(), "public-api".to_owned()]),
        ("blank".to_owned(), vec![String::new()]),
    ];
    permits(&scope(conditions), "src/Billing/a.rs", "rust", &properties)
}

#[test]
fn each_operator_holds_exactly_when_the_interface_says() {
    // Key, values, and whether ==, contains hold; the other two are their opposites.
    for (key, values, equal, contains) in [
        ("Path", &["src/Billing/a.rs"][..], true, true),
        ("Path", &["src/"], false, true),
        ("Path", &["src/billing"], false, false),
        ("Path", &["b.rs", "a.rs"], false, true),
        ("Path", &["b.rs", "src/Billing/a.rs"], true, true),
        ("Path", &[""], false, true),
        ("Language", &["rust"], true, true),
        ("Language", &["Rust"], false, false),
        ("Language", &["csharp", "rust"], true, true),
        ("Language", &["us"], false, true),
        ("language", &["rust"], false, false),
        ("path", &["src"], false, false),
        ("team", &["billing"], true, true),
        ("team", &["bill"], false, true),
        ("team", &["billing "], false, false),
        ("team", &["sales", "billing"], true, true),
        ("tags", &["api"], true, true),
        ("tags", &["public"], false, true),
        ("tags", &["public-api", "x"], true, true),
        ("tags", &["private"], false, false),
        ("blank", &[""], true, true),
        ("blank", &["x"], false, false),
        ("absent", &["x"], false, false),
        ("absent", &[""], false, false),
    ] {
        for (operator, holds) in [
            (RagOperator::Equal, equal),
            (RagOperator::NotEqual, !equal),
            (RagOperator::Contains, contains),
            (RagOperator::DoesNotContain, !contains),
        ] {
            assert_eq!(
                permitted(&[(key, operator, values)]),
                holds,
                "{key} {operator:?} {values:?}"
            );
        }
    }
}

#[test]
fn every_condition_must_hold_and_none_permits_everything() {
    let yes = ("Language", RagOperator::Equal, &["rust"][..]);
    let no = ("Path", RagOperator::Contains, &["tests"][..]);
    assert!(permitted(&[]));
    assert!(permitted(&[yes, yes]));
    assert!(!permitted(&[yes, no]));
    assert!(!permitted(&[no, yes]));
    assert!(permitted(&[yes, ("Path", RagOperator::DoesNotContain, &["tests"])]));
    // The values of one condition are alternatives, two conditions with the same key are not.
    assert!(permitted(&[
        ("tags", RagOperator::Equal, &["api"]),
        ("tags", RagOperator::Equal, &["public-api"])
    ]));
}
