//! Files of a tenant with a jurisdiction: in its own bucket or nowhere, and a link opens no other.

use aptix_edge::encoding::Jurisdiction;
use bed::*;
use serde_json::{Value, json};

use super::clients::{key, tenants};

/// A bed whose tool makes a file, for a tenant of `eu`, with the buckets of these jurisdictions.
fn with_buckets(buckets: &[Jurisdiction]) -> Bed {
    let bed = tenants(json!({ "acme": { "Jurisdiction": "eu" } }));
    bed.world.buckets.replace(buckets.to_vec());
    bed.configure(|catalog| {
        catalog["AgentContexts"]["default"]["Residence"] = json!(["eu"]);
    });
    bed.world.tools.think(|_| {
        let file = json!({ "Name": "a.txt", "MimeType": "text/plain", "Text": "0123456789" });
        ToolAnswer::Json(json!({ "Files": [file] }))
    });
    bed
}

fn made(bed: &Bed, tenant: &str) -> Heard {
    key(tenant).say(bed, "s", "t", json!({ "Instruction": "Make [plan: server]" }))
}

fn link(heard: &Heard) -> String {
    let url = heard.result()["Files"][0]["Url"].as_str().unwrap();
    url.strip_prefix("https://edge.localhost").unwrap().to_owned()
}

fn opened(bed: &Bed, link: &str) -> (u16, String) {
    let heard = bed.asked("GET", link, "");
    (heard.status, heard.text)
}

#[test]
fn a_file_is_in_the_bucket_of_its_tenant_and_its_link_opens_no_other() {
    let bed = with_buckets(&[Jurisdiction::Eu, Jurisdiction::Us]);
    let (eu, plain) = (link(&made(&bed, "acme")), link(&made(&bed, "beta")));
    let keys: Vec<String> = bed.world.files.borrow().keys().cloned().collect();
    assert_eq!(keys.iter().filter(|key| key.starts_with("eu:")).count(), 1, "{keys:?}");
    assert_eq!(keys.len(), 2);
    assert!(eu.contains("?Bucket=eu&") && !plain.contains("Bucket"), "{eu} {plain}");
    for link in [&eu, &plain] {
        assert_eq!(opened(&bed, link), (200, "0123456789".to_owned()));
    }
    for turned in [
        eu.replace("Bucket=eu&", ""),
        eu.replace("Bucket=eu", "Bucket=us"),
        plain.replace('?', "?Bucket=eu&"),
    ] {
        assert_eq!(opened(&bed, &turned).0, 404, "{turned}");
    }
    bed.world.buckets.take();
    bed.deploy("ANY", "");
    assert_eq!(opened(&bed, &eu).0, 404, "through a deployment without the bucket");
    assert_eq!(opened(&bed, &plain).0, 200);
    bed.world.buckets.replace(vec![Jurisdiction::Eu]);
    let erased = key("acme").ask(&bed, "DELETE", "/sessions/s", &Value::Null);
    assert_eq!(erased.result()["Files"], 1, "{}", erased.text);
    assert_eq!(opened(&bed, &eu).0, 404);
    assert_eq!(opened(&bed, &plain).0, 200, "another bucket is not looked into");
}

#[test]
fn without_its_bucket_no_file_of_a_tenant_is_kept() {
    let bed = with_buckets(&[Jurisdiction::Us]);
    let failed = made(&bed, "acme");
    assert_eq!(failed.failure(), (500, "server_tool_failed"));
    assert!(failed.text.contains("no place for them"), "{}", failed.text);
    assert!(bed.world.files.borrow().is_empty(), "FILES is never taken instead");
    let erased = key("acme").ask(&bed, "DELETE", "/sessions/s", &Value::Null);
    assert_eq!(erased.result()["Files"], 0, "{}", erased.text);
}
