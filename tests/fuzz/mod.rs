//! Every input from outside, spoiled at random: bodies, the model service's streams, catalogs, targets
//! and the list of keys. Nothing panics, and each result keeps the promises for its kind.
//!
//! Seeds give the inputs: trees of JSON with members changed, moved, doubled and renamed, and bytes
//! flipped, cut and repeated. A failure is shrunk and names its seed: `APTIX_SEED=n` repeats one
//! input, `APTIX_LONG_TESTS=1` runs eighty times as many.

mod campaign;
mod json_text;
mod mutation;
mod operators;
mod requests;
mod routes;
mod searches;
mod streams;

use campaign::Random;
use json_text::Json;
use mutation::{garbled, spoiled};

// Two tests for bodies, so that they run at the same time.

#[test]
fn every_body_with_spoiled_members_is_itself_or_refused_with_faults_at_their_places() {
    let corpus = requests::corpus();
    let make = |random: &mut Random| spoiled(random.of(&corpus), random);
    campaign::run(15_000, make, requests::judge, &requests::MET);
}

#[test]
fn every_body_with_spoiled_bytes_is_itself_or_refused_with_faults_at_their_places() {
    let corpus: Vec<String> = requests::corpus().iter().map(Json::written).collect();
    let make = |random: &mut Random| garbled(random.of(&corpus).as_bytes(), random);
    campaign::run(15_000, make, requests::judge, &["accepted", "malformed_json", "invalid_field"]);
}

#[test]
fn every_response_of_the_model_service_reads_the_same_in_any_pieces() {
    let corpus = streams::corpus();
    let make = |random: &mut Random| streams::make(&corpus, random);
    campaign::run(5_000, make, streams::judge, &streams::MET);
}

#[test]
fn a_response_whose_events_look_something_up_takes_work_and_time_in_proportion_to_its_bytes() {
    searches::run(20);
}

#[test]
fn every_catalog_holds_together_or_is_refused_without_its_content() {
    let corpus = operators::catalogs();
    let make = |random: &mut Random| match random.of(&corpus) {
        catalog if random.one_in(4) => garbled(catalog.written().as_bytes(), random),
        catalog => spoiled(catalog, random),
    };
    campaign::run(5_000, make, operators::judge_catalog, &operators::MET);
}

#[test]
fn every_list_of_keys_admits_nobody_else_or_is_refused_without_a_key() {
    let keys = operators::keys();
    let make = |random: &mut Random| match random.below(2) {
        0 => garbled(keys.written().as_bytes(), random),
        _ => spoiled(&keys, random),
    };
    campaign::run(5_000, make, operators::judge_keys, &operators::MET);
}

#[test]
fn every_target_is_refused_or_an_endpoint_whose_path_is_routed_to_it() {
    campaign::run(10_000, routes::make, routes::judge, &routes::MET);
}
