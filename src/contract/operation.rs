//! What a credential of a user permits (interface §13).

use crate::encoding::closed_list;

closed_list! {
    /// An operation that a ticket or a provider's token permits.
    pub enum Operation {
        /// User turns, with `ToolsJson`.
        Execute = "Execute",
        /// Results of the client's tools.
        Answer = "Answer",
        /// Decisions on calls that a human is asked about.
        Approve = "Approve",
        /// The stream of a turn.
        Watch = "Watch",
        /// A session, its turns and its modes.
        Read = "Read",
        /// Cancelling a turn.
        Cancel = "Cancel",
        /// The list of the user's sessions.
        List = "List",
        /// A session's title.
        Rename = "Rename",
        /// A search in a workspace.
        Search = "Search",
        /// The trace of a turn.
        Trace = "Trace",
        /// The export of a session.
        Export = "Export",
        /// Erasing a session.
        Erase = "Erase",
    }
}

impl Operation {
    /// The operations of a credential that names none.
    pub const DEFAULT: &'static [Self] = &[
        Self::Execute,
        Self::Answer,
        Self::Approve,
        Self::Watch,
        Self::Read,
        Self::Cancel,
        Self::List,
        Self::Rename,
    ];
}
