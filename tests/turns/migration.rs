//! A session that an older version of the product stored stays the same after an upgrade.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// The same session in the form of each published version, oldest first.
const VERSIONS: [&str; 13] = [
    include_str!("../fixtures/storage/version_1.sql"),
    include_str!("../fixtures/storage/version_2.sql"),
    include_str!("../fixtures/storage/version_3.sql"),
    include_str!("../fixtures/storage/version_4.sql"),
    include_str!("../fixtures/storage/version_5.sql"),
    include_str!("../fixtures/storage/version_6.sql"),
    include_str!("../fixtures/storage/version_7.sql"),
    include_str!("../fixtures/storage/version_8.sql"),
    include_str!("../fixtures/storage/version_9.sql"),
    include_str!("../fixtures/storage/version_10.sql"),
    include_str!("../fixtures/storage/version_11.sql"),
    include_str!("../fixtures/storage/version_12.sql"),
    include_str!("../fixtures/storage/version_13.sql"),
];

/// A session without the tables of calls, which it has from its first turn with several model calls on, in the form
/// of the latest version.
const WITHOUT_CALL_TABLES: &str =
    include_str!("../fixtures/storage/version_13_without_call_tables.sql");

/// The session of [`VERSIONS`], made by the present version, and the calls of `tools`, of its
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

/// Replaces the storage by a pinned one.
fn replace_storage(bed: &Bed, pinned: &str) {
    for table in bed.disk.read("SELECT name FROM sqlite_master WHERE type = 'table'") {
        bed.disk.write(&format!("DROP TABLE {}", table["name"].as_str().unwrap()));
    }
    bed.disk.write(pinned);
    bed.restart();
}

/// Every column of every table.
fn columns(bed: &Bed) -> Vec<BTreeMap<String, Value>> {
    bed.disk.read(
        "SELECT t.name AS t, c.name AS c, c.type, c.\"notnull\", c.pk
         FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY 1, 2",
    )
}

/// What is kept of the session, without the bodies of the requests that its version sent, what earlier
/// versions did not record of them, and the type of messages, which they did not write.
fn kept(bed: &Bed) -> Value {
    let mut export = bed.export();
    for turn in export["Result"]["Turns"].as_array_mut().unwrap() {
        for entry in turn["Conversation"].as_array_mut().unwrap() {
            for item in entry["Items"].as_array_mut().unwrap() {
                let item = item.as_object_mut().unwrap();
                if item.get("role").is_some_and(|role| role != "assistant") {
                    item.remove("type");
                }
            }
        }
        for submission in turn["Submissions"].as_array_mut().unwrap() {
            submission.as_object_mut().unwrap().remove("Caller");
        }
        for call in turn["ModelCalls"].as_array_mut().unwrap() {
            let call = call.as_object_mut().unwrap();
            for unrecorded in ["Stored", "Number", "Mode", "Template", "ToolsSent", "Input"] {
                call.remove(unrecorded);
            }
            for replaced in ["FirstEntry", "LastEntry"] {
                call.remove(replaced);
            }
            for sent in ["BodyBytes", "BodySha256", "Composition"] {
                assert!(call.remove(sent).is_some(), "{sent}");
            }
        }
    }
    export["Result"].as_object_mut().unwrap().remove("Texts");
    export
}

