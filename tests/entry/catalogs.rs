//! The catalog that a request is admitted under (interface §6): how long it is kept, and what a faulty one
//! tells.

use aptix_edge::ports::OperatorCatalog;
use bed::*;
use serde_json::{Value, json};

/// How long a catalog that was read is kept, in milliseconds.
const AGE_MS: u64 = 30_000;

fn keep(bed: &Bed, document: &str) {
    bed.world.catalog.replace(OperatorCatalog::Document(document.to_owned()));
}

fn later(bed: &Bed) {
    bed.world.executor.set_now_ms(bed.world.executor.now_ms() + AGE_MS);
}

#[test]
fn an_invalid_catalog_is_kept_like_a_valid_one_and_a_mended_one_replaces_it() {
    let bed = Bed::new();
    let OperatorCatalog::Document(right) = bed.world.catalog.borrow().clone() else {
        panic!("none")
    };
    bed.post(&turn("1", "Hello")).final_text();
    keep(&bed, "{}");
    bed.post(&turn("2", "Hello")).final_text();
    later(&bed);
    let refused = bed.post(&turn("3", "Hello"));
    assert_eq!(refused.failure(), (500, "catalog_invalid"));
    keep(&bed, &right);
    assert_eq!(bed.post(&turn("3", "Hello")).text, refused.text);
    later(&bed);
    bed.post(&turn("3", "Hello")).final_text();
    later(&bed);
    bed.post(&turn("4", "Hello")).final_text();
}

#[test]
fn a_catalog_that_was_read_serves_while_it_cannot_be_read_again() {
    let bed = Bed::new();
    bed.post(&turn("1", "Hello")).final_text();
    bed.world.catalog_fails.set(true);
    later(&bed);
    bed.post(&turn("2", "Hello")).final_text();
    bed.world.catalog_fails.set(false);
    keep(&bed, "{}");
    later(&bed);
    assert_eq!(bed.post(&turn("3", "Hello")).failure(), (500, "catalog_invalid"));
    // An isolate that has read none has none.
    let bed = Bed::new();
    bed.world.catalog_fails.set(true);
    assert_eq!(bed.post(&turn("1", "Hello")).failure(), (500, "internal"));
}

#[test]
fn a_clock_that_is_set_back_does_not_keep_a_catalog_for_longer() {
    let bed = Bed::new();
    let now_ms = bed.world.executor.now_ms();
    bed.world.executor.set_now_ms(now_ms + 3_600_000);
    bed.post(&turn("1", "Hello")).final_text();
    bed.world.executor.set_now_ms(now_ms);
    keep(&bed, "{}");
    assert_eq!(bed.post(&turn("2", "Hello")).failure(), (500, "catalog_invalid"));
}

#[test]
fn a_catalog_with_any_number_of_faults_is_told_of_in_a_short_response() {
    let bed = Bed::new();
    let long = "x".repeat(10_000);
    keep(&bed, &json!({ "Modes": vec![json!({ &long: long }); 1_000] }).to_string());
    let refused = bed.post(&turn("t", "Hello"));
    assert_eq!(refused.failure(), (500, "catalog_invalid"));
    let faults = refused.details()["Faults"].as_array().unwrap();
    let told = |fault: &Value, end: &str| fault["Message"].as_str().unwrap().ends_with(end);
    assert_eq!(faults.len(), 101);
    assert!(told(&faults[100], "more faults than the 100 listed; mend these first"));
    assert!(refused.text.len() < 40_000, "{} bytes", refused.text.len());
}
