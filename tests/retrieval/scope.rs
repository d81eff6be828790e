//! The documents that a scope permits (AGN-034 §4.4): each operator, on each key, with one and several values.

use aptix_edge::contract::{Document, Properties, RagCondition, RagOperator, RagScope};
use aptix_edge::encoding::language_of;
use proptest::prelude::*;

use super::storage::Storage;
use super::{Index, document};

/// Whether a document is within a scope, in the words of the interface.
pub(super) fn permits(scope: &RagScope, document: &Document) -> bool {
    let language = language_of(document.language.as_deref(), &document.path);
    scope.conditions.iter().all(|condition| {
        let held: Vec<&str> = match condition.key.as_str() {
            "Path" => vec![&document.path],
            "Language" => vec![&language],
            key => {
                let of_key = document.properties.iter().filter(|(known, _)| known == key);
                of_key.flat_map(|(_, values)| values).map(String::as_str).collect()
            }
        };
        let any = |fits: fn(&str, &str) -> bool| {
            held.iter().any(|held| condition.values.iter().any(|wanted| fits(held, wanted)))
        };
        match condition.operator {
            RagOperator::Equal => any(|held, wanted| held == wanted),
            RagOperator::NotEqual => !any(|held, wanted| held == wanted),
            RagOperator::Contains => any(|held, wanted| held.contains(wanted)),
            RagOperator::DoesNotContain => !any(|held, wanted| held.contains(wanted)),
        }
    })
}

pub(super) fn scope(conditions: &[(&str, RagOperator, &[&str])]) -> RagScope {
    let condition = |(key, operator, values): &(&str, RagOperator, &[&str])| RagCondition {
        key: (*key).to_owned(),
        operator: *operator,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    RagScope { conditions: conditions.iter().map(condition).collect() }
}

fn permitted(conditions: &[(&str, RagOperator, &[&str])]) -> bool {
    let mut put = document("src/Billing/a.rs", "alpha\n");
    put.properties = vec![
        ("blank".to_owned(), vec![String::new()]),
        ("tags".to_owned(), vec!["api".to_owned(), "public-api".to_owned()]),
        ("team".to_owned(), vec!["billing".to_owned()]),
        ("z\0ero".to_owned(), vec!["a\0b".to_owned()]),
    ];
    let index = Index::new(Storage::new());
    index.upsert(&[put]).unwrap();
    !index.search("alpha", Some(&scope(conditions)), 8, usize::MAX).unwrap().is_empty()
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
        ("z\0ero", &["a\0b"], true, true),
        ("z\0ero", &["a"], false, true),
        ("z\0ero", &["b"], false, true),
        ("z\0ero", &["a\0c"], false, false),
        ("z", &["a\0b"], false, false),
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

/// Few different texts, so that many are equal or contain each other.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("A"),
        Just("ab"),
        Just("é"),
        Just("e\u{301}"),
        Just("日本"),
        Just("🦀"),
        Just("'"),
        Just("\""),
        Just("%"),
        Just("_"),
        Just("*"),
        Just("?"),
        Just("["),
        Just("\\"),
        Just("\0"),
        Just("\n"),
        Just(" "),
        Just("$[1]"),
        Just("null"),
        Just("1"),
        Just("\u{2028}"),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Path".to_owned()),
        Just("Language".to_owned()),
        Just("k".to_owned()),
        text().prop_filter("a key has a name", |key| !key.is_empty()),
    ]
}

fn conditions() -> impl Strategy<Value = Vec<RagCondition>> {
    let operator = prop_oneof![
        Just(RagOperator::Equal),
        Just(RagOperator::NotEqual),
        Just(RagOperator::Contains),
        Just(RagOperator::DoesNotContain),
    ];
    let values = prop::collection::vec(
        prop_oneof![4 => text(), 1 => Just("p1".to_owned()),
        1 => Just("plaintext".to_owned())],
        1..4,
    );
    let condition = (key(), operator, values).prop_map(|(key, operator, values)| RagCondition {
        key,
        operator,
        values,
    });
    prop::collection::vec(condition, 0..4)
}

fn properties() -> impl Strategy<Value = Properties> {
    let key = key().prop_filter("its own", |key| key != "Path" && key != "Language");
    prop::collection::btree_map(key, prop::collection::vec(text(), 1..4), 0..4)
        .prop_map(|properties| properties.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scope_permits_what_the_interface_says_whatever_the_texts(
        of_documents in prop::collection::vec((properties(), text()), 1..8),
        of_replaced in prop::collection::vec(properties(), 0..4),
        scopes in prop::collection::vec(conditions(), 4),
    ) {
        let mut documents: Vec<Document> = of_documents.into_iter().enumerate().map(|(n, (properties, name))| {
            Document { properties, ..document(&format!("p{n}{name}"), "alpha\n") }
        }).collect();
        let index = Index::new(Storage::new());
        index.upsert(&documents).unwrap();
        for (document, properties) in documents.iter_mut().zip(of_replaced) {
            document.properties = properties;
        }
        index.upsert(&documents).unwrap();
        for conditions in scopes {
            let scope = RagScope { conditions };
            let found = index.search("alpha", Some(&scope), 100, usize::MAX).unwrap();
            let mut found: Vec<String> = found.into_iter().map(|chunk| chunk.path).collect();
            let mut permitted: Vec<String> = documents.iter().filter(|document| permits(&scope, document))
                .map(|document| document.path.clone()).collect();
            found.sort();
            permitted.sort();
            prop_assert_eq!(found, permitted, "{:?}", scope);
        }
    }
}
