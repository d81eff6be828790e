//! One walk with everything: the promises that hold across features, whatever the order of events.
//!
//! | promise | kept in |
//! |---|---|
//! | a decision runs one call, in one session, once, but for repeats by whoever may decide and for lost instances | [`decisions`] |
//! | what is counted is at least what the model service is to be paid for | [`bills`] |
//! | nothing is done for a credential that is void | [`credentials`] |
//! | no bound in counts stands without one in bytes; whatever one holds open, another is served | [`bills`], [`surroundings`] |

mod bills;
mod credentials;
mod decisions;
mod liar;
mod setting;
mod story;
mod surroundings;

use std::collections::BTreeMap;

use bed::*;

const SEEDS: u64 = 60;
const LONG_SEEDS: u64 = 10_000;

fn run(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    story::run(seed, loud)
}

#[test]
fn whatever_the_order_of_events_what_is_promised_across_features_holds() {
    let expected = [
        "200 ",
        "201 ",
        "202 ",
        "401 credential_expired",
        "403 forbidden",
        "409 turn_aborted",
        "409 turn_awaiting_tools",
        "500 server_tool_failed",
        "submission: 200",
        "steer: 202",
        "long steer: 202",
        "long steer: 413",
        "cancel: 200",
        "fork: 201",
        "mint: 200",
        "search: 200",
        "erase: 200",
        "a body that does not come",
        "a decision ran a call",
        "a fork asked anew",
        "a call was aborted",
        "a void credential",
        "a crash",
        "an erasure",
        "a user's erasure",
        "a webhook",
        "a compaction",
        "a background response",
        "a neighbour was served",
    ];
    run_seeds(SEEDS, LONG_SEEDS, &expected, run);
}
