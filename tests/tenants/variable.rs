//! The variables `TENANTS` and `JURISDICTIONS`.

use aptix_edge::contract::Fault;
use aptix_edge::encoding::Jurisdiction;
use aptix_edge::identity::{Placement, TenantTerms, Tenants};
use aptix_edge::ports::ObjectClass;
use serde_json::json;

use super::clients::{key, said_of, tenants};

fn read(said: &str, simulated: Option<&str>) -> Result<Tenants, Fault> {
    Tenants::from_variables(&|name| match name {
        "TENANTS" => Some(said.to_owned()),
        "JURISDICTIONS" => simulated.map(str::to_owned),
        _ => None,
    })
}

#[test]
fn a_tenant_has_its_own_entry_or_that_of_all_others_or_no_limit() {
    let said = json!({
        "acme": { "Jurisdiction": "fedramp-high", "Contexts": [] },
        "beta": { "Placement": "apac" }, "*": { "Contexts": ["default"] },
    });
    let tenants = read(&said.to_string(), None).unwrap();
    let (jurisdiction, contexts) = (Some(Jurisdiction::FedRampHigh), Some(Vec::new()));
    let acme = TenantTerms { jurisdiction, contexts, ..TenantTerms::default() };
    assert_eq!(tenants.of("acme"), &acme);
    let placement = Some(Placement::AsiaPacific);
    assert_eq!(tenants.of("beta"), &TenantTerms { placement, ..TenantTerms::default() });
    assert_eq!(tenants.of("other").contexts, Some(vec!["default".to_owned()]));
    for absent in ["", "{}"] {
        assert_eq!(read(absent, None), Ok(Tenants::default()));
        assert_eq!(read(absent, Some("")).unwrap().of("acme"), &TenantTerms::default());
    }
}

