//! One table of endpoints, and one place that decides who may what.

use super::assert_only;
use super::sources::Source;

fn says(file: &Source, text: &str) -> bool {
    file.code.text.contains(text)
}

#[test]
fn one_table_says_which_endpoints_there_are_and_what_each_needs() {
    assert_only(&["entry/endpoints.rs"], |file| {
        file.code.literals.iter().any(|text| text.contains("/{SessionId}"))
    });
    // A key has its rights from its entry of API_KEYS, and of all tenants no other than to read traces.
    assert_only(
        &[
            "entry/door/keyring.rs",
            "entry/endpoints.rs",
            "identity/caller.rs",
            "identity/permission.rs",
        ],
        |file| says(file, "Right ::"),
    );
}

#[test]
fn one_file_decides_who_may_what() {
    let deciding = ["identity/permission.rs"];
    assert_only(&deciding, |file| {
        says(file, "ErrorCode :: Forbidden")
            && file.code.literals.iter().any(|text| text == "Operation" || text == "Right")
    });
    assert_only(&deciding, |file| says(file, "fn permit (") || says(file, "fn permit_"));
    for named in ["name_session", "name_turn", "name_workspace"] {
        assert_only(&deciding, |file| says(file, &format!(". {named} (")));
    }
}
