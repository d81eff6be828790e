//! What the claims of a token say, and which tokens they make void.

use aptix_edge::contract::UserId;
use aptix_edge::identity::{Claims, Providers, Refusal};
use serde_json::{Value, json};

use super::tokens::{ISSUER, NOW_S, claims, definition, provider};

/// The claims as the provider's rules take them, at the beginning of the tests.
fn read(provider_changes: Value, claim_changes: Value) -> Result<Claims, Refusal> {
    read_text(provider_changes, &claims(claim_changes).to_string())
}

fn read_text(provider_changes: Value, payload: &str) -> Result<Claims, Refusal> {
    Claims::read(&provider(provider_changes), payload, NOW_S * 1000)
}

fn outcome(provider_changes: Value, claim_changes: Value) -> &'static str {
    match read(provider_changes, claim_changes) {
        Ok(_) => "ok",
        Err(Refusal::Invalid(reason)) => reason.strip_prefix("jwt: ").unwrap(),
        Err(Refusal::Expired) => "late",
        Err(Refusal::Unavailable { .. }) => "unavailable",
    }
}

#[test]
fn a_good_token_says_whose_it_is_and_since_when() {
    let alice = Claims {
        tenant: "acme".to_owned(),
        user: UserId::parse("alice").unwrap(),
        issued_at: NOW_S * 1000,
    };
    assert_eq!(read(json!({}), json!({})), Ok(alice.clone()));
    assert_eq!(
        read(json!({}), json!({ "iat": null })),
        Ok(Claims { issued_at: 0, ..alice.clone() })
    );
    let payload = claims(json!({ "iat": null })).to_string().replace('}', ",\"iat\":1767323044.5}");
    let issued_at = 1_767_323_044_500;
    assert_eq!(read_text(json!({}), &payload), Ok(Claims { issued_at, ..alice }));
}

#[test]
fn a_token_of_a_clock_that_runs_ahead_counts_as_issued_earlier() {
    let issued = |skew: u64, iat: u64| {
        let changes = json!({ "RevocationSkewS": skew });
        read(changes, json!({ "iat": iat })).unwrap().issued_at
    };
    assert_eq!(issued(0, NOW_S + 55), (NOW_S + 55) * 1000);
    assert_eq!(issued(60, NOW_S + 55), (NOW_S - 5) * 1000, "a revocation now makes it void");
    assert_eq!(issued(60, NOW_S - 10), (NOW_S - 70) * 1000);
    let first = json!({ "RevocationSkewS": 60, "MaxAgeS": 1_u64 << 31 });
    assert_eq!(read(first, json!({ "iat": 5 })).unwrap().issued_at, 0);
}

#[test]
fn each_time_is_held_to_the_second_of_the_skew() {
    let now = i64::try_from(NOW_S).unwrap();
    for (name, by, expected) in [
        ("exp", -59, "ok"),
        ("exp", -60, "late"),
        ("exp", -61, "late"),
        ("nbf", 60, "ok"),
        ("nbf", 61, "time"),
        ("iat", 60, "ok"),
        ("iat", 61, "time"),
    ] {
        let changes = json!({ "iat": now - 100, name: now + by });
        assert_eq!(outcome(json!({}), changes), expected, "{name} {by}");
    }
    let strict = json!({ "ClockSkewS": 0 });
    assert_eq!(outcome(strict.clone(), json!({ "exp": now + 1 })), "ok");
    assert_eq!(outcome(strict, json!({ "exp": now })), "late");
    assert_eq!(outcome(json!({}), json!({ "exp": now + 86_400 })), "ok");
    assert_eq!(outcome(json!({}), json!({ "exp": now + 86_401 })), "time");
    // Whatever does not say since when it lives may live as long from now on: what voids it is not known for ever.
    assert_eq!(outcome(json!({}), json!({ "exp": now + 86_400, "iat": null })), "ok");
    assert_eq!(outcome(json!({}), json!({ "exp": now + 86_401, "iat": null })), "time");
    assert_eq!(outcome(json!({ "MaxAgeS": 599 }), json!({})), "time");
}

#[test]
fn a_token_is_late_only_where_nothing_else_is_wrong_with_it() {
    let late = NOW_S - 3_600;
    assert_eq!(outcome(json!({}), json!({ "exp": late, "iat": late - 60 })), "late");
    for (changes, word) in [
        (json!({ "aud": "x" }), "audience"),
        (json!({ "sub": 5 }), "user"),
        (json!({ "nbf": NOW_S + 100 }), "time"),
    ] {
        let mut all = json!({ "exp": late, "iat": late - 60 });
        all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        assert_eq!(outcome(json!({}), all), word);
    }
}

