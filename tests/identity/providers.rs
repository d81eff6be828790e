//! The variable `IDENTITY_PROVIDERS`.

use aptix_edge::contract::{Fault, Operation};
use aptix_edge::identity::{Algorithm, ClaimedTenants, Providers, RequiredValue};
use serde_json::{Value, json};

use super::tokens::{ISSUER, definition, provider, variable};

fn fault(text: &str) -> String {
    let fault = Providers::parse(text).unwrap_err();
    assert_eq!(fault, Fault::internal(fault.message.clone()));
    fault.message
}

#[test]
fn what_is_left_out_has_its_default() {
    let read = provider(json!({}));
    assert_eq!(read.algorithms, [Algorithm::Rs256, Algorithm::Es256, Algorithm::Ed25519]);
    assert_eq!(read.types, ["at+jwt", "jwt"]);
    assert_eq!((read.user_claim.as_str(), read.user_prefix.as_str()), ("sub", ""));
    assert_eq!((read.clock_skew_s, read.revocation_skew_s, read.max_age_s), (60, 0, 86_400));
    assert_eq!(read.operations, Operation::DEFAULT);
    assert_eq!(
        (read.workspaces.len(), &read.contexts, &read.authorized_parties),
        (0, &None, &None)
    );
    assert_eq!(read.tenant.as_deref(), Some("acme"));
}

#[test]
fn every_member_is_read() {
    let read = provider(json!({
        "Algorithms": ["EdDSA", "RS256"], "UserClaim": "email", "UserPrefix": "a:", "Types": ["application/AT+JWT"],
        "RequiredClaims": { "token_use": "access", "verified": true }, "AuthorizedParties": ["spa-1"],
        "ClockSkewS": 0, "MaxAgeS": 60, "Operations": ["Watch", "Search"], "Workspaces": ["handbook"],
        "Contexts": ["default"], "Tenant": null,
        "Tenants": { "Claim": "org", "Map": { "o1": "acme" } },
    }));
    assert_eq!(read.algorithms, [Algorithm::Ed25519, Algorithm::Rs256]);
    assert_eq!((read.user_claim.as_str(), read.user_prefix.as_str()), ("email", "a:"));
    assert_eq!(read.types, ["at+jwt"]);
    let required = [
        ("token_use".to_owned(), RequiredValue::Text("access".to_owned())),
        ("verified".to_owned(), RequiredValue::Flag(true)),
    ];
    assert_eq!(read.required_claims, required);
    assert_eq!(read.authorized_parties.unwrap(), ["spa-1"]);
    assert_eq!((read.clock_skew_s, read.max_age_s), (0, 60));
    assert_eq!(read.operations, [Operation::Watch, Operation::Search]);
    assert_eq!(
        (&read.workspaces[..], &read.contexts.unwrap()[..]),
        (&["handbook".to_owned()][..], &["default".to_owned()][..])
    );
    let tenants = vec![("o1".to_owned(), "acme".to_owned())];
    assert_eq!(read.tenants, Some(ClaimedTenants { claim: "org".to_owned(), tenants }));
    assert_eq!(Providers::parse("[]"), Ok(Providers::default()));
}

