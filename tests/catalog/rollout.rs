//! `Rollout` and `Instead` of conversation contexts: what is read, and what is refused with its place.

use aptix_edge::catalog::{CatalogFault, Newcomer, RolloutBy};
use serde_json::{Value, json};

use super::documents::least;
use super::wrong_documents::fault;
use super::{VALIDATOR, parse, parsed};

/// A document whose conversation contexts are `c` with these members, `d`, `e`, `f` and `g`.
fn contexts(of_c: Value) -> Value {
    let mut document = least();
    let plain = document["ConversationContexts"]["c"].clone();
    for id in ["d", "e", "f", "g"] {
        document["ConversationContexts"][id] = plain.clone();
    }
    for (member, value) in of_c.as_object().unwrap() {
        document["ConversationContexts"]["c"][member] = value.clone();
    }
    document
}

fn rollout(to: Value) -> Value {
    contexts(json!({ "Rollout": { "To": to } }))
}

#[test]
fn shares_have_two_decimals_and_count_by_user_unless_the_catalog_says_otherwise() {
    let document = rollout(json!({ "e": 0.25, "d": 33.33, "f": 66.42 }));
    assert!(VALIDATOR.is_valid(&document));
    let catalog = parsed(&document);
    let read = catalog.conversation_context("c").unwrap().rollout.clone().unwrap();
    let shares: Vec<(&str, u32)> =
        read.to.iter().map(|(id, share)| (id.as_str(), *share)).collect();
    assert_eq!((shares, read.by), (vec![("d", 3333), ("e", 25), ("f", 6642)], RolloutBy::User));

    let of_sessions = contexts(json!({ "Rollout": { "To": { "d": 0 }, "By": "Session" } }));
    assert!(VALIDATOR.is_valid(&of_sessions));
    let catalog = parsed(&of_sessions);
    let read = catalog.conversation_context("c").unwrap().rollout.clone().unwrap();
    assert_eq!(read.by, RolloutBy::Session);
}

#[test]
fn a_context_with_instead_needs_no_other_member_and_leads_sessions_and_shares_away() {
    let mut document = rollout(json!({ "d": 100 }));
    document["ConversationContexts"]["d"] = json!({ "Instead": "e" });
    document["ConversationContexts"]["f"]["Instead"] = json!("c");
    assert!(VALIDATOR.is_valid(&document));
    let catalog = parsed(&document);
    let newcomer = Newcomer { tenant: "t", user: None, session_id: "s" };
    let begins = |asked: &str, who| catalog.begins_under(asked, who).map(|(id, _)| id.to_owned());
    let goes_on = |bound: &str| catalog.goes_on_under(bound).map(|(id, _)| id.to_owned());
    assert_eq!(begins("c", Some(&newcomer)).as_deref(), Some("e"));
    assert_eq!(begins("c", None).as_deref(), Some("c"));
    // The shares of a context that another one has led to are not drawn.
    assert_eq!(begins("f", Some(&newcomer)).as_deref(), Some("c"));
    assert_eq!(
        ["c", "d", "e", "f", "x"].map(goes_on).map(|id| id.unwrap_or_default()),
        ["c", "e", "e", "c", ""]
    );
    assert!(catalog.conversation_context("d").is_none(), "no turn runs under it");
    assert!(catalog.conversation_context("f").is_some(), "those that have begun end under it");
    let listed: Vec<&str> = catalog.conversation_contexts().map(|(id, _)| id).collect();
    assert_eq!(listed, ["c", "e", "f", "g"]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    let place = "/ConversationContexts/c/Rollout";
    let to = format!("{place}/To");
    let share = "must be a number from 0 to 100 with at most two decimals";
    let too_much = "has shares of more than 100 per cent together; lower one of them";
    let count = "must name 1 to 3 contexts";
    let itself = "is the context itself, which has what the others leave; remove it";
    let unknown = "the catalog has no conversation context \"zzz\"; declare it or remove it here";
    let instead = "/ConversationContexts/c/Instead";
    let circle =
        |id: &str| format!("the context \"{id}\" has an \"Instead\" of its own; name one without");
    let led_on = |target: Value| {
        let mut document = contexts(json!({ "Instead": "d" }));
        document["ConversationContexts"]["d"]["Instead"] = target;
        document
    };
    let one = |path: &str, message: &str| vec![fault(path, message)];
    let cases: Vec<(Value, Vec<CatalogFault>, bool)> = vec![
        (rollout(json!({})), one(&to, count), true),
        (rollout(json!({ "d": 1, "e": 1, "f": 1, "g": 1 })), one(&to, count), true),
        (rollout(json!({ "zzz": 1 })), one(&format!("{to}/zzz"), unknown), false),
        (rollout(json!({ "c": 1 })), one(&format!("{to}/c"), itself), false),
        (rollout(json!({ "d": 60, "e": 40.01 })), one(&to, too_much), false),
        (rollout(json!({ "d": 100.01 })), one(&format!("{to}/d"), share), true),
        (rollout(json!({ "d": -1 })), one(&format!("{to}/d"), share), true),
        (rollout(json!({ "d": 0.125 })), one(&format!("{to}/d"), share), false),
        (
            rollout(json!({ "d": "10" })),
            one(&format!("{to}/d"), "must be a number, not a string"),
            true,
        ),
        (
            contexts(json!({ "Rollout": { "By": "User" } })),
            one(&to, "the member \"To\" is missing; add it"),
            true,
        ),
        (
            contexts(json!({ "Rollout": { "To": { "d": 1 }, "By": "Tenant" } })),
            one(&format!("{place}/By"), "must be \"User\" or \"Session\""),
            true,
        ),
        (
            contexts(json!({ "Rollout": { "To": { "d": 1 } }, "Instead": "e" })),
            one(place, "cannot stand beside \"Instead\"; remove one of them"),
            true,
        ),
        (
            contexts(json!({ "Instead": "c" })),
            one(instead, "is the context itself; name another one"),
            false,
        ),
        (contexts(json!({ "Instead": "zzz" })), one(instead, unknown), false),
        (led_on(json!("e")), one(instead, &circle("d")), false),
        (
            led_on(json!("c")),
            vec![
                fault(instead, &circle("d")),
                fault("/ConversationContexts/d/Instead", &circle("c")),
            ],
            false,
        ),
    ];
    for (document, faults, seen_by_schema) in cases {
        assert_eq!(parse(&document).err(), Some(faults), "{document}");
        assert_eq!(!VALIDATOR.is_valid(&document), seen_by_schema, "{document}");
    }
}
