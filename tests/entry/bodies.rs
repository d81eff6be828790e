//! Which bodies are read, and how a request is refused (interface §1 and §3).

use aptix_edge::encoding::sha256_hex;
use bed::*;
use serde_json::Value;

use crate::users::people::{Asking, people, words};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn posted(bed: &Bed, headers: &[(&str, &str)], body: &str) -> Heard {
    bed.wait(&bed.ask("POST", "/execute", headers, body)).unwrap()
}

#[test]
fn a_body_is_json_by_its_type_or_has_none_and_is_not_encoded() {
    let bed = Bed::new();
    let body = turn("t", "Hello").to_string();
    for (headers, status) in [
        (vec![], 200),
        (vec![JSON], 200),
        (vec![("Content-Type", "Application/JSON; charset=utf-8")], 200),
        (vec![("Content-Type", "application/vnd.acme+json")], 200),
        (vec![("Content-Encoding", "Identity")], 200),
        (vec![("Content-Type", "text/plain")], 415),
        (vec![("Content-Type", "application/jsonp")], 415),
        (vec![JSON, ("Content-Encoding", "gzip")], 415),
    ] {
        assert_eq!(posted(&bed, &headers, &body).status, status, "{headers:?}");
    }
    assert_eq!(bed.world.model.requests(), 1, "what is refused calls nothing");
}

#[test]
fn a_body_over_the_cap_is_refused_by_its_announced_length_or_while_it_is_read() {
    let bed = Bed::new();
    bed.deploy("MAX_BODY_BYTES", "100");
    let long = turn("t", &"x".repeat(100)).to_string();
    for headers in [vec![("Content-Length", "101")], vec![], vec![("Content-Length", "many")]] {
        let heard = posted(&bed, &headers, &long);
        assert_eq!(heard.failure(), (413, "body_too_large"), "{headers:?}");
        assert_eq!(heard.details()["MaxBytes"], 100);
    }
    let short = turn("t", "Hello").to_string();
    assert_eq!(posted(&bed, &[("Content-Length", "100")], &short).status, 200);
    let chunked = [("Content-Length", "101"), ("Transfer-Encoding", "chunked")];
    assert_eq!(posted(&bed, &chunked, &short).status, 200, "the length beside chunks says nothing");
}

#[test]
fn a_refusal_says_what_helps_and_is_one_line_of_the_log_without_content() {
    let bed = Bed::new();
    bed.asked("GET", "/health", "");
    for (method, target, body, status, code, header) in [
        ("GET", "/nowhere", "", 404, "not_found", None),
        (
            "PUT",
            "/sessions/s",
            "",
            405,
            "method_not_allowed",
            Some(("Allow", "GET, PATCH, DELETE")),
        ),
        ("PATCH", "/sessions/s", "{}", 400, "missing_field", None),
        ("HEAD", "/execute", "", 405, "method_not_allowed", Some(("Allow", "POST"))),
        ("GET", "/sessions/s", "", 404, "session_not_found", None),
        ("GET", "/sessions/s%2F/turns", "", 400, "invalid_field", None),
        ("POST", "/execute", "canary", 400, "malformed_json", None),
        ("POST", "/execute", "{\"SessionId\":\"s\",\"canary\":1}", 400, "missing_field", None),
        ("PUT", "/workspaces/w/documents", "{\"Documents\":7}", 400, "invalid_field", None),
    ] {
        bed.world.log.take();
        let heard = bed.asked(method, target, body);
        assert!(heard.body["Errors"].to_string().contains(code), "{target}: {}", heard.text);
        assert_eq!(heard.status, status, "{target}");
        assert_eq!(heard.headers["Content-Type"], "application/json; charset=utf-8");
        assert_eq!(heard.headers["Cache-Control"], "no-store");
        assert_eq!(heard.headers["X-Content-Type-Options"], "nosniff");
        if let Some((name, value)) = header {
            assert_eq!(heard.headers[name], value, "{target}");
        }
        let log = bed.world.log.take();
        let [line] = log.as_slice() else { panic!("{target}: {log:?}") };
        assert_eq!((&line["event"], &line["http_status"]), (&"refused".into(), &status.into()));
        assert!(!line.to_string().contains("canary"));
    }
}

