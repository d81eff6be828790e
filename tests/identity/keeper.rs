//! Who asks a provider when: rotation, floods of forged tokens, and providers that fail, hang or lie.

use aptix_edge::identity::{KeyQuestion, KeySetReply, Refusal, TokenCheck};
use aptix_edge::ports::HttpFault;
use bed::{HttpReply, Piece};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::door::{Door, set_of};
use super::tokens::{ISSUER, JWKS_URL, NOW_S, base64url, claims, point, token};

const FRESH_MS: u64 = 600_000;
const RETRY_MS: u64 = 30_000;
const NO_KEY: Refusal = Refusal::Invalid("jwt: key");

/// A token of a key, whose signature the bed takes for the key's with that number.
fn signed(id: &str, number: u8) -> String {
    let token = token(id, &claims(json!({ "exp": NOW_S + 86_000 })));
    format!("{}.{}", token.rsplit_once('.').unwrap().0, base64url([number; 64]))
}

fn is_alice(verified: Result<String, Refusal>) -> bool {
    verified.as_deref() == Ok("alice")
}

fn failures(door: &Door) -> Vec<String> {
    let text = |line: &Value| line["failure"].as_str().unwrap().to_owned();
    door.logged().iter().filter(|line| line["event"] == "jwks_failed").map(text).collect()
}

fn keys_of(door: &Door, lacking: Option<u64>) -> KeySetReply {
    let question = KeyQuestion { jwks_url: JWKS_URL.into(), issuer: ISSUER.into(), lacking };
    door.step.run(door.keeper.keys(&door.step.platform, door.stale_ms, &question)).unwrap()
}

#[test]
fn a_token_of_a_known_key_costs_no_request_and_a_set_is_asked_for_once_while_it_is_fresh() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let check = door.check();
    for _ in 0..5 {
        assert!(is_alice(door.verify(&check, &signed("a", 7))));
    }
    assert_eq!((door.asked.get(), door.hops.get()), (1, 1));
    assert!(is_alice(door.verify(&door.check(), &signed("a", 7))), "another isolate");
    assert_eq!((door.asked.get(), door.hops.get()), (1, 2));
    door.wait(FRESH_MS - 1);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    assert_eq!((door.asked.get(), door.hops.get()), (1, 2));
    door.wait(1);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    assert_eq!((door.asked.get(), door.hops.get()), (2, 3));
    assert_eq!(door.verify(&check, &signed("a", 8)), Err(Refusal::Invalid("jwt: signature")));
}

#[test]
fn isolates_that_ask_at_once_cost_the_provider_one_request() {
    let door = Door::answering(Ok(set_of(json!([point(Some("a"), 7)])).after(40)));
    let (checks, token) = ([(); 6].map(|()| door.check()), signed("a", 7));
    let verified = door.step.run(join_all(checks.iter().map(|check| check.verify(&door, &token))));
    assert!(verified.iter().all(Result::is_ok));
    assert_eq!((door.asked.get(), door.step.now_ms()), (1, 40));
}

#[test]
fn a_new_key_serves_at_its_first_token_and_an_old_one_until_the_set_is_no_longer_fresh() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let (check, other) = (door.check(), door.check());
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    assert!(is_alice(door.verify(&other, &signed("a", 7))));
    door.answers(set_of(json!([point(Some("b"), 8)])));
    door.wait(RETRY_MS);
    assert!(is_alice(door.verify(&check, &signed("b", 8))));
    assert_eq!(door.asked.get(), 2);
    assert_eq!(door.verify(&check, &signed("a", 7)), Err(NO_KEY), "this isolate has the new set");
    assert!(
        is_alice(door.verify(&other, &signed("a", 7))),
        "this one has the old one, which is fresh"
    );
    // The keeper has the new set already.
    assert!(is_alice(door.verify(&other, &signed("b", 8))));
    assert_eq!(door.asked.get(), 2);
    assert_eq!(door.verify(&other, &signed("a", 7)), Err(NO_KEY));
}

#[test]
fn a_removed_key_is_refused_after_the_set_was_fresh() {
    let door = Door::with_keys(json!([point(Some("a"), 7), point(Some("b"), 8)]));
    let check = door.check();
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.answers(set_of(json!([point(Some("b"), 8)])));
    door.wait(FRESH_MS - 1);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.wait(1);
    assert_eq!(door.verify(&check, &signed("a", 7)), Err(NO_KEY));
    assert!(is_alice(door.verify(&check, &signed("b", 8))));
}

