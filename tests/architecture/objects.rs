//! The members of an object that others write are named in one place: where the object is declared.

use super::assert_only;

#[test]
fn members_are_named_where_their_object_is_declared() {
    // The source of a turn's chunks is one of two members, so each is read by itself. A client tool has two spellings. The
    // list of a comparison is read step by step.
    let by_themselves = [
        "catalog/agent_context.rs",
        "contract/validation/client_tools.rs",
        "contract/validation/comparison.rs",
        "contract/validation/request_object.rs",
    ];
    assert_only(&by_themselves, |file| {
        ["catalog", "contract", "identity"].contains(&file.folder())
            && file.code.text.contains("ObjectShape :: new")
    });
}
