//! One kernel stands under all objects.

use super::assert_only;
use super::sources::Source;

fn calls(file: &Source, method: &str) -> bool {
    file.folder() != "platform" && file.code.text.contains(&format!(". {method} ("))
}

#[test]
fn what_is_owed_waits_in_one_table_and_one_runner_attempts_it() {
    // A run of a turn is no task: its rows decide what comes next.
    assert_only(&["entry/session/session_host.rs", "object/task_runner.rs"], |file| {
        calls(file, "spawn")
    });
    let has_column = |file: &Source| {
        let tables = file.code.literals.iter().filter(|text| text.contains("CREATE TABLE"));
        tables.into_iter().any(|text| text.contains("next_at"))
    };
    assert_only(&["object/tasks.rs"], has_column);
}

#[test]
fn one_file_sets_the_alarm_of_an_object() {
    assert_only(&["object/alarm.rs"], |file| calls(file, "set_alarm"));
}

#[test]
fn one_file_brings_tables_to_their_present_form() {
    assert_only(&["object/schema.rs"], |file| {
        file.code.literals.iter().any(|text| text.contains("SET schema_version"))
    });
}

#[test]
fn one_file_keeps_the_documents_of_others() {
    assert_only(&["object/document_keeper.rs"], |file| {
        let tables = file.code.literals.iter().filter(|text| text.contains("CREATE TABLE"));
        tables.into_iter().any(|text| text.contains("fresh_until"))
    });
}

#[test]
fn one_file_asks_other_objects_but_for_a_search() {
    assert_only(&["object/question.rs", "retrieval/turn_retrieval.rs"], |file| {
        calls(file, "ask_object")
    });
}
