//! The members of an object that others write are named in one place: where the object is declared.

use super::assert_only;

#[test]
fn members_are_named_where_their_object_is_declared() {
    // The source of a turn's chunks is one of two members, so each is read by itself.
    assert_only(&["catalog/agent_context.rs"], |file| {
        ["catalog", "identity"].contains(&file.folder())
            && file.code.text.contains("ObjectShape :: new")
    });
}
