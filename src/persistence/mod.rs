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
mod lease;
mod memory;
mod open_calls;
mod other_contexts;
mod pending_response;
mod pending_retrieval;
mod records;
mod responses;
mod schema;
mod senders;
mod service;
mod session_row;
mod session_store;
mod spent;
mod steer_counts;
mod steers;
mod submission_counts;
mod submission_origin;
mod texts;
mod turn_life_cycle;
mod turn_trace;
mod webhooks;
mod window;

pub(crate) use bound_contexts::NewContexts;
pub use call::{Call, CallApproval, Decision, OpenCalls, RefusedCall, RunsOn, question_id};
pub(crate) use compaction::{CompactedConversation, take_compactions_back};
pub use entry_seq::EntrySeq;
pub(crate) use erasure::StoredAtServices;
pub use erasure::{ErasureReceipt, StoredResponses};
pub(crate) use export::ToolOnServer;
pub(crate) use fork::{
    ForkContexts, ForkHead, ForkPlan, ForkStep, OutcomePlace, RowPage, RowPlace, StoredCopy,
    TextPage, TextPlace,
};
pub use fork::{ForkOrigin, ForkParent};
pub use lease::Lease;
pub use other_contexts::{ContextChange, Contexts, OtherContexts};
pub use pending_response::PendingResponse;
pub use pending_retrieval::PendingRetrieval;
pub use records::{
    Chain, ChainEnd, Entry, EntryKind, ModeChange, Session, SessionState, StoredOutcome,
    StoredSchema, Turn, TurnProgress,
};
pub use responses::DeletionState;
pub(crate) use responses::StoredResponse;
pub use schema::SESSION_FORM;
pub use session_store::SessionStore;
pub use spent::Spent;
pub(crate) use spent::is_zero;
pub use steer_counts::SteerCounts;
pub use steers::Steer;
pub(crate) use steers::{NewSteer, UnplacedSteer};
pub(crate) use submission_origin::SubmissionOrigin;
pub(crate) use turn_life_cycle::{ModelOutputRecord, NewMessage, NewTurn};
pub use turn_life_cycle::{NewMode, NewSubmission};
pub use turn_trace::TurnTrace;
pub use webhooks::{DueWebhook, Ending, WebhookRecord, WebhookState};
pub(crate) use webhooks::{MessagePlace, WebhookMessage};
pub use window::{CompactionReason, CompactionRecord, Ladder, Rung, Shortening, Window};
