//! Authentication, rate limits and origins (interface §6).

use std::collections::BTreeSet;

use aptix_edge::encoding::sha256_hex;
use aptix_edge::ports::HttpFault;
use bed::*;
use serde_json::json;

const PAGE: &str = "https://app.example";

fn closed() -> Bed {
    let bed = Bed::new();
    bed.deploy("AUTH", "keys");
    let keys = json!([{ "Id": "first", "Tenant": "local", "Sha256": sha256_hex(b"right") }]);
    bed.deploy("API_KEYS", &keys.to_string());
    bed
}

fn asked(bed: &Bed, method: &str, target: &str, headers: &[(&str, &str)]) -> Heard {
    bed.wait(&bed.ask(method, target, headers, "")).unwrap()
}

#[test]
fn a_key_opens_the_door_and_nothing_else_does() {
    let bed = closed();
    for (authorization, status) in [
        (vec![("Authorization", "Bearer right")], 404),
        (vec![("Authorization", "bearer  right ")], 404),
        (vec![("Authorization", "Bearer wrong")], 401),
        (vec![("Authorization", "Basic right")], 401),
        (vec![], 401),
    ] {
        let heard = asked(&bed, "GET", "/sessions/s", &authorization);
        assert_eq!(heard.status, status, "{authorization:?}");
        let challenge = heard.headers.get("WWW-Authenticate").map(String::as_str);
        assert_eq!(challenge, (status == 401).then_some("Bearer"));
    }
    for open in ["/health", "/errors", "/openapi.json"] {
        assert_eq!(asked(&bed, "GET", open, &[]).status, 200, "{open}");
    }
    assert_eq!(asked(&bed, "GET", "/nowhere", &[]).status, 404, "a route is no secret");
}

#[test]
fn only_the_word_none_opens_the_door_to_everyone() {
    let bed = Bed::new();
    bed.deploy("AUTH", "none");
    assert_eq!(asked(&bed, "GET", "/sessions/s", &[]).status, 404);
    for value in ["", "keys", "NONE", " none", "no", "off"] {
        bed.deploy("AUTH", value);
        assert_eq!(asked(&bed, "GET", "/sessions/s", &[]).status, 401, "{value}");
    }
    bed.world.secrets.borrow_mut().remove("AUTH");
    bed.deploy("API_KEYS", "[]");
    assert_eq!(asked(&bed, "GET", "/sessions/s", &[]).status, 401, "without the variable");
}

