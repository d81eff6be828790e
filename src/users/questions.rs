//! What a session and its user's object ask each other. Both are objects of one deployment, two versions of which may
//! meet: a member that one of them lacks counts as absent.

use serde::{Deserialize, Serialize};

use super::spent::EndedLease;
use super::summary::SessionSummary;
use crate::contract::{Fault, SessionId};
use crate::object::question;
use crate::persistence::ErasureReceipt;

question! {
    /// A session without a row asks to be registered (`ObjectQuestion::Register`).
    pub struct Registration asks Register => RegistrationReply {
        pub session_id: SessionId,
        /// When the Worker in front received the submission, in milliseconds since the Unix epoch.
        pub received_at: u64,
        /// When the submission's credential was issued, in milliseconds since the Unix epoch; absent for a key.
        pub issued_at: Option<u64>,
        /// Key of the mode in which the session would start.
        pub mode: String,
        pub title: String,
        /// The session that a fork is of: a title that was given to it by name is the fork's.
        pub parent?: Option<SessionId>,
        /// The bytes that a fork copies, where they count.
        pub fork_bytes?: Option<u64>,
    }

    /// A session reports what the list shows of it (`ObjectQuestion::Report`).
    pub struct SessionNews asks Report => Revocation {
        pub session_id: SessionId,
        pub summary: SessionSummary,
        /// The session's retention is over, and it asks to be erased.
        #[serde(default)]
        pub expired: bool,
        /// A lease that comes back.
        pub ended_lease?: Option<EndedLease>,
    }

    /// The user's object asks whether a registered session has begun (`ObjectQuestion::Summary`).
    pub struct SummaryQuestion asks Summary => SummaryReply {
        pub incarnation: u64,
    }

    /// The reply to a [`SummaryQuestion`]; absent before the session's first turn.
    pub struct SummaryReply {
        pub summary: Option<SessionSummary>,
        /// It begins as a fork, which is not whole yet.
        pub is_building_fork?: bool,
    }

    /// The user's object has a session erase itself (`ObjectQuestion::Erase`).
    pub struct EraseQuestion asks Erase => EraseReply {
        pub session_id: SessionId,
        /// The incarnation that ends, and every earlier one.
        pub incarnation: u64,
        /// When the request to erase was received, in milliseconds since the Unix epoch.
        pub received_at: u64,
        /// Only a session that has not begun, or whose retention is over, is erased.
        pub only_expired: bool,
        #[serde(default)]
        pub ending: Ending,
        /// Credentials that were issued earlier are revoked, in milliseconds since the Unix epoch: they open no session that
        /// cannot be erased yet.
        #[serde(default)]
        pub credentials_valid_from: u64,
    }

    /// The user's object has counted the receipt of a session (`ObjectQuestion::Collected`).
    pub struct Collection asks Collected => Done {
        /// The incarnation whose receipt it is.
        pub incarnation: u64,
    }

    /// The reply where there is nothing to say.
    pub struct Done {}

    /// Whoever lets a user's credential in asks which are revoked (`ObjectQuestion::Revoked`).
    pub struct RevokedQuestion asks Revoked => Revocation {}

    /// Which credentials of a user are revoked: what the user's object tells sessions (`ObjectQuestion::Revoke`), and whoever
    /// asks or reports.
    pub struct Revocation asks Revoke => Done {
        /// Credentials that were issued earlier are revoked, in milliseconds since the Unix epoch.
        pub credentials_valid_from: u64,
    }
}

/// The reply to a [`Registration`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "State", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum RegistrationReply {
    /// The session is known, durably.
    Registered {
        /// The number of this incarnation of the session. A later incarnation has a greater one.
        incarnation: u64,
        /// Credentials that were issued earlier are revoked, in milliseconds since the Unix epoch.
        credentials_valid_from: u64,
    },
    /// The submission was received before the user was erased.
    Erased,
    /// The submission's credential is revoked.
    Revoked,
    /// The user's forks have copied as many bytes as they may.
    CopiedTooMuch {
        /// As many in an hour.
        most: u64,
        retry_after_ms: u64,
    },
    /// The storage failed, or an earlier erasure of the session could not be brought to its end.
    Failed,
}

/// When the removal of a session ends whose responses at the model service are to be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// When they are deleted.
    #[default]
    WhenDone,
    /// At once: the session begins anew, and goes on with the deletions.
    Now,
    /// Later: only the rows are erased yet, and whoever asks again counts the receipt, which the session keeps.
    Rows,
}

/// The reply to an [`EraseQuestion`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "State", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum EraseReply {
    /// There is no such incarnation of the session, and no receipt.
    Gone,
    /// Its rows are erased. It keeps the receipt until `ObjectQuestion::Collected`, so that no crash loses the counts.
    Erased {
        receipt: ErasureReceipt,
        /// No response at the model service is still to be deleted.
        is_done: bool,
    },
    /// Its retention is not over.
    Kept { summary: SessionSummary },
    /// The session could not be erased.
    Failed { fault: Fault },
}

impl Revocation {
    /// Whether a credential is revoked. `issued_at` is absent for a key, which nothing but its removal revokes.
    pub fn revokes(self, issued_at: Option<u64>) -> bool {
        issued_at.is_some_and(|issued_at| issued_at < self.credentials_valid_from)
    }
}