#[test]
fn what_a_session_responds_says_where_its_time_went() {
    let bed = Bed::new();
    let heard = posted(&bed, &[], &turn("t", "Hello").to_string());
    assert!(heard.headers["Server-Timing"].starts_with("validate;dur=0, session;dur=0, retrieve;"));
    assert!(bed.asked("GET", "/sessions/s/export", "").headers.contains_key("Server-Timing"));
    assert_eq!(bed.asked("GET", "/health", "").headers.get("Server-Timing"), None);
}

#[test]
fn no_response_may_be_taken_for_a_page() {
    let bed = Bed::new();
    bed.post(&turn("t", "Hello")).final_text();
    for target in [
        "/health",
        "/openapi.json",
        "/workspaces/w",
        "/sessions/s",
        "/sessions/s/export",
        "/sessions/s/turns/t/stream",
    ] {
        let headers = bed.asked("GET", target, "").headers;
        assert_eq!(headers["X-Content-Type-Options"], "nosniff", "{target}");
        assert_eq!(headers["Cache-Control"], "no-store", "{target}");
    }
}

#[test]
fn an_object_that_does_not_respond_is_a_fault_of_ours_that_can_be_repeated() {
    let bed = Bed::new();
    bed.world.has_users.set(false);
    let hash = sha256_hex(b"local\nalice")[..16].to_owned();
    for (users, named) in
        [("hash", hash.as_str().into()), ("plain", "alice".into()), ("none", Value::Null)]
    {
        bed.deploy("LOG_USERS", users);
        let heard = bed.asked("GET", "/users/alice", "");
        assert_eq!(heard.failure(), (500, "internal"));
        let log = bed.world.log.take();
        let failed = log.iter().find(|line| line["event"] == "object_failed").unwrap();
        assert_eq!((&failed["tenant"], &failed["user"]), (&"local".into(), &named));
        assert_eq!(failed.to_string().contains("alice"), users == "plain", "{failed}");
    }
}

#[test]
fn a_body_that_does_not_come_whole_in_time_is_refused_and_frees_its_room() {
    let bed = Bed::new();
    bed.deploy("BODY_TIMEOUT_MS", "200");
    let body = turn("t", "Hello").to_string();
    let (head, tail) = body.split_at(20);
    let announced = (20 << 20).to_string();
    let length = ("Content-Length", announced.as_str());
    bed.deploy("MAX_BODY_BYTES", &announced);
    for headers in [vec![], vec![length], vec![length]] {
        let pieces = vec![Piece::text(head), Piece::EndlessSilence];
        let late = bed.wait(&bed.ask_in_pieces("POST", "/execute", &headers, pieces)).unwrap();
        assert_eq!(late.failure(), (408, "request_timeout"));
        assert_eq!(late.details()["TimeoutMs"], 200);
    }
    let pieces = vec![Piece::text(head), Piece::Silence(199), Piece::text(tail)];
    let slow = bed.wait(&bed.ask_in_pieces("POST", "/execute", &[], pieces)).unwrap();
    assert_eq!(slow.status, 200);
}

#[test]
fn long_bodies_beyond_the_room_for_them_are_refused_and_plain_turns_are_not() {
    let bed = Bed::new();
    bed.deploy("MAX_BODY_BYTES", "12000000");
    let begun = |headers: &[(&str, &str)], bytes: usize| {
        let pieces = vec![Piece::Bytes(vec![b' '; bytes]), Piece::EndlessSilence];
        bed.ask_in_pieces("POST", "/execute", headers, pieces)
    };
    let announced = ("Content-Length", "12000000");
    let long = [begun(&[announced], 11_999_999), begun(&[announced], 11_999_999)];
    for refused in [begun(&[announced], 3 << 20), begun(&[], 3 << 20)] {
        let heard = bed.wait(&refused).unwrap();
        assert_eq!(heard.failure(), (503, "overloaded"));
        assert_eq!(heard.headers["Retry-After"], "2");
    }
    assert_eq!(posted(&bed, &[], &turn("t", "Hello").to_string()).status, 200);
    for late in long {
        assert_eq!(bed.wait(&late).unwrap().failure(), (408, "request_timeout"));
    }
    assert_eq!(bed.wait(&begun(&[announced], 1)).unwrap().failure().0, 408, "there is room again");
}

