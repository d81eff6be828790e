//! One place for the end of a turn, and one for what a new turn would be.

use super::assert_only;
use super::sources::Source;

fn says(file: &Source, text: &str) -> bool {
    file.code.text.contains(text)
}

#[test]
fn a_turn_ends_in_one_file() {
    let ending = ["reasoner/turn_ending.rs"];
    assert_only(&ending, |file| says(file, ". end_submission ("));
    assert_only(&ending, |file| says(file, " messages_of (") && !says(file, "fn messages_of"));
    // Every way to end a turn leads there: of a run, and without one.
    assert_only(&["entry/session/recovery.rs", "reasoner/run_ending.rs"], |file| {
        says(file, " end_turn (") && !says(file, "fn end_turn")
    });
    for status in ["Completed", "Failed", "Aborted", "AwaitingTools"] {
        assert_only(&[], |file| says(file, &format!(". status = TurnStatus :: {status}")));
    }
}

#[test]
fn what_follows_the_end_of_a_turn_is_done_in_one_function() {
    let host = "entry/session/session_host.rs";
    assert_only(&[host], |file| says(file, "metering . record ("));
    // The end of a run and the end without one both lead there.
    assert_only(&["entry/session/recovery.rs", host], |file| says(file, ". follow_end ("));
}

#[test]
fn what_a_new_turn_would_be_is_worked_out_in_one_file() {
    let draft = ["entry/session/turn_draft.rs"];
    for asked in [". turn_mode (", ". begins_under (", ". titles_sessions"] {
        assert_only(&draft, |file| says(file, asked));
    }
}

#[test]
fn the_chain_of_responses_is_dropped_in_one_place() {
    assert_only(&["persistence/records.rs"], |file| says(file, ". chain_head = None"));
}
