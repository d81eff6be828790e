//! The users behind a tenant: the list of a user's sessions, the user's tokens, and the erasure of a user (interface §13).
//!
//! Each user of a tenant has an object of its own, which knows every session of the user that can exist: a session is
//! registered before its first row is written. What is stored there, the messages between that object and the sessions,
//! and the receipt of an erasure are here; `crate::entry` answers requests with them.
//!
//! Architecture Invariant: nothing here asks another object, and no content of a conversation but a session's title is
//! stored.

mod erasure;
mod index;
mod listing;
mod questions;
mod records;
mod schema;
mod spent;
mod summary;
mod title;

pub use erasure::{ErasedCounts, SessionCounts, UserErasure, UserReceipt};
pub use index::{Forgetting, LONGEST_CREDENTIAL_MS, MOST_SKEW_MS, Registering, UserIndex};
pub use listing::{Cursor, ListOrder, SessionFilter, StatusCounts};
pub use questions::{
    Collection, Done, Ending, EraseQuestion, EraseReply, Registration, RegistrationReply,
    Revocation, RevokedQuestion, SessionNews, SummaryQuestion, SummaryReply,
};
pub use records::{IndexedSession, ListingState, UserRow};
pub use schema::USER_FORM;
pub use spent::{EndedLease, LEASE_LIFE_MS, LeaseQuestion, LeaseReply, Limits, Spent, is_same_day};
pub use summary::{SessionStatus, SessionSummary, Waiting};
pub use title::title_of;
