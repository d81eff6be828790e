//! Who may what (interface §13): each endpoint with each right of a key, and with and without each operation of a ticket.

use std::collections::BTreeSet;

use aptix_edge::contract::Operation;
use aptix_edge::encoding::sha256_hex;
use aptix_edge::entry::ENDPOINTS;
use aptix_edge::identity::Right;
use bed::*;
use serde_json::{Value, json};

/// What lets a caller do something.
struct Needs {
    /// Of each list a ticket needs one; no ticket does it where there is none.
    ticket: &'static [&'static [Operation]],
    /// Any of these lets a key do it.
    key: &'static [Right],
    /// Any of these lets a key do it for a user.
    key_for_user: &'static [Right],
}

/// Something of a session, which needs one operation.
macro_rules! of_session {
    ($($operation:ident)|+ $(, $also:ident)*) => {
        Needs {
            ticket: &[&[$(Operation::$operation),+] $(, &[Operation::$also])*],
            key: &[Right::Sessions],
            key_for_user: &[Right::ActAs],
        }
    };
}

const OF_WORKSPACE: Needs = Needs { ticket: &[], key: &[Right::Workspaces], key_for_user: &[] };
const OF_USERS: Needs = Needs { ticket: &[], key: &[Right::EraseUsers], key_for_user: &[] };

/// Each endpoint that asks who calls, with the body that decides.
const TABLE: &[(&str, &str, Needs)] = &[
    ("POST /execute", "turn", of_session!(Execute)),
    ("POST /execute", "results", of_session!(Answer | Approve)),
    ("GET /sessions/{SessionId}", "", of_session!(Read)),
    ("GET /sessions/{SessionId}/turns", "", of_session!(Read)),
    ("GET /sessions/{SessionId}/turns/{TurnId}", "", of_session!(Read)),
    ("GET /sessions/{SessionId}/turns/{TurnId}/stream", "", of_session!(Watch)),
    (
        "GET /sessions/{SessionId}/turns/{TurnId}/trace",
        "",
        Needs {
            ticket: &[&[Operation::Trace]],
            key: &[Right::Sessions, Right::Trace],
            key_for_user: &[Right::ActAs, Right::Trace],
        },
    ),
    ("POST /sessions/{SessionId}/turns/{TurnId}/cancel", "", of_session!(Cancel)),
    ("POST /sessions/{SessionId}/turns/{TurnId}/steer", "{}", of_session!(Execute)),
    ("POST /sessions/{SessionId}/fork", "{}", of_session!(Execute, Read)),
    ("GET /sessions/{SessionId}/modes", "", of_session!(Read)),
    ("GET /sessions/{SessionId}/export", "", of_session!(Export)),
    // Whoever may act for a user is told to name one.
    ("GET /sessions", "", Needs { key: &[Right::Sessions, Right::ActAs], ..of_session!(List) }),
    (
        "PATCH /sessions/{SessionId}",
        "{}",
        Needs { key: &[Right::Sessions, Right::ActAs], ..of_session!(Rename) },
    ),
    ("DELETE /sessions/{SessionId}", "", of_session!(Erase)),
    (
        "GET /users/{User}",
        "",
        Needs { ticket: &[], key: &[Right::ActAs], key_for_user: &[Right::ActAs] },
    ),
    ("POST /users/{User}/revoke", "", OF_USERS),
    ("DELETE /users/{User}", "", OF_USERS),
    (
        "POST /workspaces/{WorkspaceId}/search",
        "{}",
        Needs { ticket: &[&[Operation::Search]], key: &[Right::Workspaces], key_for_user: &[] },
    ),
    ("PUT /workspaces/{WorkspaceId}/documents", "{}", OF_WORKSPACE),
    ("DELETE /workspaces/{WorkspaceId}/documents", "", OF_WORKSPACE),
    ("POST /workspaces/{WorkspaceId}/compare", "{}", OF_WORKSPACE),
    ("GET /workspaces/{WorkspaceId}", "", OF_WORKSPACE),
    ("DELETE /workspaces/{WorkspaceId}", "", OF_WORKSPACE),
    // A ticket mints a narrower one.
    (
        "POST /tickets",
        "{}",
        Needs { ticket: &[Operation::ALL], key: &[Right::Tickets], key_for_user: &[] },
    ),
];

/// Those that ask nobody who calls, or hold a link that says it.
const OPEN: [&str; 6] = [
    "GET /",
    "GET /playground/{File}",
    "GET /health",
    "GET /errors",
    "GET /openapi.json",
    "GET /files/{FileId}",
];

fn bed_with_keys() -> Bed {
    let bed = Bed::new();
    bed.deploy("AUTH", "keys");
    let key = |id: &str, may: &[&str]| json!({ "Id": id, "Tenant": "local", "Sha256": sha256_hex(id.as_bytes()), "May": may });
    let rights = || Right::ALL.iter().map(|right| right.as_str());
    let mut keys: Vec<_> = rights().map(|right| key(right, &[right])).collect();
    keys.push(key("all", &rights().collect::<Vec<_>>()));
    bed.deploy("API_KEYS", &json!(keys).to_string());
    let secret = "c2VjcmV0IG9mIGZvcnR5LWVpZ2h0IGJ5dGVzLCB3aGljaCBpcyBlbm91Z2ggcmVhbGx5IQ==";
    bed.deploy("TICKET_KEYS", &json!([{ "Id": "t1", "Secret": secret }]).to_string());
    bed
}

