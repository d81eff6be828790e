//! Calls of the model: what each call sends of the conversation, its retries, the remedies for a refusal,
//! and its transcript. Other files of the reasoner name only what this page exports.

mod background;
mod budget;
mod call_for_output;
mod call_recorder;
mod conversation_input;
mod estimate;
mod exchange;
mod fall_back;
mod interruption;
mod live_segment;
mod patience;
mod refused_definition;
mod remedies;
mod sent_entries;
mod services;
mod streamed_request;
mod traced_exchange;
mod transcript;

pub(super) use budget::keep_to_budget;
pub(super) use conversation_input::Input;
pub(super) use estimate::{BYTES_PER_TOKEN, estimate_cost, tokens};
pub(super) use exchange::{Exchange, ModelCall};
pub(super) use fall_back::can_fall_back;
pub(crate) use interruption::Interruption;
pub use sent_entries::{Sending, SentEntries, SentForm};
pub(crate) use services::RestingServices;
pub(super) use services::{FailedServices, Service, Services};
pub(super) use transcript::Transcript;