#[test]
fn a_new_key_serves_in_an_isolate_that_begins_while_the_provider_is_asked_for_it() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let (check, new) = (door.check(), door.check());
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.answers(set_of(json!([point(Some("b"), 8)])).after(40));
    door.wait(RETRY_MS);
    let token = signed("b", 8);
    let late = async {
        aptix_edge::ports::Machine::sleep(&door.step.platform, 10).await;
        new.verify(&door, &token).await
    };
    let both = futures_util::future::join(check.verify(&door, &token), late);
    let (first, late) = door.step.run(both);
    assert!(first.is_ok() && late.is_ok(), "{:?}", late.err());
    assert_eq!(door.asked.get(), 2);
}

#[test]
fn a_new_key_that_is_rotated_in_twice_is_found_by_an_isolate_that_missed_a_set() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let (check, late) = (door.check(), door.check());
    assert!(
        is_alice(door.verify(&check, &signed("a", 7)))
            && is_alice(door.verify(&late, &signed("a", 7)))
    );
    door.wait(RETRY_MS);
    door.answers(set_of(json!([point(Some("b"), 8)])));
    assert!(is_alice(door.verify(&check, &signed("b", 8))));
    door.wait(RETRY_MS);
    door.answers(set_of(json!([point(Some("c"), 9)])));
    assert!(is_alice(door.verify(&late, &signed("c", 9))));
    assert_eq!(door.asked.get(), 3);
}

/// Sends a forged key id every 60 ms for a minute, and a good token between; returns what was asked of the provider and
/// of the keeper.
fn flood(
    door: &Door,
    check: &TokenCheck,
    is_good: impl Fn(Result<String, Refusal>) -> bool,
) -> (u32, u32) {
    let before = (door.asked.get(), door.hops.get());
    for number in 0..1_000 {
        let forged = door.verify(check, &signed(&format!("forged-{number}"), 7));
        assert!(forged.is_err());
        if number % 50 == 0 {
            assert!(is_good(door.verify(check, &signed("a", 7))), "{number}");
        }
        door.wait(60);
    }
    (door.asked.get() - before.0, door.hops.get() - before.1)
}

#[test]
fn a_thousand_forged_key_ids_in_a_minute_cost_the_provider_three_requests_at_most() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let (asked, hops) = flood(&door, &door.check(), is_alice);
    assert!(asked <= 3 && hops <= 4, "{asked} {hops}");
}

#[test]
fn a_provider_without_keys_or_with_a_failure_is_asked_no_more_often() {
    let none = Door::with_keys(json!([]));
    let (asked, hops) = flood(&none, &none.check(), |verified| verified == Err(NO_KEY));
    assert!(asked <= 3 && hops <= 4, "{asked} {hops}");
    let broken = Door::answering(Ok(HttpReply::new(500, "{}")));
    let unavailable = |verified| matches!(verified, Err(Refusal::Unavailable { .. }));
    let (asked, hops) = flood(&broken, &broken.check(), unavailable);
    assert!(asked <= 3 && hops <= 4, "{asked} {hops}");
    let down = Door::with_keys(json!([point(Some("a"), 7)]));
    let check = down.check();
    assert!(is_alice(down.verify(&check, &signed("a", 7))));
    down.answers(HttpReply::new(500, ""));
    down.wait(FRESH_MS);
    let (asked, hops) = flood(&down, &check, is_alice);
    assert!(asked <= 3 && hops <= 4, "{asked} {hops}");
}

#[test]
fn the_gate_is_shut_by_an_attempt_that_an_instance_did_not_live_to_see() {
    let door = Door::answering(Ok(set_of(json!([])).after(4_000)));
    let question = KeyQuestion { jwks_url: JWKS_URL.into(), issuer: ISSUER.into(), lacking: None };
    {
        let asking = std::pin::pin!(door.keeper.keys(&door.step.platform, 0, &question));
        let waiting = std::pin::pin!(aptix_edge::ports::Machine::sleep(&door.step.platform, 10));
        let _ = door.step.run(futures_util::future::select(asking, waiting));
    }
    assert_eq!(door.asked.get(), 1);
    let next = aptix_edge::identity::KeySetHost::new(door.disk.database());
    let reply = door.step.run(next.keys(&door.step.platform, 0, &question)).unwrap();
    assert_eq!((door.asked.get(), reply.asks_again_ms), (1, RETRY_MS - 10));
}

