//! A session that an older version of the product kept is the same session after an upgrade.

use serde_json::json;

use super::*;

const VERSION_1: &str = include_str!("../fixtures/storage/version_1.sql");

/// The session of [`VERSION_1`], as the present version keeps it, and the calls of `tools`, of its
/// continuation, and of `waiting`.
fn present() -> (Bed, [Vec<String>; 3]) {
    let bed = Bed::new();
    bed.post(&turn("plain", "Hello")).final_text();
    let asked = bed.post(&turn("tools", "Two [plan: mixed, mode:ddr, client]")).calls();
    let more = bed.post(&first_results(&asked)).calls();
    bed.post(&second_results(&more)).final_text();
    let waiting = bed.post(&turn("waiting", "Three [plan: client]")).calls();
    (bed, [asked, more, waiting])
}

fn first_results(asked: &[String]) -> Value {
    results("tools", &[(&asked[0], json!(1)), (&asked[1], json!(2))])
}

fn second_results(more: &[String]) -> Value {
    results("tools", &[(&more[0], json!({ "three": 3 }))])
}

/// Puts the older form in the place of the present one.
fn older(bed: &Bed) {
    for table in bed.disk.read("SELECT name FROM sqlite_master WHERE type = 'table'") {
        bed.disk.write(&format!("DROP TABLE {}", table["name"].as_str().unwrap()));
    }
    bed.disk.write(VERSION_1);
    bed.restart();
}

#[test]
fn a_session_of_version_1_is_the_same_session_and_goes_on() {
    let (bed, [asked, more, waiting]) = present();
    let export = bed.export();
    older(&bed);
    assert_eq!(bed.export(), export);

    let requests = bed.world.model.requests();
    for repeated in [
        turn("plain", "Hello"),
        turn("tools", "Two [plan: mixed, mode:ddr, client]"),
        first_results(&asked),
        second_results(&more),
        turn("waiting", "Three [plan: client]"),
    ] {
        assert!(bed.post(&repeated).replayed, "{repeated}");
    }
    assert_eq!(bed.world.model.requests(), requests);

    bed.post(&results("waiting", &[(&waiting[0], json!(3))])).final_text();
    bed.post(&turn("next", "Four [plan: mixed]")).calls();
    bed.restart();
    assert_eq!(bed.status("next"), "awaiting_tools");
    bed.try_cancel("next").unwrap();
    bed.assert_chain_held();
    let counts = bed.try_erase().unwrap().result().clone();
    assert_eq!((&counts["Turns"], &counts["Submissions"]), (&json!(4), &json!(7)));
    assert_eq!(bed.session().status, 404);
}

#[test]
fn a_session_of_version_2_is_kept_from_those_who_could_not_tell_that_its_turn_runs() {
    let (bed, _) = present();
    let export = bed.export();
    bed.disk.write("UPDATE session SET schema_version = 2");
    bed.restart();
    assert_eq!(bed.export(), export);
    let kept = || bed.disk.read("SELECT * FROM session")[0].clone();
    assert_eq!(kept()["schema_version"], 3);

    // And what a later version keeps, from this one.
    bed.disk.write("UPDATE session SET schema_version = 4");
    bed.restart();
    let before = kept();
    let refused = bed.post(&turn("next", "Five"));
    assert_eq!((refused.status, kept()), (500, before));
    assert!(refused.text.contains("newer version of the service"), "{}", refused.text);
}

#[test]
fn the_longest_texts_of_version_1_find_room() {
    let (bed, _) = present();
    older(&bed);
    let long = |of: &str| format!("printf('%.*c', 980000, '{of}')");
    for (table, column, short, long) in [
        ("submissions", "outcome", "Answer to Hello.", long("a")),
        ("model_calls", "record", "\"resp_1\"", format!("'\"resp_' || {} || '\"'", long("r"))),
        ("turns", "progress", "\"origin\":\"", format!("'\"origin\":\"' || {}", long("o"))),
        (
            "turns",
            "composition",
            "\"Source\":\"Session.Mode",
            format!("'\"Source\":\"' || {}", long("c")),
        ),
    ] {
        let turn = if table == "turns" { "ordinal" } else { "turn" };
        bed.disk.write(&format!(
            "UPDATE {table} SET {column} = REPLACE({column}, '{short}', {long}) WHERE {turn} = 1"
        ));
    }
    let heard = bed.post(&turn("plain", "Hello"));
    assert!(heard.replayed);
    assert_eq!(heard.final_text(), "a".repeat(980_000));
    let exported = &bed.export()["Result"]["Turns"][0];
    for (member, text) in [
        (&exported["ModelCalls"][0]["ResponseId"], format!("resp_{}", "r".repeat(980_000))),
        (&exported["Composition"][1]["Source"], "c".repeat(980_000)),
    ] {
        assert!(member.as_str().unwrap() == text);
    }
}

#[test]
fn an_upgrade_that_is_cut_anywhere_has_happened_or_not() {
    let (bed, _) = present();
    let export = bed.export();
    older(&bed);
    let before = (bed.disk.steps.get(), bed.disk.writes.get());
    bed.session();
    let after = (bed.disk.steps.get(), bed.disk.writes.get());
    assert_eq!(after.0, before.0 + 1);
    let crashes = (before.1..after.1).map(|write| Crash::BeforeWrite(write + 1));
    for crash in crashes.chain([Crash::AfterStep(after.0)]) {
        let (bed, _) = present();
        older(&bed);
        bed.restart_to_crash(Some(crash));
        assert_ne!(bed.session().status, 200);
        assert!(!bed.alive());
        bed.restart();
        assert_eq!(bed.export(), export, "{crash:?}");
    }
}
