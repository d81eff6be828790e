//! A session that an earlier version of the product stored stays the same after an upgrade.

use std::collections::BTreeMap;

use aptix_edge::persistence::{
    Chain, ForkOrigin, Ladder, Lease, OtherContexts, PendingResponse, PendingRetrieval,
    SessionState, Spent, SteerCounts, TurnProgress, TurnTrace, Window,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

/// The number of the present form.
const FORM: u64 = 15;

/// A session in the present form, as the version of the product that made the form wrote it.
const PINNED: &str = include_str!("../fixtures/storage/version_15.sql");

/// The same of a session without the tables of calls, which it has from its first turn with several model calls on.
const WITHOUT_CALL_TABLES: &str =
    include_str!("../fixtures/storage/version_15_without_call_tables.sql");

/// The members of what rows of the present form hold as JSON.
const MEMBERS: &str = include_str!("../fixtures/storage/members_15.txt");

/// The same two in each form that is read.
const ALL_PINNED: [(&str, &str); 3] = [
    (
        include_str!("../fixtures/storage/version_13.sql"),
        include_str!("../fixtures/storage/version_13_without_call_tables.sql"),
    ),
    (
        include_str!("../fixtures/storage/version_14.sql"),
        include_str!("../fixtures/storage/version_14_without_call_tables.sql"),
    ),
    (PINNED, WITHOUT_CALL_TABLES),
];

/// The session of [`PINNED`], made by the present version, and the calls of `tools`, of its
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

/// What is kept of the session, without what a later version may compose otherwise.
fn kept(bed: &Bed) -> Value {
    let mut export = bed.export();
    for turn in export["Result"]["Turns"].as_array_mut().unwrap() {
        // The pinned versions did not store under which catalog a submission ran.
        for submission in turn["Submissions"].as_array_mut().unwrap() {
            submission.as_object_mut().unwrap().remove("Catalog");
        }
        for call in turn["ModelCalls"].as_array_mut().unwrap() {
            for sent in ["BodyBytes", "BodySha256", "Composition"] {
                assert!(call.as_object_mut().unwrap().remove(sent).is_some(), "{sent}");
            }
        }
    }
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/storage");
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
fn the_present_form_is_pinned_and_has_the_tables_of_a_new_session() {
    let (new, _) = present();
    if version(&new) != FORM {
        pin(&format!("version_{}", version(&new)), &new);
        pin(&format!("version_{}_without_call_tables", version(&new)), &plain());
    }
    assert_eq!(version(&new), FORM, "pin it with UPDATE_GOLDENS=1, and name both files above");
    for (pinned, _) in ALL_PINNED {
        let (bed, _) = present();
        replace_storage(&bed, pinned);
        bed.session();
        assert_eq!((version(&bed), columns(&bed)), (FORM.into(), columns(&new)));
    }
}

/// The members of a stored object, as its refusal of another one names them.
fn members<T: DeserializeOwned>(name: &str) -> String {
    let refused = serde_json::from_str::<T>(r#"{"?":0}"#).err().unwrap().to_string();
    let names: Vec<_> = refused.split('`').skip(3).step_by(2).collect();
    format!("{name}: {}\n", names.join(" "))
}

#[test]
fn a_new_member_of_what_is_stored_is_a_new_form_since_the_version_before_refuses_it() {
    let stored = [
        members::<SessionState>("SessionState"),
        members::<Lease>("Lease"),
        members::<Chain>("Chain"),
        members::<Window>("Window"),
        members::<Ladder>("Ladder"),
        members::<OtherContexts>("OtherContexts"),
        members::<ForkOrigin>("ForkOrigin"),
        members::<TurnProgress>("TurnProgress"),
        members::<PendingRetrieval>("PendingRetrieval"),
        members::<PendingResponse>("PendingResponse"),
        members::<SteerCounts>("SteerCounts"),
        members::<TurnTrace>("TurnTrace"),
        members::<Spent>("Spent"),
    ];
    assert_eq!(stored.concat(), MEMBERS, "make a form, and pin its members by hand");
}

#[test]
fn a_pinned_session_is_the_same_session_and_goes_on() {
    for (pinned, _) in ALL_PINNED {
        goes_on(pinned);
    }
}

fn goes_on(pinned: &str) {
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
    assert_eq!(replay.matches("rebuilt, ").count(), 8, "{replay}");
    bed.assert_chain_held();
    let counts = bed.try_erase().unwrap().result().clone();
    assert_eq!((&counts["Turns"], &counts["Submissions"]), (&json!(4), &json!(7)));
    assert_eq!(bed.session().status, 404);
}

#[test]
fn a_pinned_session_without_call_tables_is_the_same_session_and_goes_on_too() {
    for (_, pinned) in ALL_PINNED {
        goes_on_without_call_tables(pinned);
    }
}

fn goes_on_without_call_tables(pinned: &str) {
    let bed = plain();
    let export = kept(&bed);
    replace_storage(&bed, pinned);
    assert_eq!((kept(&bed), version(&bed)), (export, FORM.into()));
    assert!(bed.post(&turn("plain", "Hello")).replayed);
    let asked = bed.post(&turn("tools", "Two [plan: mixed, mode:ddr, client]")).calls();
    let more = bed.post(&first_results(&asked)).calls();
    bed.post(&second_results(&more)).final_text();
    assert_eq!(columns(&bed), columns(&present().0));
    bed.assert_chain_held();
}

#[test]
fn a_session_of_another_form_is_refused_and_stays_as_it_is() {
    for (form, says) in [
        (FORM + 1, "newer version of the service. Deploy that version again."),
        (12, "stored in form 12, from before the first release. Commit "),
    ] {
        let (bed, _) = present();
        let kept = || bed.disk.read("SELECT * FROM session")[0].clone();
        bed.disk.write(&format!("UPDATE session SET schema_version = {form}"));
        bed.restart();
        let before = kept();
        for refused in [bed.post(&turn("next", "Five")), bed.session()] {
            assert_eq!((refused.status, kept()), (500, before.clone()));
            assert!(refused.text.contains(says), "{}", refused.text);
        }
    }
}

/// A session with a turn, as a newer version left it, and its alarm is due.
fn of_a_newer_version() -> Bed {
    let bed = plain();
    bed.disk.write(&format!("UPDATE session SET schema_version = {}", FORM + 1));
    bed.restart();
    bed
}

fn lines(bed: &Bed, event: &str) -> usize {
    bed.world.log.borrow().iter().filter(|line| line["event"] == event).count()
}

#[test]
fn an_object_of_a_newer_form_says_so_once_and_its_alarm_waits_for_that_version() {
    let bed = of_a_newer_version();
    let begin = bed.world.executor.now_ms();
    for _ in 0..3 {
        bed.try_alarm().unwrap();
        assert!(bed.world.alarm_at.get().unwrap() >= begin + 600_000);
        assert_eq!(bed.session().failure(), (500, "internal"));
    }
    assert_eq!((lines(&bed, "newer_form"), lines(&bed, "alarm_failed")), (1, 0));
    let said =
        bed.world.log.borrow().iter().find(|line| line["event"] == "newer_form").unwrap().clone();
    assert_eq!((&said["form"], &said["session"]), (&json!(FORM + 1), &json!("s")));
    // With that version again the session goes on.
    bed.disk.write(&format!("UPDATE session SET schema_version = {FORM}"));
    bed.restart();
    bed.post(&turn("next", "Five")).final_text();
}

#[test]
fn what_only_a_newer_version_knows_how_to_do_waits_for_it_with_its_alarm() {
    let owed = "CREATE TABLE tasks (state TEXT, kind TEXT, id TEXT, created_at INTEGER,
        next_at INTEGER, attempts INTEGER, last_status INTEGER, work TEXT,
        PRIMARY KEY (state, kind, id)) WITHOUT ROWID;
        INSERT INTO tasks VALUES ('pending', 'newer', 'x', 1, 1, 0, NULL, 'work')";
    for is_erased in [false, true] {
        let bed = plain();
        if is_erased {
            bed.try_erase().unwrap().result();
        }
        bed.disk.write(owed);
        bed.restart();
        let begin = bed.world.executor.now_ms();
        bed.try_alarm().unwrap();
        assert!(bed.world.alarm_at.get().unwrap() >= begin + 600_000, "erased: {is_erased}");
        assert_eq!(bed.disk.read("SELECT kind FROM tasks").len(), 1, "erased: {is_erased}");
    }
}

#[test]
fn a_session_of_a_newer_form_is_erased_where_nothing_of_it_is_to_be_deleted_elsewhere() {
    let bed = of_a_newer_version();
    let kept = || bed.disk.read("SELECT name FROM sqlite_master").len();
    // Which responses are to be deleted only the newer version knows.
    bed.configure(|catalog| catalog["AgentContexts"]["default"]["DeleteStored"] = json!(true));
    let tables = kept();
    let refused = bed.try_erase().unwrap();
    assert_eq!(refused.failure(), (500, "internal"));
    assert!(refused.text.contains("Deploy that version again."), "{}", refused.text);
    assert_eq!(kept(), tables);
    bed.configure(|_| ());
    let receipt = bed.try_erase().unwrap();
    assert_eq!(
        (&receipt.result()["SessionId"], &receipt.result()["Turns"]),
        (&json!("s"), &json!(1))
    );
    assert_eq!((kept(), bed.world.alarm_at.get()), (0, None));
    assert_eq!(lines(&bed, "erased"), 1);
    assert_eq!(bed.session().failure(), (404, "session_not_found"));
    bed.post(&turn("anew", "Five")).final_text();
}

#[test]
fn what_came_before_the_erasure_of_a_session_of_a_newer_form_begins_it_no_more() {
    let mut refused = 0;
    for seed in 0..20 {
        let bed = of_a_newer_version();
        bed.world.shake(seed);
        bed.world.late_bodies.set(true);
        let late = bed.send(&turn("late", "Five"));
        bed.step();
        bed.world.executor.set_now_ms(bed.world.executor.now_ms() + 1);
        bed.try_erase().unwrap().result();
        let late = bed.wait(&late).unwrap();
        if late.failure() != (500, "internal") {
            assert!(late.text.contains("erased before this request was accepted"), "{}", late.text);
            refused += 1;
        }
        assert_eq!(bed.session().failure(), (404, "session_not_found"));
    }
    assert!(refused > 3, "{refused}");
}

#[test]
fn an_erasure_of_a_session_of_a_newer_form_that_ends_late_leaves_the_next_session_alone() {
    let bed = of_a_newer_version();
    bed.world.erasing_ms.set(60_000);
    let late = bed.send_erase();
    bed.run_until(|bed| bed.world.erasing_ms.get() == 0, "its files are being erased");
    bed.try_erase().unwrap().result();
    bed.post(&turn("anew", "Five")).final_text();
    assert_eq!(bed.wait(&late).unwrap().failure(), (404, "session_not_found"));
    assert_eq!(bed.status("anew"), "completed");
}

#[test]
fn a_view_of_a_pinned_session_of_any_form_writes_nothing() {
    for pinned in [PINNED, WITHOUT_CALL_TABLES] {
        let bed = plain();
        replace_storage(&bed, pinned);
        let before = bed.disk.writes.get();
        let views = [
            "",
            "/turns",
            "/turns/plain",
            "/turns/plain/trace",
            "/turns/plain/stream",
            "/modes",
            "/export",
        ];
        for view in views {
            assert_eq!(bed.asked("GET", &format!("/sessions/s{view}"), "").status, 200, "{view}");
        }
        assert_eq!(bed.disk.writes.get(), before);
    }
}