#[test]
fn while_the_provider_fails_its_keys_serve_for_the_time_that_is_set_and_then_nobody_is_let_in_or_refused()
 {
    let mut door = Door::with_keys(json!([point(Some("a"), 7)]));
    door.stale_ms = 3_600_000;
    let check = door.check();
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    drop(door.answer.replace(Err(HttpFault::Lost("10.0.0.1 refused".to_owned()))));
    door.wait(FRESH_MS);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    assert_eq!(failures(&door), ["it could not be reached"]);
    door.wait(3_600_000 - 1);
    let restarted = door.check();
    assert!(is_alice(door.verify(&restarted, &signed("a", 7))));
    door.wait(1);
    let refusal = door.verify(&restarted, &signed("a", 7)).unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable { retry_after_ms: 1..=30_000 }), "{refusal:?}");
    door.wait(RETRY_MS);
    let refusal = door.verify(&check, &signed("a", 7)).unwrap_err();
    assert!(matches!(refusal, Refusal::Unavailable { .. }), "{refusal:?}");
    door.answers(set_of(json!([point(Some("a"), 7)])));
    door.wait(RETRY_MS);
    assert!(is_alice(door.verify(&check, &signed("a", 7))), "it is back");
}

#[test]
fn without_a_time_to_serve_on_the_keys_end_with_their_freshness() {
    let mut door = Door::with_keys(json!([point(Some("a"), 7)]));
    door.stale_ms = 0;
    let check = door.check();
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.answers(HttpReply::new(503, ""));
    door.wait(FRESH_MS);
    assert!(matches!(door.verify(&check, &signed("a", 7)), Err(Refusal::Unavailable { .. })));
}

#[test]
fn an_answer_that_is_no_key_set_is_a_failure_that_says_how_and_nothing_of_the_answer() {
    let large = "x".repeat(1_000_000);
    let ten_megabytes: Vec<Piece> = (0..10).map(|_| Piece::text(&large)).collect();
    let many = json!({ "keys": vec![point(None, 1); 10_000] }).to_string();
    let few_bytes = json!({ "keys": vec![json!({}); 10_000] }).to_string();
    for (reply, failure) in [
        (HttpReply::new(500, "s3cret"), "it answered with status 500"),
        (HttpReply::new(404, "s3cret"), "it answered with status 404"),
        (HttpReply::new(204, ""), "it answered with status 204"),
        (
            HttpReply::new(302, "").with("location", "http://127.0.0.1/"),
            "it answered with status 302",
        ),
        (HttpReply::new(307, "").with("location", "/jwks2"), "it answered with status 307"),
        (HttpReply::new(200, "<html>s3cret</html>"), "its answer is not the JSON of a key set"),
        (HttpReply::new(200, ""), "its answer is not the JSON of a key set"),
        (HttpReply::new(200, "{\"s3cret\":1}"), "its answer has no list of keys"),
        (HttpReply::in_pieces(200, ten_megabytes), "its answer is larger than 262144 bytes"),
        (HttpReply::new(200, &many), "its answer is larger than 262144 bytes"),
        (HttpReply::new(200, &few_bytes), "its answer has more than 100 keys"),
        (HttpReply::in_pieces(200, [Piece::text("{"), Piece::Broken]), "it could not be reached"),
        (HttpReply::new(200, "{}").after(6_000), "it did not answer within 5000 ms"),
        (
            HttpReply::in_pieces(200, [Piece::text("{"), Piece::EndlessSilence]),
            "it did not answer within 5000 ms",
        ),
    ] {
        let door = Door::answering(Ok(reply));
        let refusal = door.verify(&door.check(), &signed("a", 7)).unwrap_err();
        assert!(matches!(refusal, Refusal::Unavailable { retry_after_ms: 1.. }), "{refusal:?}");
        assert_eq!(failures(&door), [failure]);
        assert_eq!(door.asked.get(), 1, "{failure}");
        let lines = json!(door.logged()).to_string();
        assert!(!lines.contains("s3cret") && !lines.contains("\"a\""), "{lines}");
    }
}

#[test]
fn a_good_token_does_not_wait_for_a_provider_that_hangs_over_a_forged_one() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let (check, other) = (door.check(), door.check());
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.wait(RETRY_MS);
    door.answers(HttpReply::new(200, "{}").after(100_000));
    let (forged, good) = (signed("forged", 7), signed("a", 7));
    let began = door.step.now_ms();
    let both = async {
        let slow = check.verify(&door, &forged);
        let fast = async {
            let verified = other.verify(&door, &good).await;
            (verified.is_ok(), door.step.now_ms() - began)
        };
        futures_util::future::join(slow, fast).await
    };
    let (slow, fast) = door.step.run(both);
    assert_eq!((slow.map(|_| ()), fast), (Err(NO_KEY), (true, 0)));
    assert_eq!(door.step.now_ms() - began, 5_000);
}

