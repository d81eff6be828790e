//! Two versions meet while a deploy takes hold (interface §3): what an object cannot do as it is asked is not begun, and the
//! same request works when all are of one version.

use aptix_edge::ports::{INNER_PROTOCOL, ObjectClass};
use bed::*;
use serde_json::{Value, json};

use crate::users::people::{Asking, people, words};

const OTHERS: [u32; 2] = [INNER_PROTOCOL - 1, INNER_PROTOCOL + 1];

/// Every kind of request that an object answers, with whoever acts for Alice.
const REQUESTS: [(&str, &str, Option<&str>); 19] = [
    ("POST", "/execute", None),
    ("POST", "/execute", Some("alice")),
    ("GET", "/sessions/s", None),
    ("GET", "/sessions/s/turns", None),
    ("GET", "/sessions/s/turns/t1", None),
    ("GET", "/sessions/s/turns/t1/trace", None),
    ("GET", "/sessions/s/turns/t1/stream", None),
    ("GET", "/sessions/s/modes", None),
    ("GET", "/sessions/s/export", None),
    ("POST", "/sessions/s/turns/t1/cancel", None),
    ("POST", "/sessions/s/turns/t1/steer", None),
    ("POST", "/sessions/s/fork", None),
    ("DELETE", "/sessions/s", None),
    ("GET", "/sessions", Some("alice")),
    ("DELETE", "/sessions/a", Some("alice")),
    ("POST", "/users/alice/revoke", None),
    ("DELETE", "/users/alice", None),
    ("PUT", "/workspaces/w/documents", None),
    ("GET", "/workspaces/w", None),
];

fn body_of(target: &str) -> Value {
    match target.rsplit('/').next().unwrap() {
        "execute" => words("s", "t2", "Two"),
        "steer" => steer("w1", "More"),
        "fork" => json!({ "SessionId": "f" }),
        "documents" => json!({ "Documents": [{ "Path": "a.md", "Contents": "Words." }] }),
        _ => Value::Null,
    }
}

fn asked(bed: &Bed, method: &str, target: &str, user: Option<&str>) -> Heard {
    let body = match body_of(target) {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let headers: Vec<_> = user.map(|user| ("Aptix-User", user)).into_iter().collect();
    bed.wait(&bed.ask(method, target, &headers, &body)).unwrap()
}

/// The writes of all storage, and the requests to the model service.
fn done(bed: &Bed) -> Value {
    let of = |name: &str, disk: &Disk| json!([name, disk.writes.get()]);
    let mut done = vec![of("s", &bed.disk), json!(bed.world.model.requests())];
    done.extend(bed.world.users.borrow().iter().map(|(name, it)| of(name, &it.disk)));
    done.extend(bed.world.workspaces.borrow().iter().map(|(name, it)| of(name, &it.disk)));
    let sessions = bed.world.sessions.borrow();
    done.extend(
        sessions
            .iter()
            .filter(|(_, it)| it.disk.writes.get() > 0)
            .map(|(name, it)| of(name, &it.disk)),
    );
    json!(done)
}

#[test]
fn an_object_of_another_version_refuses_whatever_it_is_asked_before_it_does_anything() {
    for other in OTHERS {
        let bed = people();
        bed.post(&turn("t1", "One")).final_text();
        bed.say("alice", "a", "t1", "One").final_text();
        asked(&bed, "PUT", "/workspaces/w/documents", None).result();
        bed.settle();
        let before = done(&bed);
        bed.world.door_protocol.set(other);
        for (method, target, user) in REQUESTS {
            let refused = asked(&bed, method, target, user);
            assert_eq!(refused.failure(), (503, "overloaded"), "{method} {target}");
            assert_eq!(refused.headers["Retry-After"], "5", "{method} {target}");
            assert_eq!(done(&bed), before, "{method} {target}");
            let line = bed.world.log.borrow().last().unwrap().clone();
            assert_eq!(
                (&line["event"], &line["codes"]),
                (&json!("refused"), &json!(["overloaded"]))
            );
        }
        bed.world.door_protocol.set(INNER_PROTOCOL);
        bed.post(&words("s", "t2", "Two")).final_text();
        assert_eq!(bed.status("t2"), "completed");
        assert_eq!(bed.ids("alice", ""), ["a"]);
    }
}

#[test]
fn a_session_whose_user_s_object_is_of_another_version_begins_when_it_is_not() {
    for other in OTHERS {
        let bed = people();
        bed.world.objects_protocol.set(other);
        let refused = bed.say("alice", "a", "t1", "One");
        assert_eq!(refused.failure(), (503, "overloaded"));
        assert_eq!(refused.headers["Retry-After"], "5");
        assert_eq!(bed.world.session("local/~alice/a").disk.writes.get(), 0);
        bed.world.objects_protocol.set(INNER_PROTOCOL);
        bed.say("alice", "a", "t1", "One").final_text();
        assert_eq!(bed.ids("alice", ""), ["a"]);
    }
}

#[test]
fn a_request_whose_object_begins_again_with_the_new_version_is_to_be_repeated() {
    let bed = people();
    bed.world.begins_again.set(Some(ObjectClass::Session));
    let refused = bed.post(&turn("t1", "One"));
    assert_eq!(refused.failure(), (503, "overloaded"));
    assert_eq!(refused.headers["Retry-After"], "2");
    let line = bed.world.log.borrow().last().unwrap().clone();
    assert_eq!(line["event"], "object_failed");
    bed.post(&turn("t1", "One")).final_text();
    // A session of Alice asks her object to register it.
    bed.world.begins_again.set(Some(ObjectClass::User));
    assert_eq!(bed.say("alice", "a", "t1", "One").failure(), (503, "overloaded"));
    bed.say("alice", "a", "t1", "One").final_text();
    assert_eq!(bed.ids("alice", ""), ["a"]);
}
