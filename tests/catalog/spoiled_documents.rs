//! Reading any spoiled document ends in a catalog or in faults.

use aptix_edge::catalog::Catalog;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::documents::full;
use super::{VALIDATOR, parse};

/// A change to one node of a document.
#[derive(Debug, Clone)]
enum Spoil {
    Replace(Value),
    Remove,
    Rename(String),
    Append(Value),
}

fn spoil() -> impl Strategy<Value = (prop::sample::Index, Spoil)> {
    let texts = [
        "",
        " ",
        "general",
        "ddr",
        "None",
        "default",
        "lookup",
        "agent_change_mode",
        "object",
        "${",
        "${}",
        "${KEY}",
        "https://x",
        "http://",
        "a]\n[b",
        "\u{feff}",
        "é",
        "stored",
    ];
    let value = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![0.5, 1e300, -0.0, 1.0]).prop_map(|number| json!(number)),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec![json!([]), json!({}), json!([{}]), json!({ "": [null] })]),
        Just(json!({ "Index": {} })),
        Just(json!({ "type": "object", "required": [1] })),
    ];
    let way = prop_oneof![
        3 => value.clone().prop_map(Spoil::Replace),
        2 => Just(Spoil::Remove),
        1 => "[A-Za-z~/${}. ]{0,12}".prop_map(Spoil::Rename),
        1 => value.prop_map(Spoil::Append),
    ];
    (any::<prop::sample::Index>(), way)
}

/// The places of all nodes below this one: the parent's pointer and the own name.
fn pointers(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    let mut visit = |name: String, child: &Value| {
        found.push((at.to_owned(), name.clone()));
        let escaped = name.replace('~', "~0").replace('/', "~1");
        pointers(child, &format!("{at}/{escaped}"), found);
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, child)| visit(name.clone(), child))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, child)| visit(index.to_string(), child));
        }
        _ => {}
    }
}

fn apply(document: &mut Value, at: prop::sample::Index, way: Spoil) {
    let mut found = Vec::new();
    pointers(document, "", &mut found);
    if found.is_empty() {
        return;
    }
    let (parent, name) = at.get(&found).clone();
    match document.pointer_mut(&parent).expect("it was just found") {
        Value::Object(members) => match way {
            Spoil::Replace(value) => drop(members.insert(name, value)),
            Spoil::Remove => drop(members.remove(&name)),
            Spoil::Rename(other) => {
                let value = members.remove(&name).unwrap_or_default();
                members.insert(other, value);
            }
            Spoil::Append(value) => drop(members.insert(format!("{name}2"), value)),
        },
        Value::Array(items) => {
            let index: usize = name.parse().expect("an index");
            match way {
                Spoil::Replace(value) => items[index] = value,
                Spoil::Remove => drop(items.remove(index)),
                Spoil::Rename(_) => items.push(items[index].clone()),
                Spoil::Append(value) => items.push(value),
            }
        }
        _ => panic!("{parent} holds nothing"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_spoiled_document_never_panics_and_passes_the_checker_only_if_it_passes_the_schema(
        spoils in prop::collection::vec(spoil(), 1..4),
    ) {
        let mut document = full();
        for (at, way) in spoils {
            apply(&mut document, at, way);
        }
        match parse(&document) {
            Ok(catalog) => {
                prop_assert!(VALIDATOR.is_valid(&document), "the schema refuses {document}");
                let agent = |id: &str| catalog.agent_context(id).is_some();
                let mode = |key: &str| catalog.mode(key).is_some();
                for id in document["ConversationContexts"].as_object().expect("checked").keys() {
                    let context = catalog.conversation_context(id).expect("it was read");
                    prop_assert!(agent(&context.agent_context_id));
                    prop_assert!(context.mode.as_deref().is_none_or(mode));
                }
                prop_assert!(mode(&catalog.default_mode.key));
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    let (parent, _) = fault.path.rsplit_once('/').unwrap_or_default();
                    prop_assert!(document.pointer(parent).is_some(), "{fault} leads nowhere");
                }
            }
        }
    }

    #[test]
    fn a_cut_or_garbled_text_never_panics(
        at in any::<prop::sample::Index>(),
        garbage in ".{0,3}",
        cut in any::<bool>(),
    ) {
        let text = full().to_string();
        let characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        let mut garbled: String = characters[..at].iter().collect();
        garbled.push_str(&garbage);
        if !cut {
            garbled.extend(&characters[at + 1..]);
        }
        if let Err(faults) = Catalog::parse(&garbled) {
            prop_assert!(!faults.is_empty());
        }
    }
}

#[test]
fn a_byte_order_mark_that_an_editor_wrote_spoils_nothing() {
    let text = full().to_string();
    assert_eq!(Catalog::parse(&format!("\u{feff}{text}")), Catalog::parse(&text));
    assert!(Catalog::parse(&format!("\u{feff}\u{feff}{text}")).is_err());
}