#[test]
fn a_time_is_a_finite_number_and_nothing_else() {
    let with = |name: &str, value: &str| {
        let mut without = claims(json!({ name: null })).to_string();
        without.pop();
        match read_text(json!({}), &format!("{without},\"{name}\":{value}}}")) {
            Ok(_) => "ok",
            Err(Refusal::Invalid(reason)) => reason.strip_prefix("jwt: ").unwrap(),
            Err(_) => "other",
        }
    };
    for name in ["exp", "nbf", "iat"] {
        for wrong in [
            "\"9999999999\"",
            "\"1\"",
            "1e400",
            "-1e400",
            "-1",
            "null",
            "true",
            "[]",
            "{}",
            "[1767323045]",
            "9007199254740993.5e1",
            "1e300",
        ] {
            assert_eq!(with(name, wrong), "time", "{name} {wrong}");
        }
    }
    assert_eq!(outcome(json!({}), json!({ "exp": null })), "time");
    assert_eq!(with("exp", "1767323645.75"), "ok");
    assert_eq!(with("exp", "1.767323645e9"), "ok");
    assert_eq!(with("nbf", "0"), "ok");
    assert_eq!(with("nbf", "-0"), "ok");
}

#[test]
fn the_audience_is_one_of_ours_by_equal_texts() {
    for right in [
        json!("https://agent.example.com"),
        json!(["https://agent.example.com"]),
        json!(["other", "https://agent.example.com"]),
    ] {
        assert_eq!(outcome(json!({}), json!({ "aud": right })), "ok");
    }
    for wrong in [
        json!([]),
        json!([1, "https://agent.example.com"]),
        json!(["https://agent.example.com", null]),
        json!([["https://agent.example.com"]]),
        json!({}),
        json!({ "0": "https://agent.example.com" }),
        json!(true),
        json!(""),
        json!("https://agent.example.com/"),
        json!("https://agent.example.co"),
        json!("https://agent.example.com.evil"),
        json!("ttps://agent.example.com"),
        json!("https://Agent.example.com"),
        json!("https://agent.example.com https://other"),
    ] {
        assert_eq!(outcome(json!({}), json!({ "aud": wrong })), "audience", "{wrong}");
    }
    assert_eq!(outcome(json!({}), json!({ "aud": null })), "audience");
}

#[test]
fn the_client_is_one_that_is_listed_and_the_claims_that_are_required_are_there() {
    let parties = || json!({ "AuthorizedParties": ["spa-1"] });
    for (changes, expected) in [
        (json!({}), "party"),
        (json!({ "azp": "spa-1" }), "ok"),
        (json!({ "client_id": "spa-1" }), "ok"),
        (json!({ "azp": "spa-1", "client_id": "other" }), "ok"),
        (json!({ "azp": "other", "client_id": "spa-1" }), "party"),
        (json!({ "azp": ["spa-1"], "client_id": "spa-1" }), "party"),
        (json!({ "azp": 1, "client_id": "spa-1" }), "party"),
        (json!({ "cid": "spa-1" }), "ok"),
        (json!({ "appid": "spa-1" }), "ok"),
        (json!({ "client_id": "other", "cid": "spa-1", "appid": "spa-1" }), "party"),
    ] {
        assert_eq!(outcome(parties(), changes.clone()), expected, "{changes}");
    }
    assert_eq!(outcome(json!({}), json!({ "azp": ["x"] })), "ok", "nobody reads it");
    let required = || json!({ "RequiredClaims": { "token_use": "access", "verified": true } });
    for (changes, expected) in [
        (json!({ "token_use": "access", "verified": true }), "ok"),
        (json!({ "token_use": "id", "verified": true }), "required claim"),
        (json!({ "token_use": "access" }), "required claim"),
        (json!({ "token_use": ["access"], "verified": true }), "required claim"),
        (json!({ "token_use": "access", "verified": "true" }), "required claim"),
        (json!({ "token_use": "access", "verified": 1 }), "required claim"),
    ] {
        assert_eq!(outcome(required(), changes.clone()), expected, "{changes}");
    }
}

