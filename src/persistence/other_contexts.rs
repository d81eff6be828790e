//! The contexts of a session beside those in its row, as they are stored. `bound_contexts.rs` says what becomes of them.

use serde::{Deserialize, Serialize};

use super::entry_seq::EntrySeq;
use crate::encoding::sparse_object;

/// A conversation context, and the agent context of its sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contexts {
    pub conversation: String,
    pub agent: String,
}

sparse_object! {
    /// The contexts of a session beside those in its row.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct OtherContexts {
        /// The contexts that the first turn asked for, if the session has others, from its first turn on or since.
        pub(super) asked?: Option<Contexts>,
        /// The contexts of earlier turns, oldest first.
        pub(super) earlier?: Vec<PastContexts>,
        /// The session's own contexts, while its row has the contexts of a repeated turn.
        pub(super) lent?: Option<PastContexts>,
        /// Ordinal of the last turn that a fork has copied from under other contexts; 0 for none. Chains and compaction
        /// items of those turns are not for the present ones.
        pub(super) copied?: u64,
    }
}

/// Contexts that turns began under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PastContexts {
    pub(super) contexts: Contexts,
    /// The entry with which calls begin: where none is named, they send every system message that there is.
    pub(super) system_message: EntrySeq,
    /// Ordinal of the last turn that began under them.
    pub(super) through: u64,
}

/// The change of a turn's conversation context, as the trace shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ContextChange {
    pub from: String,
    pub to: String,
}
