//! The catalog that a submission ran under (interface §16, The catalog of a submission).

use std::slice::from_ref;

use aptix_edge::encoding::sha256_hex;
use bed::*;
use serde_json::{Value, json};

/// Puts another catalog in place, and returns what names it. Every other one says its version.
fn put(bed: &Bed, number: usize) -> Value {
    let version = (number % 2 == 1).then(|| format!("v{number}"));
    bed.configure(|catalog| {
        catalog["Modes"][0]["Instructions"] = json!(format!("Number {number}."));
        if let Some(version) = &version {
            catalog["Version"] = json!(version);
        }
    });
    let mut stamp = json!({ "Sha256": bed.catalog_hash() });
    if let Some(version) = version {
        stamp["Version"] = json!(version);
    }
    stamp
}

/// The catalogs of a turn's submissions, in its trace or as the export has it.
fn catalogs(turn: &Value) -> Vec<Value> {
    let submissions = turn["Submissions"].as_array().unwrap();
    submissions.iter().map(|submission| submission["Catalog"].clone()).collect()
}

/// The catalogs of a turn's submissions, as the trace shows them.
fn stamps(bed: &Bed, id: &str) -> Vec<Value> {
    catalogs(bed.asked("GET", &format!("/sessions/s/turns/{id}/trace"), "").result())
}

/// Whether the export says of each turn what the trace says.
fn assert_exported(bed: &Bed) {
    let export = bed.export();
    for turn in export["Result"]["Turns"].as_array().unwrap() {
        assert_eq!(catalogs(turn), stamps(bed, turn["TurnId"].as_str().unwrap()));
    }
}

/// What the log and the data points say of the submissions that ended since.
fn told(bed: &Bed) -> (Vec<Value>, Vec<Value>) {
    let log = bed.world.log.take();
    let lines = log.into_iter().filter(|line| line["event"] == "submission");
    let points = bed.world.metered.replace(Some(Vec::new())).unwrap();
    let blob = |point| serde_json::to_value(point).unwrap()["blobs"][7].clone();
    (lines.map(|line| line["catalog"].clone()).collect(), points.into_iter().map(blob).collect())
}

fn hashes(stamps: &[&Value]) -> Vec<Value> {
    stamps.iter().map(|stamp| stamp["Sha256"].clone()).collect()
}

#[test]
fn each_of_200_turns_names_the_catalog_that_each_of_its_submissions_began_with() {
    let bed = Bed::new();
    bed.world.metered.replace(Some(Vec::new()));
    let mut present = put(&bed, 0);
    for number in 1..=200_usize {
        let id = format!("t{number}");
        let before = present.clone();
        present = match number % 4 {
            // The catalog changes while the turn runs.
            0 => {
                let calls = bed.world.model.requests();
                let running = bed.send(&turn(&id, "One [plan: server]"));
                let is_asked = |bed: &Bed| bed.world.model.requests() > calls;
                bed.run_until(is_asked, "the model is asked");
                let present = put(&bed, number % 5);
                bed.wait(&running).unwrap().final_text();
                assert_eq!(stamps(&bed, &id), from_ref(&before));
                assert_eq!(told(&bed), (hashes(&[&before]), hashes(&[&before])));
                present
            }
            // It changes while the turn waits for its client.
            1 => {
                let paused = bed.post(&turn(&id, "One [plan: client]"));
                let present = put(&bed, number % 5);
                bed.post(&results(&id, &[(&paused.calls()[0], json!(1))])).final_text();
                assert_eq!(stamps(&bed, &id), [before.clone(), present.clone()]);
                assert_eq!(
                    told(&bed),
                    (hashes(&[&before, &present]), hashes(&[&before, &present]))
                );
                present
            }
            // It changes before a failed turn is sent again.
            2 => {
                bed.world.model.script([http_error(401, json!({}), &[])]);
                bed.post(&turn(&id, "One")).failure();
                assert_eq!(stamps(&bed, &id), from_ref(&before));
                let present = put(&bed, number % 5);
                bed.post(&turn(&id, "One")).final_text();
                assert_eq!(stamps(&bed, &id), from_ref(&present));
                assert_eq!(
                    told(&bed),
                    (hashes(&[&before, &present]), hashes(&[&before, &present]))
                );
                present
            }
            // It changes before a lost turn goes on.
            _ => {
                bed.send_to_silence(&turn(&id, "One"));
                let present = put(&bed, number % 5);
                bed.restart();
                bed.alarm();
                bed.settle();
                assert_eq!(bed.status(&id), "completed");
                assert_eq!(stamps(&bed, &id), from_ref(&present));
                assert_eq!(told(&bed), (hashes(&[&present]), hashes(&[&present])));
                present
            }
        };
    }
    assert_exported(&bed);
}

#[test]
fn a_catalog_is_named_by_the_bytes_of_its_document_and_stands_in_no_response_of_execute() {
    let bed = Bed::new();
    let document = r#"{"AgentContexts":{"default":{"Model":"m"}},"ConversationContexts":{"default":{"AgentContextId":"default","BootPrompt":"Boot."}},"Modes":[{"Key":"a","DisplayName":"A"}]}"#;
    bed.keep_catalog(document.to_owned());
    let heard = bed.post(&turn("t1", "One"));
    assert!(!heard.text.contains("Catalog"), "{}", heard.text);
    let short = json!({ "Sha256": sha256_hex(document.as_bytes())[..16] });
    assert_eq!(stamps(&bed, "t1"), [short]);
    // One more byte is another catalog.
    bed.keep_catalog(format!("{document}\n"));
    bed.post(&turn("t2", "Two")).final_text();
    assert_ne!(stamps(&bed, "t1"), stamps(&bed, "t2"));
}