#[test]
fn the_tenant_is_the_one_that_a_claim_is_mapped_to() {
    let mapped = || json!({ "Tenant": null, "Tenants": { "Claim": "org", "Map": { "o1": "acme", "o2": "beta" } } });
    let tenant = |org: Value| read(mapped(), json!({ "org": org })).map(|claims| claims.tenant);
    assert_eq!(tenant(json!("o1")).unwrap(), "acme");
    assert_eq!(tenant(json!("o2")).unwrap(), "beta");
    for unmapped in
        [json!("o3"), json!("acme"), json!("__proto__"), json!(1), json!(["o1"]), json!(null)]
    {
        assert_eq!(tenant(unmapped), Err(Refusal::Invalid("jwt: tenant")));
    }
}

#[test]
fn the_user_is_the_claim_s_text_or_nobody() {
    let user = |changes: Value, name: Value| {
        read(changes, json!({ "sub": name })).map(|claims| claims.user.as_str().to_owned())
    };
    let plain = |name: &str| user(json!({}), json!(name));
    let longest = "é".repeat(64);
    for name in ["a/b", "~", "~alice", "%2F", "\u{202e}ecila", "a b", &longest] {
        assert_eq!(plain(name).as_deref(), Ok(name));
    }
    let longer = format!("{longest}x");
    for wrong in ["", " alice", "alice ", "alice\u{a0}", "a\0", "a\nb", "\u{85}", "\u{7f}", &longer]
    {
        assert_eq!(plain(wrong), Err(Refusal::Invalid("jwt: user")), "{wrong:?}");
    }
    for wrong in [json!(1), json!(null), json!(["alice"]), json!(true)] {
        assert_eq!(user(json!({}), wrong), Err(Refusal::Invalid("jwt: user")));
    }
    let prefixed = || json!({ "UserPrefix": "p:", "UserClaim": "sub" });
    assert_eq!(user(prefixed(), json!("alice")).as_deref(), Ok("p:alice"));
    let fits = "x".repeat(126);
    assert_eq!(user(prefixed(), json!(fits)), Ok(format!("p:{fits}")));
    for wrong in ["", " alice", &"x".repeat(127)] {
        assert_eq!(user(prefixed(), json!(wrong)), Err(Refusal::Invalid("jwt: user")), "{wrong:?}");
    }
    let by_mail = json!({ "UserClaim": "email" });
    assert_eq!(outcome(by_mail.clone(), json!({ "email": "a@b" })), "ok");
    assert_eq!(outcome(by_mail, json!({})), "user");
}

#[test]
fn no_user_of_one_provider_is_another_provider_s_user_of_the_same_tenant() {
    let second = definition(json!({ "Issuer": "https://b.example/", "UserPrefix": "b:" }));
    let third = definition(
        json!({ "Issuer": "https://c.example/", "UserPrefix": "b:c:", "Tenant": "other" }),
    );
    let all = json!([definition(json!({})), second, third]).to_string();
    let all = Providers::parse(&all).unwrap();
    let user = |issuer: &str, name: &str| {
        let payload = claims(json!({ "sub": name })).to_string();
        let read = Claims::read(all.of_issuer(issuer).unwrap(), &payload, NOW_S * 1000);
        read.map(|claims| claims.user.as_str().to_owned())
    };
    assert_eq!(user("https://b.example/", "alice").as_deref(), Ok("b:alice"));
    assert_eq!(user(ISSUER, "b:alice"), Err(Refusal::Invalid("jwt: user")));
    assert_eq!(user(ISSUER, "b").as_deref(), Ok("b"));
    // The third provider has no user of this tenant.
    assert_eq!(user("https://b.example/", "c:alice").as_deref(), Ok("b:c:alice"));
}

#[test]
fn the_published_access_token_is_taken_by_a_provider_for_it() {
    let published: Value =
        serde_json::from_str(include_str!("../fixtures/identity/published.json")).unwrap();
    let payload = published["RFC 9068, Figure 2"]["claims"].to_string();
    let rules = |age: u64| {
        json!({
            "Issuer": ISSUER, "Audiences": ["https://rs.example.com/"], "MaxAgeS": age,
            "AuthorizedParties": ["s6BhdRkqt3"], "RequiredClaims": { "scope": "openid profile reademail" },
        })
    };
    let at = |age: u64, second: u64| Claims::read(&provider(rules(age)), &payload, second * 1000);
    let read = at(30_000_000, 1_618_354_091).unwrap();
    assert_eq!((read.user.as_str(), read.issued_at), ("5ba552d67", 1_618_354_090_000));
    assert_eq!(at(30_000_000, 1_639_528_972), Err(Refusal::Expired));
    assert_eq!(
        at(86_400, 1_618_354_091),
        Err(Refusal::Invalid("jwt: time")),
        "it lives for 245 days"
    );
}