#[test]
fn without_keys_only_this_machine_is_let_in_and_the_refusal_says_what_helps() {
    let bed = Bed::new();
    bed.post(&turn("t", "Hello")).final_text();
    let body = turn("u", "Hello").to_string();
    let touching = [
        ("POST", "/execute", body.as_str()),
        ("GET", "/sessions/s/export", ""),
        ("DELETE", "/sessions/s", ""),
        ("GET", "/workspaces/w", ""),
        (
            "GET",
            &format!("/files/{0}-{0}?Name=a&MimeType=b&Expires=1&Signature={0}", "0a".repeat(32)),
            "",
        ),
    ];
    let foreign = [
        ("Host", "edge.example"),
        ("Host", "localhost.evil.example:8787"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
    ];
    for (method, target, body) in touching {
        for (name, value) in foreign {
            let heard = bed.wait(&bed.ask(method, target, &[(name, value)], body)).unwrap();
            assert_eq!(heard.failure(), (403, "forbidden"), "{method} {target} {name}: {value}");
            let message = heard.body["Errors"][0]["Message"].as_str().unwrap();
            let remedy = if name == "Host" { "http://localhost" } else { "ALLOWED_ORIGINS" };
            assert!(message.contains(&format!("header {name}")) && message.contains(remedy));
            assert!(!message.contains("evil"), "{message}");
        }
    }
    assert_eq!(bed.world.model.requests(), 1, "what is refused calls nothing");
    for headers in [
        [("Host", "127.0.0.1:8787"), ("Origin", "http://localhost:3000")],
        [("Host", "[::1]"), ("Origin", "https://app.localhost")],
    ] {
        assert_eq!(asked(&bed, "GET", "/sessions/s", &headers).status, 200, "{headers:?}");
    }
    for open in ["/health", "/errors", "/openapi.json"] {
        assert_eq!(asked(&bed, "GET", open, &foreign[..1]).status, 200, "{open} shows no tenant");
    }
    bed.deploy("ALLOWED_ORIGINS", PAGE);
    assert_eq!(asked(&bed, "GET", "/sessions/s", &[("Origin", PAGE)]).status, 200);
    assert_eq!(asked(&bed, "GET", "/sessions/s", &foreign[2..3]).status, 403);
}

#[test]
fn where_keys_are_asked_for_host_and_origin_decide_nothing() {
    let bed = closed();
    let headers = [
        ("Authorization", "Bearer right"),
        ("Host", "edge.example"),
        ("Origin", "https://evil.example"),
    ];
    assert_eq!(asked(&bed, "GET", "/sessions/s", &headers).failure(), (404, "session_not_found"));
}

#[test]
fn keys_that_cannot_be_read_keep_the_door_closed_and_the_operator_is_told() {
    let bed = closed();
    bed.deploy("API_KEYS", "[{}]");
    let heard = asked(&bed, "GET", "/sessions/s", &[("Authorization", "Bearer right")]);
    assert_eq!(heard.failure(), (401, "unauthenticated"));
    assert!(bed.world.log.take().iter().any(|line| line["event"] == "keys_invalid"));
}

#[test]
fn a_key_over_its_rate_waits_and_a_limiter_that_fails_closes_nothing() {
    let bed = closed();
    let key = [("Authorization", "Bearer right")];
    bed.world.rate.borrow_mut().within = Ok(false);
    let heard = asked(&bed, "GET", "/sessions/s", &key);
    assert_eq!(heard.failure(), (429, "rate_limited"));
    assert_eq!(heard.headers["Retry-After"], "60");
    assert_eq!(bed.world.rate.borrow().asked, ["local/first"]);
    bed.world.rate.borrow_mut().within = Err(HttpFault::Lost("gone".to_owned()));
    assert_eq!(asked(&bed, "GET", "/sessions/s", &key).status, 404);
    assert_eq!(asked(&bed, "GET", "/health", &[]).status, 200);
    assert_eq!(bed.world.rate.borrow().asked.len(), 2, "who needs no key has no rate");
}

#[test]
fn a_listed_page_may_call_and_read_every_response_and_no_other_page_may() {
    let bed = Bed::new();
    bed.deploy("ALLOWED_ORIGINS", PAGE);
    bed.post(&turn("t", "Hello")).final_text();
    for target in ["/sessions/s", "/sessions/gone", "/health", "/nowhere", "/sessions/s/export"] {
        let heard = asked(&bed, "GET", target, &[("Origin", PAGE)]);
        assert_eq!(heard.headers["Access-Control-Allow-Origin"], PAGE, "{target}");
        assert_eq!(heard.headers["Vary"], "Origin");
        assert!(heard.headers["Access-Control-Expose-Headers"].contains("Retry-After"));
        let heard = asked(&bed, "GET", target, &[("Origin", "http://localhost:3000")]);
        assert_eq!(heard.headers.get("Access-Control-Allow-Origin"), None, "{target}");
    }
}

#[test]
fn every_response_carries_an_id_that_the_log_names_and_a_client_may_choose() {
    let bed = Bed::new();
    bed.deploy("ALLOWED_ORIGINS", PAGE);
    bed.world.page_files.borrow_mut().insert("/index.html", "a page");
    bed.deploy("PLAYGROUND", "on");
    let mut seen = BTreeSet::new();
    for (method, target, status) in [
        ("GET", "/", 200),
        ("GET", "/health", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/nowhere", 404),
        ("PUT", "/execute", 405),
        ("POST", "/execute", 400),
        ("GET", "/sessions/gone", 404),
        ("GET", "/workspaces/w", 200),
        ("GET", "/users/u", 404),
    ] {
        let heard = asked(&bed, method, target, &[]);
        assert_eq!(heard.status, status, "{method} {target}");
        let id = heard.headers["Aptix-Request-Id"].clone();
        let is_of_id = |c: char| c.is_ascii_alphanumeric();
        assert!((1..=64).contains(&id.len()) && id.chars().all(is_of_id), "{id}");
        let lines = bed.world.log.take();
        let refused = lines.iter().find(|line| line["event"] == "refused");
        let logged = refused.and_then(|line| line["request_id"].as_str());
        assert_eq!(logged, (status >= 400).then_some(id.as_str()), "{method} {target}");
        assert!(seen.insert(id), "an id is new for each request");
    }
    let own = |id: &str| asked(&bed, "GET", "/sessions/gone", &[("Aptix-Request-Id", id)]);
    assert_eq!(own("my_own-1").headers["Aptix-Request-Id"], "my_own-1");
    let preflight =
        [("Origin", PAGE), ("Access-Control-Request-Method", "POST"), ("Aptix-Request-Id", "p")];
    let told = asked(&bed, "OPTIONS", "/execute", &preflight);
    assert_eq!((told.status, told.headers["Aptix-Request-Id"].as_str()), (204, "p"));
    for wrong in ["", "a b", "ä", &"x".repeat(65)] {
        assert_ne!(own(wrong).headers["Aptix-Request-Id"], wrong);
    }
}

#[test]
fn the_line_of_a_submission_has_the_id_of_its_request() {
    let bed = Bed::new();
    let named = [("Aptix-Request-Id", "mine")];
    let body = turn("t", "Hello [plan: client]").to_string();
    let paused = bed.wait(&bed.ask("POST", "/execute", &named, &body)).unwrap();
    assert_eq!(paused.headers["Aptix-Request-Id"], "mine");
    let lines = bed.world.log.take();
    let line = lines.iter().find(|line| line["event"] == "submission").unwrap();
    assert_eq!(line["request_id"], "mine");
}

#[test]
fn a_browser_that_asks_first_is_told_what_the_endpoint_takes() {
    let bed = Bed::new();
    bed.deploy("ALLOWED_ORIGINS", PAGE);
    let preflight = |target: &str, origin: &str, method: &str| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", method)];
        asked(&bed, "OPTIONS", target, &headers)
    };
    let heard = preflight("/execute", PAGE, "POST");
    assert_eq!((heard.status, heard.text.as_str()), (204, ""));
    let methods = &heard.headers["Access-Control-Allow-Methods"];
    assert_eq!(methods, "HEAD, POST, GET, PATCH, DELETE, PUT");
    let headers = &heard.headers["Access-Control-Allow-Headers"];
    for header in ["Last-Event-ID", "Prefer", "Range", "If-Range", "If-None-Match"] {
        assert!(headers.split(", ").any(|name| name == header), "{header}");
    }
    assert_eq!(heard.headers["Access-Control-Allow-Origin"], PAGE);
    assert_eq!(preflight("/execute", "https://evil.example", "POST").failure(), (403, "forbidden"));
    // What is wrong with the request itself, a page learns of the request's own response, which it can read.
    for (method, target, status) in [
        ("PUT", "/execute", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/sessions?Limit=0", 400),
        ("GET", "/sessions/a%20b", 400),
    ] {
        assert_eq!(preflight(target, PAGE, method).status, 204, "{method} {target}");
        let heard = asked(&bed, method, target, &[("Origin", PAGE)]);
        assert_eq!(
            (heard.status, heard.headers["Access-Control-Allow-Origin"].as_str()),
            (status, PAGE)
        );
    }
    assert_eq!(asked(&bed, "OPTIONS", "/execute", &[]).status, 405, "that is no preflight");
}

#[test]
fn an_escape_that_is_no_utf_8_is_refused_wherever_it_stands() {
    let bed = Bed::new();
    for target in
        ["/sessions/%FF", "/sessions/s?x=%ff", "/sessions/s/turns?Limit=%C3", "/health?%ff=1"]
    {
        assert_eq!(asked(&bed, "GET", target, &[]).failure(), (400, "invalid_field"), "{target}");
    }
}

#[test]
fn a_variable_with_a_fault_is_told_by_every_endpoint_of_an_object() {
    let bed = Bed::new();
    bed.deploy("TURN_TIMEOUT_MS", "abc");
    let alice = ("Aptix-User", "alice");
    for (method, target, headers) in [
        ("GET", "/sessions/s", vec![]),
        ("GET", "/sessions", vec![alice]),
        ("DELETE", "/sessions/s", vec![alice]),
        ("GET", "/workspaces/w", vec![]),
        ("POST", "/users/alice/revoke", vec![]),
    ] {
        let heard = asked(&bed, method, target, &headers);
        assert_eq!(heard.failure(), (500, "internal"), "{method} {target}");
        assert!(heard.text.contains("TURN_TIMEOUT_MS"), "{}", heard.text);
    }
    assert_eq!(asked(&bed, "GET", "/health", &[]).status, 200);
}

#[test]
fn a_user_in_the_header_is_percent_encoded_well_or_named_as_wrong() {
    let bed = Bed::new();
    for (header, status) in [
        ("al%69ce", 404),
        ("100%25", 404),
        ("%C3%A9", 404),
        ("%", 400),
        ("alice%", 400),
        ("a%2", 400),
        ("%zz", 400),
        ("%+1", 400),
        ("%%41", 400),
        ("%C3", 400),
        ("ren\u{e9}e", 400),
        // The runtime puts this character for every byte that is not UTF-8: all such users would be one.
        ("ren\u{fffd}e", 400),
        ("", 400),
    ] {
        let heard = asked(&bed, "GET", "/sessions/s", &[("Aptix-User", header)]);
        assert_eq!(heard.status, status, "{header}: {}", heard.text);
        if status == 400 {
            let fault = &heard.body["Errors"][0];
            assert_eq!(
                (&fault["ErrorCode"], &fault["Path"]),
                (&"invalid_field".into(), &"/User".into())
            );
        }
    }
}

#[test]
fn a_ticket_in_the_url_of_anything_but_a_stream_is_refused_before_the_query_is_looked_at() {
    let bed = closed();
    let key = ("Authorization", "Bearer right");
    for target in [
        "/sessions?Ticket=a",
        "/sessions?Limit=x&Ticket=a",
        "/sessions/s?Ticket=a",
        "/sessions/s?%54icket=a",
        "/sessions/s/turns?Limit=0&Ticket=a",
        "/sessions/s/turns/t/stream/?Ticket=a",
        "/sessions/%FF/turns/t/stream?Ticket=a",
        "/workspaces/w?Ticket=%FF",
        "/health?Ticket=a",
        "/nowhere?Ticket=a",
        "/execute?Ticket=",
    ] {
        for headers in [vec![], vec![key]] {
            bed.world.log.take();
            let heard = asked(&bed, "GET", target, &headers);
            assert_eq!(heard.failure(), (401, "unauthenticated"), "{target}");
            assert_eq!(heard.headers["Referrer-Policy"], "no-referrer", "{target}");
            assert_eq!(bed.world.log.take()[0]["reason"], "ticket: not for a URL");
        }
    }
    let stream = "/sessions/s/turns/t/stream?Ticket=";
    for (rest, headers) in [("a&After=%FF", vec![key]), ("a&Ticket=b&After=%FF", vec![])] {
        let heard = asked(&bed, "GET", &format!("{stream}{rest}"), &headers);
        assert_eq!(heard.failure(), (401, "unauthenticated"), "{rest}");
    }
    assert_eq!(asked(&bed, "GET", &format!("{stream}a"), &[]).failure(), (401, "unauthenticated"));
    for method in ["POST", "HEAD"] {
        let heard = asked(&bed, method, &format!("{stream}a"), &[key]);
        assert_eq!(heard.failure(), (401, "unauthenticated"), "{method}");
    }
    assert_eq!(asked(&bed, "GET", "/sessions/s?Tickets=a", &[key]).failure().0, 404);
}

#[test]
fn a_key_of_all_tenants_reads_the_traces_of_the_one_that_it_names_and_nothing_else() {
    let bed = closed();
    let keys = json!([
        { "Id": "support", "Tenant": "*", "Sha256": sha256_hex(b"support"), "May": ["Trace"] },
        { "Id": "reads", "Tenant": "local", "Sha256": sha256_hex(b"reads"), "May": ["Trace"] },
    ]);
    bed.deploy("API_KEYS_2", &keys.to_string());
    let own = [("Authorization", "Bearer right")];
    let one = turn("t1", "Hello");
    bed.wait(&bed.ask("POST", "/execute", &own, &one.to_string())).unwrap().final_text();
    let of_alice = [own[0], ("Aptix-User", "alice")];
    let other = with(one, json!({ "SessionId": "a" }));
    bed.wait(&bed.ask("POST", "/execute", &of_alice, &other.to_string())).unwrap().final_text();
    let support = ("Authorization", "Bearer support");
    let at = |tenant, more: &[(&'static str, &'static str)]| {
        [&[support, ("Aptix-Tenant", tenant)], more].concat()
    };
    let trace = "/sessions/s/turns/t1/trace";
    let own = asked(&bed, "GET", trace, &at("local", &[]));
    assert_eq!(own.result()["Status"], "completed");
    let alice =
        asked(&bed, "GET", "/sessions/a/turns/t1/trace", &at("local", &[("Aptix-User", "alice")]));
    assert_eq!(alice.result()["Status"], "completed");
    assert_eq!(asked(&bed, "GET", trace, &at("globex", &[])).status, 404);
    for named in [vec![support], at("*", &[]), at("a/b", &[])] {
        let refused = asked(&bed, "GET", trace, &named);
        assert_eq!(refused.failure(), (400, "invalid_field"), "{named:?}");
        assert_eq!(refused.body["Errors"][0]["Path"], "/Tenant");
    }
    let reads = ("Authorization", "Bearer reads");
    assert_eq!(asked(&bed, "GET", trace, &[reads]).status, 200);
    for (method, target) in [
        ("GET", "/sessions/s"),
        ("GET", "/sessions/s/turns"),
        ("GET", "/sessions/s/turns/t1"),
        ("GET", "/sessions/s/turns/t1/stream"),
        ("GET", "/sessions/s/export"),
        ("DELETE", "/sessions/s"),
        ("GET", "/sessions"),
        ("GET", "/users/alice"),
        ("GET", "/workspaces/w"),
    ] {
        for user in [vec![], vec![("Aptix-User", "alice")]] {
            for key in [at("local", &user), [vec![reads], user.clone()].concat()] {
                let refused = asked(&bed, method, target, &key);
                assert_eq!(refused.failure(), (403, "forbidden"), "{method} {target} {key:?}");
                assert!(refused.text.contains("a key of all tenants has no other"));
            }
        }
    }
}
