//! The form of a token, and its header.

use aptix_edge::identity::{Algorithm, Header, Jws, Refusal};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::tokens::{base64url, claims, token, token_of};

fn header_of(json: &str) -> Result<Header, Refusal> {
    Ok(Jws::read(&token_of(json, "{}"))?.header)
}

/// The refusal at a step of the check.
fn refused(step: &str) -> Refusal {
    let steps = ["jwt: form", "jwt: header", "jwt: payload", "jwt: algorithm"];
    Refusal::Invalid(steps.into_iter().find(|reason| reason.ends_with(step)).unwrap())
}

fn refusal(token: &str) -> Refusal {
    Jws::read(token).unwrap_err()
}

#[test]
fn only_three_parts_in_strict_base64url_are_a_token() {
    let good = token("k", &claims(json!({})));
    let read = Jws::read(&good).unwrap();
    assert_eq!(read.payload, claims(json!({})).to_string());
    assert_eq!(read.signature, [7; 64]);
    assert_eq!(read.signed, good.rsplit_once('.').unwrap().0);
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let stray = format!("{}h", &signature[..85]);
    assert_eq!(base64url([7; 64]).len(), 86);
    for wrong in [
        "".to_owned(),
        "..".to_owned(),
        format!("{header}.{payload}"),
        format!("{header}..{signature}"),
        format!(".{payload}.{signature}"),
        format!("{header}.{payload}."),
        format!("{good}.x"),
        format!("{header}.{payload}.{signature}.{payload}.{signature}"),
        format!("{good}="),
        format!("{good}\n"),
        format!(" {good}"),
        format!("{header}\n.{payload}.{signature}"),
        format!("{header}.{payload}.{stray}"),
        format!("{header}.{payload}.+{}", &signature[1..]),
        format!("{header}.{payload}./{}", &signature[1..]),
        json!({ "protected": header, "payload": payload, "signature": signature }).to_string(),
    ] {
        assert_eq!(refusal(&wrong), refused("form"), "{wrong}");
    }
}

#[test]
fn every_stray_bit_in_the_last_digit_is_another_text_and_no_token() {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let good = token("k", &claims(json!({})));
    let (rest, last) = good.split_at(good.len() - 1);
    let read: Vec<char> =
        digits.chars().filter(|digit| Jws::read(&format!("{rest}{digit}")).is_ok()).collect();
    // 64 bytes take 85 digits and two bits: four values, of which one is this token's.
    assert_eq!(read.len(), 4);
    assert!(read.contains(&last.chars().next().unwrap()));
    let signatures: Vec<_> = read
        .iter()
        .map(|digit| Jws::read(&format!("{rest}{digit}")).unwrap().signature.clone())
        .collect();
    assert!(signatures.iter().enumerate().all(|(at, one)| !signatures[..at].contains(one)));
}

#[test]
fn a_token_has_at_most_8192_bytes_and_its_header_2048() {
    let padded = |payload: usize| {
        let shell = claims(json!({ "x": "" })).to_string().len();
        token("k", &claims(json!({ "x": "x".repeat(payload - shell) })))
    };
    let longest =
        (1..).map(|bytes| padded(5_900 + bytes)).find(|text| text.len() >= 8_191).unwrap();
    assert!(Jws::read(&longest).is_ok() && longest.len() <= 8_192, "{}", longest.len());
    assert_eq!(refusal(&format!("{longest}AAAA")), refused("form"));

    let header = |bytes: usize| {
        let shell = json!({ "alg": "ES256", "x": "" }).to_string().len();
        json!({ "alg": "ES256", "x": "x".repeat(bytes - shell) }).to_string()
    };
    assert!(header_of(&header(2_048)).is_ok());
    assert_eq!(header_of(&header(2_049)), Err(refused("header")));
}