fn asked(bed: &Bed, credential: &str, user: bool, endpoint: &str, body: &str) -> Heard {
    let (method, path) = endpoint.split_once(' ').unwrap();
    let target = path.replace("{SessionId}", "s").replace("{TurnId}", "none");
    let query = if endpoint.starts_with("DELETE /workspaces") { "?Path=a" } else { "" };
    let target = target.replace("{WorkspaceId}", "w").replace("{User}", "bob") + query;
    let body = match body {
        "turn" => turn("t", "Hello").to_string(),
        "results" => results("t", &[("c", json!(1))]).to_string(),
        other => other.to_owned(),
    };
    let bearer = format!("Bearer {credential}");
    let headers = [("Authorization", bearer.as_str()), ("Aptix-User", "alice")];
    bed.wait(&bed.ask(method, &target, &headers[..1 + usize::from(user)], &body)).unwrap()
}

#[test]
fn every_endpoint_stands_in_the_table_of_rights() {
    let known: BTreeSet<&str> = TABLE.iter().map(|(endpoint, ..)| *endpoint).chain(OPEN).collect();
    assert_eq!(known, ENDPOINTS.iter().map(|endpoint| endpoint.label).collect());
}

#[test]
fn a_key_does_what_one_of_its_rights_lets_it_do_and_nothing_else() {
    let bed = bed_with_keys();
    for (endpoint, body, needs) in TABLE {
        for right in Right::ALL {
            for (user, rights) in [(false, needs.key), (true, needs.key_for_user)] {
                let heard = asked(&bed, right.as_str(), user, endpoint, body);
                let place = format!("{endpoint} {body} with {right:?}, for a user: {user}");
                assert_ne!(heard.status, 401, "{place}");
                assert_eq!(heard.status != 403, rights.contains(right), "{place}: {}", heard.body);
                if heard.status == 403 {
                    let missing = heard.details()["Right"].as_str().unwrap();
                    assert_ne!(missing, right.as_str(), "{place}: {}", heard.body);
                }
            }
        }
    }
}

#[test]
fn a_ticket_does_what_its_operations_name_and_nothing_else() {
    let bed = bed_with_keys();
    let minted = |operations: &[Operation]| {
        let asks = json!({
            "User": "alice", "Operations": operations, "Workspaces": ["w"], "ExpiresInS": 3600,
        });
        let headers = [("Authorization", "Bearer all")];
        let heard = bed.wait(&bed.ask("POST", "/tickets", &headers, &asks.to_string())).unwrap();
        heard.result()["Ticket"].as_str().unwrap().to_owned()
    };
    let sets = Operation::ALL.iter().flat_map(|one| {
        let others = Operation::ALL.iter().copied().filter(|other| other != one);
        [vec![*one], others.collect()]
    });
    let tickets: Vec<_> = sets.map(|operations| (minted(&operations), operations)).collect();
    for (endpoint, body, needs) in TABLE {
        for (ticket, operations) in &tickets {
            let heard = asked(&bed, ticket, false, endpoint, body);
            let has_one = |of: &&[Operation]| of.iter().any(|one| operations.contains(one));
            let may = !needs.ticket.is_empty() && needs.ticket.iter().all(has_one);
            let place = format!("{endpoint} {body} with {operations:?}");
            assert_ne!(heard.status, 401, "{place}");
            assert_eq!(heard.status != 403, may, "{place}: {}", heard.body);
            if heard.status == 403 {
                let missing = heard.details()["Operation"].as_str();
                let is_missing = |name| operations.iter().all(|one| one.as_str() != name);
                let is_right = heard.details()["Right"].is_string();
                assert!(missing.map_or(is_right, is_missing), "{place}: {}", heard.body);
            }
        }
    }
}

#[test]
fn whoever_may_cancel_and_not_read_is_shown_nothing_that_a_turn_says() {
    let bed = bed_with_keys();
    let by_key = |target: &str, body: Value| {
        let headers = [("Authorization", "Bearer all"), ("Aptix-User", "alice")];
        bed.wait(&bed.ask("POST", target, &headers, &body.to_string())).unwrap()
    };
    by_key("/execute", turn("ended", "Hello")).final_text();
    for (operations, may_read) in [(json!(["Cancel"]), false), (json!(["Cancel", "Read"]), true)] {
        let waits = format!("waits-{may_read}");
        assert_eq!(by_key("/execute", turn(&waits, "Ask [plan: client]")).calls().len(), 1);
        let minted = by_key("/tickets", json!({ "User": "alice", "Operations": operations }));
        let bearer = format!("Bearer {}", minted.result()["Ticket"].as_str().unwrap());
        for (id, status) in [("ended", "completed"), (waits.as_str(), "aborted")] {
            let target = format!("/sessions/s/turns/{id}/cancel");
            let headers = [("Authorization", bearer.as_str())];
            let shown = bed.wait(&bed.ask("POST", &target, &headers, "")).unwrap();
            assert_eq!(shown.result()["Status"], status);
            assert_eq!(shown.result()["Outcome"].is_null(), !may_read, "{}", shown.text);
        }
    }
}
