//! The promise (`src/contract/interface.md`) agrees with the code.
use aptix_edge::contract::dictionary;

#[test]
fn the_dictionary_is_pinned_byte_for_byte() {
    let pinned = include_str!("goldens/errors.json").replace('\n', "");
    assert_eq!(serde_json::to_string(&dictionary()).unwrap(), pinned);
}
