//! What the objects of a session and of its fork ask each other. Both are of one deployment, two versions of which may meet.

use serde::{Deserialize, Serialize};

use crate::contract::{Fault, ForkRequest, SessionId, TurnId};
use crate::object::question;
use crate::persistence::{ForkHead, ForkPlan, RowPage, RowPlace, TextPage, TextPlace};

question! {
    /// The parent has the new session's object become a fork (`ObjectQuestion::Fork`).
    pub(super) struct ForkQuestion asks Fork => ForkReply {
        pub(super) parent: SessionId,
        pub(super) request: ForkRequest,
        /// Absent where the parent cannot be forked by this request any more: only a fork that is known already is shown.
        pub(super) plan?: Option<ForkPlan>,
        /// The bytes that the fork copies; absent for a key, whose bytes nobody counts.
        pub(super) bytes?: Option<u64>,
    }

    /// The new session asks its parent for a part of itself (`ObjectQuestion::ForkPart`).
    pub(super) struct PartQuestion asks ForkPart => PartReply {
        /// When the parent began, which tells it from a later session of the same id.
        pub(super) created_at: u64,
        /// The ordinal of the last turn to copy.
        pub(super) turns: u64,
        pub(super) part: SessionPart,
    }
}

/// The reply to a [`ForkQuestion`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "State", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub(super) enum ForkReply {
    /// The session is that fork, whole and durable.
    Forked {
        after_turn_id: TurnId,
        turns: u64,
        /// It was before this question.
        replayed: bool,
    },
    /// The id belongs to another session, or to another fork.
    Exists,
    /// There is no such fork.
    Absent,
    Failed {
        fault: Fault,
    },
}

/// What a new session copies at once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionPart {
    Head,
    Rows(RowPlace),
    Text(TextPlace),
}

/// The reply to a [`PartQuestion`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PartReply {
    Head(Box<ForkHead>),
    Rows(RowPage),
    Text(TextPage),
    /// The session was erased.
    Gone,
    /// A failed turn that belongs to the fork was repeated, and has not ended.
    NotEnded(TurnId),
    Failed(Fault),
}
