//! Layer 5, Persistence: a session's storage, and the turn's life cycle (AGN-027 §4, layer 5).
//!
//! Every public write of [`SessionStore`] is one durable step, and [`SessionStore::durable_step`] makes one
//! step of several writes. After each step the turn can continue from its rows, so a failure fails
//! the turn, never the session.
//!
//! Architecture Invariant: nothing here calls the network, composes a request or loops; a read
//! error is never turned into a default.

mod background;
mod bound_contexts;
mod call;
mod compaction;
mod conversation;
mod entry_seq;
mod erasure;
mod export;
mod fork;
mod ladder;
mod memory;
mod open_calls;
mod other_contexts;
mod progress;
mod records;
mod responses;
mod schema;
mod service;
mod session_row;
mod session_store;
mod steers;
mod submission_origin;
mod texts;
mod turn_life_cycle;
mod webhooks;
mod window;

pub(crate) use bound_contexts::NewContexts;
pub use call::{Call, CallApproval, Decision, OpenCalls, RunsOn, question_id};
pub(crate) use compaction::take_compactions_back;
pub use entry_seq::EntrySeq;
pub use erasure::ErasureReceipt;
pub(crate) use erasure::StoredAtServices;
pub(crate) use export::{EntryPlaces, ExportedTool};
pub(crate) use fork::{
    ForkContexts, ForkHead, ForkPlan, ForkStep, OutcomePlace, RowPage, RowPlace, StoredCopy,
    TextPage, TextPlace,
};
pub use fork::{ForkOrigin, ForkParent};
pub use other_contexts::{ContextChange, Contexts, OtherContexts};
pub use progress::{
    PendingResponse, PendingRetrieval, Spent, SteerCounts, StoredSchema, TurnProgress, TurnTrace,
};
pub use records::{
    Chain, ChainEnd, Entry, EntryKind, Lease, ModeChange, Session, SessionState, StoredOutcome,
    Turn,
};
pub(crate) use responses::DELETION_ATTEMPTS;
pub use responses::{DeletionState, StoredResponses};
pub use schema::SESSION_FORM;
pub use session_store::SessionStore;
pub use steers::Steer;
pub(crate) use steers::{NewSteer, UnplacedSteer};
pub(crate) use submission_origin::SubmissionOrigin;
pub(crate) use turn_life_cycle::ModelOutputRecord;
pub use turn_life_cycle::NewMode;
pub use webhooks::{DueWebhook, WebhookRecord};
pub(crate) use webhooks::{MessagePlace, WebhookMessage};
pub use window::{CompactionReason, CompactionRecord, Ladder, Rung, Shortening, Window};
