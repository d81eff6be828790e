//! Texts by chance: whatever comes, a token, a key set and the variable are read or refused, and a part of a token that
//! is changed is never read as the same.

use std::collections::BTreeMap;

use aptix_edge::identity::{Jws, KeySet, Providers};
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::tokens::{base64url, claims, modulus, point, token, token_of, variable};

/// A text with some of its characters replaced, removed or doubled.
fn spoil(text: &str, changes: &[(usize, u8, char)]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (at, kind, character) in changes {
        let at = at % characters.len().max(1);
        match kind % 3 {
            0 if at < characters.len() => characters[at] = *character,
            1 if at < characters.len() => drop(characters.remove(at)),
            _ => characters.insert(at, *character),
        }
    }
    characters.into_iter().collect()
}

fn changes() -> impl Strategy<Value = Vec<(usize, u8, char)>> {
    let character = prop_oneof![
        any::<char>(),
        prop::sample::select("{}[]\":,.\\u0=+/-_ \n".chars().collect::<Vec<_>>())
    ];
    prop::collection::vec((any::<usize>(), any::<u8>(), character), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    })]

    #[test]
    fn a_spoiled_token_is_another_one_or_none(changes in changes()) {
        let good = token("k", &claims(json!({})));
        let read = Jws::read(&good).unwrap();
        let spoiled = spoil(&good, &changes);
        if let Ok(other) = Jws::read(&spoiled) {
            let is_same = other.signed == read.signed && other.signature == read.signature;
            prop_assert_eq!(is_same, spoiled == good);
        }
    }

    #[test]
    fn spoiled_json_in_a_token_is_read_or_refused(changes in changes(), in_header in any::<bool>()) {
        let (header, payload) = (r#"{"alg":"ES256","kid":"k","typ":"JWT"}"#.to_owned(), claims(json!({})).to_string());
        let token = match in_header {
            true => token_of(&spoil(&header, &changes), &payload),
            false => token_of(&header, &spoil(&payload, &changes)),
        };
        if let Ok(read) = Jws::read(&token) {
            // A number may be one that no double holds.
            let members = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(&read.payload);
            prop_assert!(members.is_ok(), "{}", read.payload);
        }
    }

    #[test]
    fn a_spoiled_set_of_keys_is_read_as_one_that_is_read_again(changes in changes()) {
        let set = json!({ "keys": [point(Some("a"), 1), modulus(2_048), { "kty": "oct", "k": base64url("x") }] });
        if let Ok((set, _)) = KeySet::read(spoil(&set.to_string(), &changes).into_bytes()) {
            prop_assert_eq!(KeySet::read(set.to_json().into_bytes()).unwrap(), (set, Vec::new()));
        }
    }

    #[test]
    fn a_spoiled_variable_is_read_or_refused_with_its_name(changes in changes()) {
        let text = variable(json!({ "RequiredClaims": { "a": "b" }, "Operations": ["Watch"], "ClockSkewS": 5 }));
        if let Err(fault) = Providers::parse(&spoil(&text, &changes)) {
            prop_assert!(fault.message.starts_with("The deployment's variable IDENTITY_PROVIDERS"));
        }
    }
}