/// Writes the storage of a session to `fixtures/storage/`, where `UPDATE_GOLDENS` asks for it.
fn pin(name: &str, bed: &Bed) {
    if std::env::var_os("UPDATE_GOLDENS").is_none() {
        return;
    }
    let mut text = String::new();
    for table in bed.disk.read("SELECT name, sql FROM sqlite_master WHERE type = 'table'") {
        let name = table["name"].as_str().unwrap();
        text.push_str(&format!("{};\n", table["sql"].as_str().unwrap()));
        for row in bed.disk.read(&format!("SELECT * FROM {name}")) {
            let columns: Vec<&str> = row.keys().map(String::as_str).collect();
            let literal = |value: &Value| match value {
                Value::String(text) => format!("'{}'", text.replace('\'', "''")),
                value => value.to_string(),
            };
            let values: Vec<String> = row.values().map(literal).collect();
            let (columns, values) = (columns.join(", "), values.join(", "));
            text.push_str(&format!("INSERT INTO {name} ({columns}) VALUES ({values});\n"));
        }
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/storage");
    std::fs::write(format!("{folder}/{name}.sql"), text).unwrap();
}

/// A session of one turn with one model call, which has no tables of calls.
fn plain() -> Bed {
    let bed = Bed::new();
    bed.post(&turn("plain", "Hello")).final_text();
    bed
}

fn version(bed: &Bed) -> Value {
    bed.disk.read("SELECT schema_version FROM session")[0]["schema_version"].clone()
}

#[test]
fn every_version_is_pinned_and_comes_to_the_tables_of_a_new_session() {
    let (new, _) = present();
    let now = version(&new);
    if now != VERSIONS.len() {
        pin(&format!("version_{now}"), &new);
        pin(&format!("version_{now}_without_call_tables"), &plain());
    }
    assert_eq!(now, VERSIONS.len(), "pin it with UPDATE_GOLDENS=1, and name both files above");
    for (number, pinned) in (1..).zip(VERSIONS) {
        let (bed, _) = present();
        replace_storage(&bed, pinned);
        assert_eq!(version(&bed), number);
        bed.session();
        assert_eq!(version(&bed), VERSIONS.len());
        assert_eq!(columns(&bed), columns(&new), "version {number}");
    }
}

#[test]
fn a_session_of_any_version_is_the_same_session_and_goes_on() {
    for pinned in VERSIONS {
        is_the_same_session_and_goes_on(pinned);
    }
}

fn is_the_same_session_and_goes_on(pinned: &str) {
    let (bed, [asked, more, waiting]) = present();
    let export = kept(&bed);
    replace_storage(&bed, pinned);
    assert_eq!(kept(&bed), export);
    assert_eq!(bed.disk.session().unwrap()["state"]["total_tokens"], 720);

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
    let replay = replay::report(&bed.asked("GET", "/sessions/s/export", "").text).unwrap().text;
    let left = replay.matches("cannot be rebuilt: stored by an older version").count();
    let rebuilt = replay.matches("rebuilt, ").count();
    // Version 6 is the first one that recorded what a request is rebuilt from.
    assert!(matches!((left, rebuilt), (6, 2) | (0, 8)), "{replay}");
    bed.assert_chain_held();
    let counts = bed.try_erase().unwrap().result().clone();
    assert_eq!((&counts["Turns"], &counts["Submissions"]), (&json!(4), &json!(7)));
    assert_eq!(bed.session().status, 404);
}

/// A column that a version adds to a table of calls is added where that table is: in `CALL_MIGRATIONS`, since every
/// session runs `MIGRATIONS`.
#[test]
fn a_session_without_call_tables_is_the_same_session_and_goes_on_too() {
    let newest = plain();
    replace_storage(&newest, WITHOUT_CALL_TABLES);
    assert_eq!(version(&newest), VERSIONS.len(), "pin the present version's, too");
    let (new, _) = present();
    // Version 1 has these tables from the first turn on.
    for older in 2..=8 {
        let bed = plain();
        let export = kept(&bed);
        replace_storage(&bed, WITHOUT_CALL_TABLES);
        bed.disk.write(&format!("UPDATE session SET schema_version = {older}"));
        if older < 4 {
            bed.disk.write("ALTER TABLE session DROP COLUMN state");
        }
        bed.disk.write("ALTER TABLE turns DROP COLUMN session_after");
        bed.restart();
        assert_eq!(kept(&bed), export, "version {older}");
        assert_eq!(version(&bed), VERSIONS.len());
        assert!(bed.post(&turn("plain", "Hello")).replayed);
        let asked = bed.post(&turn("tools", "Two [plan: mixed, mode:ddr, client]")).calls();
        let more = bed.post(&first_results(&asked)).calls();
        bed.post(&second_results(&more)).final_text();
        assert_eq!(columns(&bed), columns(&new), "version {older}");
        bed.assert_chain_held();
    }
}

#[test]
fn a_session_of_a_later_version_is_refused_and_stays_as_it_is() {
    let (bed, _) = present();
    let kept = || bed.disk.read("SELECT * FROM session")[0].clone();
    bed.disk.write("UPDATE session SET schema_version = schema_version + 1");
    bed.restart();
    let before = kept();
    let refused = bed.post(&turn("next", "Five"));
    assert_eq!((refused.status, kept()), (500, before));
    assert!(refused.text.contains("newer version of the service"), "{}", refused.text);
}

#[test]
fn the_longest_texts_of_version_1_find_room() {
    let (bed, _) = present();
    replace_storage(&bed, VERSIONS[0]);
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
    let exported = &kept(&bed)["Result"]["Turns"][0];
    for (member, text) in [
        (&exported["ModelCalls"][0]["ResponseId"], format!("resp_{}", "r".repeat(980_000))),
        (&exported["Composition"][1]["Source"], "c".repeat(980_000)),
    ] {
        assert!(member.as_str().unwrap() == text);
    }
}

#[test]
fn an_upgrade_that_is_cut_anywhere_has_happened_or_not() {
    let [older @ .., _] = VERSIONS;
    for pinned in older {
        happens_or_not_wherever_it_is_cut(pinned);
    }
}

fn happens_or_not_wherever_it_is_cut(pinned: &str) {
    let (bed, _) = present();
    let export = kept(&bed);
    replace_storage(&bed, pinned);
    let before = (bed.disk.steps.get(), bed.disk.writes.get());
    bed.session();
    let after = (bed.disk.steps.get(), bed.disk.writes.get());
    assert_eq!(after.0, before.0 + 1);
    let crashes = (before.1..after.1).map(|write| Crash::BeforeWrite(write + 1));
    for crash in crashes.chain([Crash::AfterStep(after.0)]) {
        let (bed, _) = present();
        replace_storage(&bed, pinned);
        bed.restart_to_crash(Some(crash));
        assert!(bed.wait(&bed.ask("GET", "/sessions/s", &[], "")).is_none());
        assert!(!bed.alive());
        bed.restart();
        assert_eq!(kept(&bed), export, "{crash:?}");
    }
}
