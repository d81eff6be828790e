//! Which keys of a set are taken, and which one a token's signature must be of.

use aptix_edge::identity::{Algorithm, Choice, KeySet, NoKeySet};
use aptix_edge::ports::PublicKey;
use serde_json::{Value, json};

use super::tokens::{base64url, modulus, point};

fn read(keys: Value) -> (KeySet, Vec<(usize, &'static str)>) {
    let (set, unusable) = KeySet::read(json!({ "keys": keys }).to_string().into_bytes()).unwrap();
    (set, unusable.iter().map(|key| (key.place, key.reason)).collect())
}

/// Whether a key is taken, and if not, why, where that is reported.
fn taken(key: Value) -> Result<bool, &'static str> {
    let (set, unusable) = read(json!([key]));
    match unusable[..] {
        [] => Ok(set != KeySet::default()),
        [(_, reason)] => Err(reason),
        _ => panic!(),
    }
}

fn with(mut key: Value, name: &str, value: Value) -> Value {
    key[name] = value;
    key
}

fn edwards(id: &str) -> Value {
    json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": base64url([9; 32]) })
}

#[test]
fn keys_of_the_three_kinds_are_taken_and_kept_as_they_are() {
    let (set, unusable) =
        read(json!([point(Some("p"), 1), modulus(2048), edwards("e"), point(None, 2)]));
    assert_eq!(unusable, []);
    let (again, _) = KeySet::read(set.to_json().into_bytes()).unwrap();
    assert_eq!(again, set);
    let x = base64url([9; 32]);
    assert_eq!(set.choose(Algorithm::Ed25519, Some("e")), Choice::One(&PublicKey::Ed25519 { x }));
}

#[test]
fn a_modulus_has_2048_to_8192_bits_and_the_exponent_is_65537_or_3() {
    for bits in [2_048, 2_049, 3_072, 4_096, 8_192] {
        assert_eq!(taken(modulus(bits)), Ok(true), "{bits}");
    }
    for bits in [512, 1_024, 2_040, 2_047, 8_193, 16_384] {
        let reason = "its modulus has fewer than 2048 or more than 8192 bits";
        assert_eq!(taken(modulus(bits)), Err(reason), "{bits}");
    }
    assert_eq!(taken(with(modulus(2_048), "e", json!("Aw"))), Ok(true));
    for exponent in ["AQ", "Ag", "EQ", "JQ", "AAEAAQ", "AQABAQ", "", "AQAB=", "AR"] {
        let reason = "its exponent is neither 65537 nor 3";
        assert_eq!(taken(with(modulus(2_048), "e", json!(exponent))), Err(reason), "{exponent}");
    }
    let even = [[0x80].as_slice(), &[0xff; 254], &[0xfe]].concat();
    let leading_zero = [[0].as_slice(), &[0xff; 256]].concat();
    for bytes in [even, leading_zero, Vec::new()] {
        let key = with(modulus(2_048), "n", json!(base64url(bytes)));
        assert_eq!(taken(key), Err("its modulus is malformed"));
    }
    for text in ["*", "AAA=", " "] {
        let key = with(modulus(2_048), "n", json!(text));
        assert_eq!(taken(key), Err("its modulus is malformed"));
    }
    assert_eq!(
        taken(json!({ "kty": "RSA", "e": "AQAB" })),
        Err("it has no modulus or no exponent")
    );
}

#[test]
fn a_coordinate_has_32_bytes() {
    for bytes in [0, 31, 33, 64] {
        let coordinate = json!(base64url(vec![1; bytes]));
        for (key, name) in [(point(None, 1), "x"), (point(None, 1), "y"), (edwards("e"), "x")] {
            let reason = "its point is malformed";
            assert_eq!(taken(with(key, name, coordinate.clone())), Err(reason), "{bytes}");
        }
    }
}

#[test]
fn a_private_or_secret_key_is_left_out_and_reported_beside_good_ones() {
    let private = "it holds a private or secret key";
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        for value in [json!("AA"), json!(null)] {
            assert_eq!(taken(with(point(None, 1), name, value)), Err(private), "{name}");
        }
    }
    assert_eq!(taken(json!({ "kty": "oct" })), Err(private));
    let (set, unusable) = read(json!([{ "kty": "oct", "k": "AA" }, point(Some("p"), 1)]));
    assert_eq!(unusable, [(0, private)]);
    assert!(matches!(set.choose(Algorithm::Es256, Some("p")), Choice::One(_)));
}