#[test]
fn what_a_hundred_clients_announce_and_do_not_send_keeps_nobody_out() {
    let bed = Bed::new();
    let announced = ("Content-Length", "8388608");
    let idle: Vec<Pending> = (0..100)
        .map(|_| {
            let pieces = vec![Piece::text("{"), Piece::EndlessSilence];
            bed.ask_in_pieces("POST", "/execute", &[announced], pieces)
        })
        .collect();
    bed.run_at_once();
    let long = format!("{}{}", " ".repeat(8_000_000), turn("t", "Hello"));
    assert_eq!(posted(&bed, &[announced], &long).status, 200);
    assert!(idle.iter().all(|idle| idle.heard().is_none()), "nobody is refused for nothing");
    assert_eq!(bed.wait(&idle[0]).unwrap().failure(), (408, "request_timeout"));
}

#[test]
fn a_body_that_stops_coming_is_refused_when_another_needs_its_room_and_not_before() {
    let bed = Bed::new();
    bed.deploy("MAX_BODY_BYTES", "12000000");
    let announced = ("Content-Length", "12000000");
    let stopping = || {
        let pieces = vec![Piece::Bytes(vec![b' '; 11_999_999]), Piece::EndlessSilence];
        bed.ask_in_pieces("POST", "/execute", &[announced], pieces)
    };
    let stopped = [stopping(), stopping()];
    let after = |ms: u64, id: &str| {
        let body = format!("{}{}", " ".repeat(3 << 20), turn(id, "Hello"));
        let pieces = vec![Piece::Silence(ms), Piece::text(&body)];
        bed.ask_in_pieces("POST", "/execute", &[], pieces)
    };
    let early = bed.wait(&after(4_900, "t1")).unwrap();
    assert_eq!(early.failure(), (503, "overloaded"));
    assert!(stopped.iter().all(|stopped| stopped.heard().is_none()));
    assert_eq!(bed.wait(&after(200, "t2")).unwrap().status, 200);
    let first = bed.wait(&stopped[0]).unwrap();
    assert_eq!(first.failure(), (503, "overloaded"));
    assert!(first.body["Errors"][0]["Message"].as_str().unwrap().starts_with("Less than 16 KiB"));
    assert_eq!(bed.wait(&stopped[1]).unwrap().failure(), (408, "request_timeout"));
}

#[test]
fn a_whole_body_gives_way_until_its_session_has_taken_it_and_begins_nothing() {
    let mut gave_way = 0;
    for seed in 0..4 {
        let bed = people();
        bed.world.shake(seed);
        bed.world.late_bodies.set(true);
        let send = |user: &str, session: &str| {
            let body = format!("{}{}", " ".repeat(7_900_000), words(session, "t1", "Hello"));
            bed.send_as(user, "POST", "/execute", &body)
        };
        let held = ["s0", "s1", "s2"].map(|session| (session, send("alice", session)));
        let other = send("bob", "s");
        assert_eq!(bed.wait(&other).unwrap().status, 200, "who holds less is served");
        for (session, pending) in held {
            let heard = bed.wait(&pending).unwrap();
            if heard.status == 200 {
                continue;
            }
            gave_way += 1;
            assert_eq!(heard.failure(), (503, "overloaded"));
            let target = format!("/sessions/{session}");
            assert_eq!(bed.ask_as("alice", "GET", &target, "").status, 404, "nothing has begun");
            assert_eq!(bed.wait(&send("alice", session)).unwrap().status, 200);
        }
    }
    assert!(gave_way > 0);
}
