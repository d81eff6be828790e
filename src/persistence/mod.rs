//! Layer 5, Persistence: what is kept of a session, and the turn's life cycle (AGN-027 §4, layer 5).
//!
//! Every public write of [`SessionStore`] is one durable step, and [`SessionStore::step`] makes one
//! of several: after it the session is in a state from which the turn can go on. A failure fails the
//! turn, never the session.
//!
//! Architecture Invariant: nothing here calls the network, composes a request or loops; a read
//! error is never turned into a default.

mod erasure;
mod export;
mod memory;
mod records;
mod schema;
mod session_store;
pub mod texts;
mod turn_life_cycle;

pub use erasure::{ErasureReceipt, PendingErasure, StoredResponses};
pub use export::{ExportedSession, ExportedTurn};
pub use records::{
    Call, Entry, EntryKind, ModeChange, OpenCalls, Progress, RunsOn, Session, StoredAnswer,
    Submission, Turn,
};
pub use session_store::SessionStore;
pub use turn_life_cycle::{ModelAnswerRecord, NewMode, NewTurn};
