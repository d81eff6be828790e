//! Tables of an earlier form come to the present one whole or not at all, and tables of a form that is not read stay as
//! they are.

use std::rc::Rc;

use aptix_edge::object::Schema;
use bed::{Crash, Disk, Instance, SqliteDatabase};

/// Three forms: 4 has a table `thing`, and may have a table `more`.
const SCHEMA: Schema = Schema {
    holds: "The thing",
    table: "thing",
    oldest: 4,
    upgrades: &[
        &[
            ("thing", "ALTER TABLE thing ADD COLUMN name TEXT"),
            ("thing", "UPDATE thing SET name = 'thing ' || id"),
            ("more", "ALTER TABLE more ADD COLUMN name TEXT"),
        ],
        &[
            ("more", "UPDATE more SET name = 'more ' || id"),
            ("thing", "UPDATE thing SET name = name || '!'"),
        ],
    ],
};

/// A disk with tables of that form.
fn stored(form: usize, has_more: bool) -> Rc<Disk> {
    let disk = Disk::new();
    disk.write(
        "CREATE TABLE thing (id INTEGER PRIMARY KEY, schema_version INTEGER NOT NULL);
        INSERT INTO thing VALUES (1, 4)",
    );
    if has_more {
        disk.write("CREATE TABLE more (id INTEGER PRIMARY KEY); INSERT INTO more VALUES (7)");
    }
    let until = Schema { upgrades: &SCHEMA.upgrades[..form - 4], ..SCHEMA };
    until.bring_up_to_date(&disk.database()).unwrap();
    disk
}

/// All rows. SQLite keeps the columns that a statement had at first, so each read has a text of its own.
fn rows(disk: &Disk) -> String {
    let read = |table: &str| disk.read(&format!("SELECT * FROM {table} -- {}", disk.writes.get()));
    format!("{:?} {:?}", read("thing"), read("more"))
}

#[test]
fn tables_of_every_form_come_to_the_present_one_with_or_without_those_that_few_have() {
    assert_eq!(SCHEMA.form(), 6);
    for has_more in [false, true] {
        let present = rows(&stored(6, has_more));
        assert!(
            present.contains("thing 1!") && present.contains("more 7") == has_more,
            "{present}"
        );
        for form in 4..=6 {
            let disk = stored(form, has_more);
            let writes = disk.writes.get();
            assert!(SCHEMA.find(&disk.database()).unwrap());
            assert_eq!(rows(&disk), present, "form {form}");
            assert_eq!(disk.writes.get() > writes, form < 6, "the present form is not written");
        }
    }
}

#[test]
fn an_upgrade_that_is_cut_anywhere_has_happened_or_not() {
    for form in [4, 5] {
        let (before, after) = (rows(&stored(form, true)), rows(&stored(6, true)));
        let upgraded = stored(form, true);
        let (begin, steps) = (upgraded.writes.get(), upgraded.steps.get());
        SCHEMA.find(&upgraded.database()).unwrap();
        assert_eq!(upgraded.steps.get(), steps + 1);
        let cuts = (begin..upgraded.writes.get()).map(|write| Crash::BeforeWrite(write + 1));
        for cut in cuts.chain([Crash::AfterStep(upgraded.steps.get())]) {
            let disk = stored(form, true);
            let instance = Instance::new(0, Some(cut), Rc::default());
            SCHEMA.find(&SqliteDatabase::new(Rc::clone(&disk), instance)).unwrap_err();
            let left = rows(&disk);
            assert!(left == before || left == after, "{cut:?}: {left}");
            SCHEMA.find(&disk.database()).unwrap();
            assert_eq!(rows(&disk), after, "{cut:?}");
        }
    }
}

#[test]
fn a_form_that_is_not_read_is_refused_and_stays_as_it_is() {
    for (form, says) in [
        (3, "The thing is stored in form 3, from before the first release. Commit "),
        (7, "The thing was written by a newer version of the service."),
    ] {
        let disk = stored(6, true);
        disk.write(&format!("UPDATE thing SET schema_version = {form}"));
        let before = rows(&disk);
        let refused = SCHEMA.find(&disk.database()).unwrap_err();
        assert!(refused.message.starts_with(says), "{refused}");
        assert_eq!(rows(&disk), before);
    }
}

#[test]
fn an_object_without_tables_has_none_afterwards() {
    let disk = Disk::new();
    assert!(!SCHEMA.find(&disk.database()).unwrap());
    assert_eq!(disk.writes.get(), 0);
}