#[test]
fn json_that_two_readers_may_take_for_two_things_is_refused() {
    let deep =
        |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(Jws::read(&token_of(r#"{"alg":"ES256"}"#, &deep(64))).is_ok());
    for payload in [
        r#"{"sub":"a","sub":"b"}"#.to_owned(),
        r#"{"sub":"a","\u0073ub":"b"}"#.to_owned(),
        r#"{"a":[{"b":1,"b":1}]}"#.to_owned(),
        r#"{"aud":"a","aud":["a"]}"#.to_owned(),
        r#"{"\ud800":1}"#.to_owned(),
        "\u{feff}{}".to_owned(),
        "{} {}".to_owned(),
        "{".to_owned(),
        "[]".to_owned(),
        "\"{}\"".to_owned(),
        "null".to_owned(),
        "{\"a\":1,}".to_owned(),
        "{\"a\":\"\n\"}".to_owned(),
        deep(65),
        "[".repeat(2_500),
        "{\"a\":".repeat(1_000),
    ] {
        assert_eq!(
            refusal(&token_of(r#"{"alg":"ES256"}"#, &payload)),
            refused("payload"),
            "{payload}"
        );
    }
    let not_utf8 = URL_SAFE_NO_PAD.encode(b"{\"sub\":\"\xff\"}");
    let token = format!("{}.{not_utf8}.AA", base64url(r#"{"alg":"ES256"}"#));
    assert_eq!(refusal(&token), refused("payload"));
    // A number that no double holds changes nothing of what is read.
    assert!(Jws::read(&token_of(r#"{"alg":"ES256"}"#, r#"{"n":12345678901234567890}"#)).is_ok());
}

#[test]
fn only_the_three_algorithms_by_their_exact_names_are_taken() {
    for (name, algorithm) in [
        ("RS256", Algorithm::Rs256),
        ("ES256", Algorithm::Es256),
        ("EdDSA", Algorithm::Ed25519),
        ("Ed25519", Algorithm::Ed25519),
    ] {
        assert_eq!(header_of(&json!({ "alg": name }).to_string()).unwrap().algorithm, algorithm);
    }
    for name in [
        "none", "None", "nOnE", "NONE", "", "HS256", "HS512", "PS256", "RS384", "RS512", "ES384",
        "ES512", "ES256K", "Ed448", "rs256", "RS256 ", "RS256\0", "dir",
    ] {
        let header = json!({ "alg": name }).to_string();
        assert_eq!(header_of(&header), Err(refused("algorithm")), "{name}");
    }
    assert_eq!(header_of("{}"), Err(refused("algorithm")));
    for wrong in [json!(["RS256"]), json!(256), json!(null), json!(true), json!({ "a": "RS256" })] {
        assert_eq!(header_of(&json!({ "alg": wrong }).to_string()), Err(refused("header")));
    }
    for twice in [r#"{"alg":"none","alg":"RS256"}"#, r#"{"alg":"RS256","\u0061lg":"none"}"#] {
        assert_eq!(header_of(twice), Err(refused("header")));
    }
}

#[test]
fn what_would_give_the_token_another_meaning_is_refused_and_addresses_and_keys_are_not_read() {
    for name in ["crit", "b64", "zip", "enc", "cty"] {
        for value in [json!(null), json!(true), json!([]), json!("JWT")] {
            let header = json!({ "alg": "ES256", name: value }).to_string();
            assert_eq!(header_of(&header), Err(refused("header")), "{header}");
        }
    }
    let plain = header_of(r#"{"alg":"ES256"}"#).unwrap();
    let other = json!({
        "alg": "ES256", "jku": "https://evil.example/", "x5u": 5, "x5c": ["AA"], "jwk": { "kty": "oct", "k": "AA" },
        "x5t": "AA", "unknown": {},
    });
    assert_eq!(header_of(&other.to_string()).unwrap(), plain);
}

#[test]
fn a_type_counts_without_case_and_prefix_and_an_absent_one_is_jwt() {
    for (typ, read) in [
        ("JWT", "jwt"),
        ("jwt", "jwt"),
        ("application/jwt", "jwt"),
        ("at+JWT", "at+jwt"),
        ("Application/AT+jwt", "at+jwt"),
        ("", ""),
        ("jwt ", "jwt "),
    ] {
        let header = json!({ "alg": "ES256", "typ": typ }).to_string();
        assert_eq!(header_of(&header).unwrap().token_type, read);
    }
    assert_eq!(header_of(r#"{"alg":"ES256"}"#).unwrap().token_type, "jwt");
    for wrong in [json!(null), json!(["JWT"]), json!(1)] {
        assert_eq!(
            header_of(&json!({ "alg": "ES256", "typ": wrong }).to_string()),
            Err(refused("header"))
        );
    }
}

#[test]
fn a_key_id_is_a_text_of_1_to_256_characters() {
    let with = |id: Value| header_of(&json!({ "alg": "ES256", "kid": id }).to_string());
    for id in ["../../x", "__proto__", "' OR 1=1 --", &"é".repeat(256), "\0"] {
        assert_eq!(with(id.into()).unwrap().key_id.as_deref(), Some(id));
    }
    for wrong in [json!(""), json!("x".repeat(257)), json!(1), json!(null), json!(["k"]), json!({})]
    {
        assert_eq!(with(wrong), Err(refused("header")));
    }
}

#[test]
fn the_published_examples_are_read() {
    let published: Value =
        serde_json::from_str(include_str!("../fixtures/identity/published.json")).unwrap();
    let token = |name: &str| published[name]["token"].as_str().unwrap();
    for (name, algorithm, bytes) in
        [("RFC 7515, A.2", Algorithm::Rs256, 256), ("RFC 7515, A.3", Algorithm::Es256, 64)]
    {
        let jws = Jws::read(token(name)).unwrap();
        assert_eq!((jws.header.algorithm, jws.signature.len()), (algorithm, bytes));
        let claims: Value = serde_json::from_str(&jws.payload).unwrap();
        assert_eq!((&claims["iss"], &claims["exp"]), (&json!("joe"), &json!(1_300_819_380)));
    }
    // Its payload is a sentence.
    assert_eq!(refusal(token("RFC 8037, A.4")), refused("payload"));
}