#[test]
fn max_age_says_how_long_a_set_is_fresh_from_five_minutes_to_a_day() {
    for (caching, minutes) in [
        (None, 10),
        (Some("max-age=0"), 5),
        (Some("no-cache"), 10),
        (Some("public, max-age=1200, must-revalidate"), 20),
        (Some("public, Max-Age=\"1200\""), 20),
        (Some("s-maxage=1200"), 10),
        (Some("max-age=86401"), 24 * 60),
        (Some("max-age=99999999999999999999"), 24 * 60),
        (Some("max-age=-1"), 10),
        (Some("max-age=1e9"), 10),
        (Some("max-age="), 10),
    ] {
        let answer = set_of(json!([]));
        let answer = match caching {
            Some(value) => answer.with("cache-control", value),
            None => answer,
        };
        let door = Door::answering(Ok(answer));
        assert_eq!(keys_of(&door, None).fresh_ms, minutes * 60_000, "{caching:?}");
    }
}

#[test]
fn a_set_outlives_the_instance_and_is_one_row() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let first = keys_of(&door, None);
    let next = aptix_edge::identity::KeySetHost::new(door.disk.database());
    let question = KeyQuestion { jwks_url: JWKS_URL.into(), issuer: ISSUER.into(), lacking: None };
    let reply = door.step.run(next.keys(&door.step.platform, 0, &question)).unwrap();
    assert_eq!(json!(reply.keys), json!(first.keys));
    assert_eq!((reply.version, reply.fresh_ms, door.asked.get()), (first.version, FRESH_MS, 1));
    // One for the attempt, and one for the set.
    assert_eq!(door.disk.rows_written.get(), 2);
}

#[test]
fn an_unusable_key_is_logged_by_its_place() {
    let mut private = point(Some("s3cret"), 3);
    private["d"] = "s3cret".into();
    let door = Door::with_keys(json!([point(Some("a"), 7), private]));
    assert!(is_alice(door.verify(&door.check(), &signed("a", 7))));
    let [line] = &door.logged()[..] else { panic!() };
    assert_eq!((&line["event"], &line["place"]), (&json!("jwks_key_unusable"), &json!(1)));
    assert_eq!(line["why"], "it holds a private or secret key");
    assert!(!line.to_string().contains("s3cret"));
}

#[test]
fn without_its_keeper_an_isolate_serves_what_it_knows_and_lets_nobody_in_otherwise() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    door.keeper_is_gone.set(true);
    let check = door.check();
    for _ in 0..3 {
        let refusal = door.verify(&check, &signed("a", 7)).unwrap_err();
        assert_eq!(refusal, Refusal::Unavailable { retry_after_ms: 2_000 });
    }
    assert_eq!((door.hops.get(), failures(&door)), (1, vec!["the object is gone".to_owned()]));
    door.keeper_is_gone.set(false);
    door.wait(2_000);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.keeper_is_gone.set(true);
    door.wait(FRESH_MS + 1_000_000);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    door.wait(3_600_000);
    assert!(matches!(door.verify(&check, &signed("a", 7)), Err(Refusal::Unavailable { .. })));
}

#[test]
fn a_clock_that_is_set_back_by_an_hour_makes_no_key_last_longer() {
    let door = Door::with_keys(json!([point(Some("a"), 7)]));
    let check = door.check();
    door.wait(7_200_000);
    assert!(is_alice(door.verify(&check, &signed("a", 7))));
    let hops = door.hops.get();
    door.behind_ms.set(3_600_000);
    assert!(door.verify(&check, &signed("a", 7)).is_ok());
    assert_eq!(door.hops.get(), hops + 1, "the keeper is asked anew");
    assert_eq!(door.asked.get(), 1, "and the provider is not");
}

#[test]
fn a_question_that_is_none_gets_no_keys() {
    let door = Door::with_keys(json!([]));
    for question in ["", "{}", "null", "{\"JwksUrl\":1}"] {
        assert_eq!(door.step.run(door.keeper.reply(&door.step.platform, 0, question)), "");
    }
    assert_eq!(door.asked.get(), 0);
}