#[test]
fn a_key_for_something_else_is_no_key_for_signatures() {
    for other in [
        with(point(None, 1), "use", json!("enc")),
        with(point(None, 1), "use", json!("")),
        with(point(None, 1), "key_ops", json!([])),
        with(point(None, 1), "key_ops", json!(["sign", "encrypt"])),
        with(point(None, 1), "alg", json!("ES384")),
        with(point(None, 1), "alg", json!("RS256")),
        with(point(None, 1), "crv", json!("P-384")),
        with(modulus(2_048), "alg", json!("PS256")),
        with(modulus(2_048), "alg", json!("RSA-OAEP")),
        with(edwards("e"), "crv", json!("X25519")),
        json!({ "kty": "AKP", "alg": "ML-DSA-44", "pub": "AA" }),
        json!({}),
    ] {
        assert_eq!(taken(other.clone()), Ok(false), "{other}");
    }
    for right in [
        with(point(None, 1), "use", json!("sig")),
        with(point(None, 1), "key_ops", json!(["sign", "verify"])),
        with(point(None, 1), "alg", json!("ES256")),
        with(edwards("e"), "alg", json!("EdDSA")),
        with(edwards("e"), "alg", json!("Ed25519")),
        with(point(None, 1), "x5c", json!([1])),
    ] {
        assert_eq!(taken(right.clone()), Ok(true), "{right}");
    }
    for (name, wrong) in [
        ("use", json!(null)),
        ("use", json!(["sig"])),
        ("key_ops", json!("verify")),
        ("alg", json!(null)),
        ("kid", json!(5)),
        ("crv", json!(1)),
        ("kty", json!([])),
    ] {
        let key = with(point(None, 1), name, wrong);
        assert_eq!(taken(key), Err("a member has the wrong type"), "{name}");
    }
    for no_object in [json!(1), json!("k"), json!([])] {
        assert_eq!(taken(no_object), Err("it is not an object"));
    }
}

#[test]
fn exactly_one_key_must_fit() {
    let (set, _) = read(json!([
        point(Some("one"), 1),
        point(Some("twice"), 2),
        point(Some("twice"), 3),
        with(point(Some("used"), 4), "use", json!("enc")),
        point(Some("used"), 5),
        edwards("e"),
        edwards("one"),
    ]));
    assert!(matches!(set.choose(Algorithm::Es256, Some("one")), Choice::One(_)));
    assert!(matches!(set.choose(Algorithm::Ed25519, Some("one")), Choice::One(_)));
    assert!(matches!(set.choose(Algorithm::Es256, Some("used")), Choice::One(_)));
    assert_eq!(set.choose(Algorithm::Es256, Some("twice")), Choice::Unfit);
    assert_eq!(set.choose(Algorithm::Rs256, Some("one")), Choice::Unfit);
    for unknown in ["One", "one ", "", "__proto__", "constructor"] {
        assert_eq!(set.choose(Algorithm::Es256, Some(unknown)), Choice::Unknown);
    }
    for algorithm in [Algorithm::Es256, Algorithm::Rs256, Algorithm::Ed25519] {
        assert_eq!(set.choose(algorithm, None), Choice::Unfit, "several keys, and none is named");
    }
    let (single, _) = read(json!([with(modulus(2_048), "use", json!("enc")), point(Some("k"), 1)]));
    assert!(matches!(single.choose(Algorithm::Es256, None), Choice::One(_)));
    assert_eq!(single.choose(Algorithm::Rs256, None), Choice::Unknown);
    assert_eq!(KeySet::default().choose(Algorithm::Es256, None), Choice::Unknown);
    let (nameless, _) = read(json!([point(None, 9)]));
    assert!(matches!(nameless.choose(Algorithm::Es256, None), Choice::One(_)));
    assert_eq!(nameless.choose(Algorithm::Es256, Some("k")), Choice::Unknown);
}

#[test]
fn a_document_that_is_no_key_set_is_refused() {
    let refused = |text: &str| KeySet::read(text.as_bytes().to_vec()).unwrap_err();
    for malformed in [
        "",
        "<html></html>",
        "[]",
        "\u{feff}{\"keys\":[]}",
        r#"{"keys":[],"keys":[]}"#,
        r#"{"keys":[{"kty":"EC","kty":"oct"}]}"#,
        &format!("{{\"keys\":[],\"x\":{}{}}}", "[".repeat(64), "]".repeat(64)),
    ] {
        assert_eq!(refused(malformed), NoKeySet::Malformed, "{malformed}");
    }
    for no_list in ["{}", r#"{"keys":{}}"#, r#"{"keys":null}"#, r#"{"Keys":[]}"#] {
        assert_eq!(refused(no_list), NoKeySet::NoList, "{no_list}");
    }
    let keys = |count: usize| json!({ "keys": vec![point(None, 1); count] }).to_string();
    assert!(KeySet::read(keys(100).into_bytes()).is_ok());
    assert_eq!(refused(&keys(101)), NoKeySet::TooMany);
    assert_eq!(read(json!([])).0, KeySet::default());
}

#[test]
fn of_the_published_sets_the_one_public_key_for_signatures_is_taken() {
    let published: Value =
        serde_json::from_str(include_str!("../fixtures/identity/published.json")).unwrap();
    let (set, unusable) = read(published["RFC 7517, A.1"]["keys"].clone());
    assert_eq!(unusable, []);
    assert!(matches!(set.choose(Algorithm::Rs256, Some("2011-04-29")), Choice::One(_)));
    assert_eq!(set.choose(Algorithm::Es256, Some("1")), Choice::Unknown, "it is for encryption");
    let (set, unusable) = read(published["RFC 7517, A.3"]["keys"].clone());
    assert_eq!((set, unusable.len()), (KeySet::default(), 2));
    for name in ["RFC 7515, A.2", "RFC 7515, A.3", "RFC 8037, A.4"] {
        assert_eq!(taken(published[name]["jwk"].clone()), Ok(true), "{name}");
    }
}