#[test]
fn a_fault_names_its_place_and_no_value() {
    const VALUE: &str = "s3cret";
    for (changes, words) in [
        (json!({ "Issuer": null }), "[0] lacks Issuer"),
        (json!({ "Issuer": "" }), "[0].Issuer must not be empty"),
        (json!({ "Issuer": 5 }), "[0].Issuer must be a string"),
        (json!({ "JwksUrl": null }), "[0] lacks JwksUrl"),
        (
            json!({ "JwksUrl": "http://s3cret.example/" }),
            "[0].JwksUrl must begin with https://, unless it is on this machine",
        ),
        (json!({ "JwksUrl": VALUE }), "[0].JwksUrl must be an absolute URL: https://… or http://…"),
        (
            json!({ "JwksUrl": "ftp://s3cret.example" }),
            "[0].JwksUrl must begin with https:// or http://",
        ),
        (json!({ "Audiences": [] }), "[0].Audiences must not be empty"),
        (json!({ "Audiences": VALUE }), "[0].Audiences must be an array"),
        (json!({ "Audiences": ["a", 5] }), "[0].Audiences[1] must be a string"),
        (
            json!({ "Algorithms": ["RS256", "HS256"] }),
            "[0].Algorithms[1] must be RS256, ES256 or EdDSA",
        ),
        (json!({ "Algorithms": [] }), "[0].Algorithms must not be empty"),
        (
            json!({ "Tenant": "s3cret/x" }),
            "[0].Tenant must be 1 to 64 visible ASCII characters other than /, the first one not @",
        ),
        (json!({ "Tenant": "*" }), "[0].Tenant must name one tenant, and * is none"),
        (json!({ "Tenant": null }), "[0] must have one of Tenant and Tenants"),
        (
            json!({ "Tenants": { "Claim": "o", "Map": {} } }),
            "[0] must have one of Tenant and Tenants",
        ),
        (json!({ "Tenant": null, "Tenants": { "Claim": "o" } }), "[0].Tenants lacks Map"),
        (
            json!({ "Tenant": null, "Tenants": { "Claim": "o", "Map": { "o1": "" } } }),
            "[0].Tenants.Map.o1 must be 1 to 64 visible ASCII characters other than /, the first one not @",
        ),
        (json!({ "UserClaim": "" }), "[0].UserClaim must not be empty"),
        (
            json!({ "UserPrefix": " s3cret:" }),
            "[0].UserPrefix must be at most 127 bytes, without control characters and without white space at its \
             beginning",
        ),
        (json!({ "Types": [] }), "[0].Types must not be empty"),
        (json!({ "RequiredClaims": ["a"] }), "[0].RequiredClaims must be an object"),
        (json!({ "RequiredClaims": { "a": 5 } }), "[0].RequiredClaims.a must be a string"),
        (json!({ "AuthorizedParties": [] }), "[0].AuthorizedParties must not be empty"),
        (json!({ "ClockSkewS": 301 }), "[0].ClockSkewS must be a whole number from 0 to 300"),
        (json!({ "ClockSkewS": "60" }), "[0].ClockSkewS must be a whole number from 0 to 300"),
        (json!({ "RevocationSkewS": 61 }), "[0].RevocationSkewS must be at most ClockSkewS"),
        (
            json!({ "RevocationSkewS": 1, "ClockSkewS": 0 }),
            "[0].RevocationSkewS must be at most ClockSkewS",
        ),
        (
            json!({ "RevocationSkewS": -1 }),
            "[0].RevocationSkewS must be a whole number from 0 to 300",
        ),
        (json!({ "MaxAgeS": 0 }), "[0].MaxAgeS must be a whole number from 1 to 2147483648"),
        (json!({ "MaxAgeS": 1.5 }), "[0].MaxAgeS must be a whole number from 1 to 2147483648"),
        (json!({ "Operations": ["Mint"] }), "[0].Operations[0] is no operation"),
        (json!({ "Operations": [] }), "[0].Operations must not be empty"),
        (json!({ "Contexts": [] }), "[0].Contexts must not be empty"),
        (json!({ "Workspaces": [""] }), "[0].Workspaces[0] must not be empty"),
        (json!({ "Jwksurl": VALUE }), "[0].Jwksurl is unknown; did you mean JwksUrl?"),
        (json!({ "Discovery": VALUE }), "[0].Discovery is unknown"),
    ] {
        let expected = format!("The deployment's variable IDENTITY_PROVIDERS{words}.");
        assert_eq!(fault(&variable(changes)), expected);
    }
    assert_eq!(fault("{}"), "The deployment's variable IDENTITY_PROVIDERS must be an array.");
    assert_eq!(
        fault("[s3cret]"),
        "The deployment's variable IDENTITY_PROVIDERS is not valid JSON at line 1, column 2 (expected value)."
    );
    assert_eq!(
        fault(&"[".repeat(200)),
        "The deployment's variable IDENTITY_PROVIDERS is nested too deeply."
    );
    let twice = variable(json!({})).replace("\"Tenant\"", "\"Tenant\":\"s3cret\",\"Tenant\"");
    assert_eq!(
        fault(&twice),
        "The deployment's variable IDENTITY_PROVIDERS[0].Tenant stands there twice."
    );
}

#[test]
fn the_address_of_keys_may_be_unencrypted_on_this_machine_alone() {
    for url in [
        "http://127.0.0.1:8080/jwks",
        "http://localhost/jwks",
        "http://[::1]/k",
        "https://a.example/k?x=1",
    ] {
        assert_eq!(provider(json!({ "JwksUrl": url })).jwks_url, url);
    }
    for url in
        ["http://127.0.0.1.evil.example/", "http://10.0.0.1/", "http://localhost@evil.example/"]
    {
        assert!(Providers::parse(&variable(json!({ "JwksUrl": url }))).is_err(), "{url}");
    }
}

#[test]
fn two_providers_have_different_issuers_and_in_one_tenant_different_prefixes() {
    let with = |changes: Value| json!([definition(json!({})), definition(changes)]).to_string();
    let other = "https://b.example/";
    assert_eq!(
        fault(&with(json!({ "UserPrefix": "b:" }))),
        "The deployment's variable IDENTITY_PROVIDERS[1].Issuer is that of an earlier provider."
    );
    let shared = "The deployment's variable IDENTITY_PROVIDERS[1].UserPrefix is that of an earlier \
                  provider of the same tenant; give each its own.";
    assert_eq!(fault(&with(json!({ "Issuer": other }))), shared);
    let mapped = json!({
        "Issuer": other, "Tenant": null, "Tenants": { "Claim": "o", "Map": { "1": "beta", "2": "acme" } },
    });
    assert_eq!(fault(&with(mapped)), shared);
    for right in [
        json!({ "Issuer": other, "UserPrefix": "b:" }),
        json!({ "Issuer": other, "Tenant": "beta" }),
        json!({ "Issuer": "https://acme.example", "Tenant": "beta" }),
    ] {
        let both = Providers::parse(&with(right)).unwrap();
        assert!(
            both.of_issuer(ISSUER).is_some() && both.of_issuer("https://ACME.example/").is_none()
        );
    }
}