#[test]
fn a_fault_is_named_by_its_place_and_no_value_is_repeated() {
    for (said, place) in [
        ("[]", "TENANTS must be an object"),
        ("{", "TENANTS is "),
        (r#"{"acme":{"Jurisdiction":"moon"}}"#, "TENANTS.acme.Jurisdiction must be one of eu, us,"),
        (r#"{"acme":{"Jurisdiction":"EU"}}"#, "TENANTS.acme.Jurisdiction must be one of"),
        (r#"{"acme":{"Jurisdiction":null}}"#, "TENANTS.acme.Jurisdiction must be a string"),
        (r#"{"acme":{"Placement":"moon"}}"#, "TENANTS.acme.Placement must be one of wnam,"),
        (
            r#"{"acme":{"Placement":"weur","Jurisdiction":"eu"}}"#,
            "TENANTS.acme.Placement stands beside Jurisdiction",
        ),
        (r#"{"acme":{"Contexts":"moon"}}"#, "TENANTS.acme.Contexts must be an array"),
        (r#"{"acme":{"Contexts":["a",""]}}"#, "TENANTS.acme.Contexts[1] must not be empty"),
        (r#"{"acme":{"Context":["moon"]}}"#, "TENANTS.acme.Context is unknown; did you mean"),
        (r#"{"acme":{},"acme":{}}"#, "TENANTS.acme stands there twice"),
        (r#"{"*":7}"#, "TENANTS.* must be an object"),
        (r#"{"a/b":{}}"#, "TENANTS.a/b is of no tenant"),
    ] {
        let fault = read(said, None).unwrap_err();
        assert_eq!(fault, Fault::internal(fault.message.clone()));
        let begins = format!("The deployment's variable {place}");
        assert!(fault.message.starts_with(&begins), "{}", fault.message);
        assert!(!fault.message.contains("moon"), "{}", fault.message);
    }
    let fault = read("", Some("moon")).unwrap_err();
    assert!(fault.message.contains("variable JURISDICTIONS must be simulated"), "{fault:?}");
}

#[test]
fn while_a_variable_is_malformed_only_what_shows_no_tenant_answers() {
    for (name, value, place) in [
        ("TENANTS", r#"{"acme":{"Jurisdiction":"moon"}}"#, "TENANTS.acme.Jurisdiction"),
        ("JURISDICTIONS", "real", "JURISDICTIONS"),
    ] {
        let bed = tenants(json!({}));
        bed.deploy(name, value);
        for open in ["/health", "/errors", "/openapi.json"] {
            assert_eq!(key("acme").get(&bed, open).status, 200, "{open}");
        }
        let document = key("acme").get(&bed, "/oauth/client.json");
        assert_eq!(document.failure(), (404, "not_found"), "no endpoint yet");
        let file = format!("/files/{0}-{0}?Name=a", "0a".repeat(32));
        for target in
            ["/sessions/s", "/sessions", "/workspaces/w", "/users/u", file.as_str(), "/", "/no"]
        {
            for client in [key("acme"), key("beta"), key("nobody")] {
                let refused = client.get(&bed, target);
                assert_eq!(refused.failure(), (500, "internal"), "{target}");
                assert!(refused.text.contains(place), "{}", refused.text);
            }
        }
        assert_eq!(key("acme").say(&bed, "s", "t", json!({})).failure(), (500, "internal"));
        assert!(bed.world.asked.borrow().is_empty(), "no object is asked");
    }
}

#[test]
fn one_rule_says_where_an_object_is_asked_for_and_the_object_knows_which_it_is() {
    let said = json!({ "acme": { "Jurisdiction": "eu" }, "beta": { "Placement": "weur" } });
    let (real, simulated) = (
        read(&said.to_string(), None).unwrap(),
        read(&said.to_string(), Some("simulated")).unwrap(),
    );
    for class in
        [ObjectClass::Session, ObjectClass::User, ObjectClass::Workspace, ObjectClass::McpList]
    {
        let name = "acme/~alice/s";
        let place = real.place(class, name);
        assert_eq!((&*place.name, place.jurisdiction), (name, Some(Jurisdiction::Eu)));
        let place = simulated.place(class, name);
        assert_eq!((&*place.name, place.jurisdiction), ("@eu/acme/~alice/s", None));
        for (tenants, told) in [(&real, name), (&simulated, "@eu/acme/~alice/s")] {
            let identity = tenants.identity(class, Some(told.to_owned()));
            assert_eq!(identity.tenant(), Some("acme"));
            assert_eq!(identity.jurisdiction, Some(Jurisdiction::Eu));
        }
        for tenants in [&real, &simulated] {
            let place = tenants.place(class, "beta/s");
            assert_eq!(
                (place.jurisdiction, place.placement),
                (None, Some(Placement::WesternEurope))
            );
            assert_eq!(tenants.place(class, "other/s").placement, None);
        }
        // The object of an earlier jurisdiction knows that it is in that one.
        let earlier = simulated.identity(class, Some("@us/acme/s".to_owned()));
        assert_eq!(earlier.jurisdiction, Some(Jurisdiction::Us));
        let outside = simulated.identity(class, Some("acme/s".to_owned()));
        assert_eq!((outside.tenant(), outside.jurisdiction), (Some("acme"), None));
    }
    let keys = simulated.place(ObjectClass::KeySet, "acme/0a0a");
    assert_eq!((&*keys.name, keys.jurisdiction, keys.placement), ("acme/0a0a", None, None));
}

#[test]
fn an_empty_variable_is_none() {
    let bed = tenants(json!({}));
    key("acme").say(&bed, "s", "t", json!({})).final_text();
    bed.deploy("TENANTS", "");
    key("acme").say(&bed, "s", "u", json!({})).final_text();
    said_of(&bed, json!({ "beta": { "Jurisdiction": "eu" } }));
    key("acme").say(&bed, "s", "v", json!({})).final_text();
    let asked = bed.world.asked.borrow();
    assert!(asked.iter().all(|asked| asked.name == "acme/s" && asked.jurisdiction.is_none()));
}
