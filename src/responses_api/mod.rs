//! The model service's wire format: the request, the stream, the model output, the refusal.
//!
//! Source: interface §4, and the facts gathered on the live Responses API;
//! where AGN-003 writes a member differently, the live API wins.
//!
//! Everything here is pure: bytes and text in, values out. There is no I/O, no clock and no
//! random number, and nothing here decides what a turn does with a model output.
//!
//! Architecture Invariant: of the crate this folder names only `encoding` and `json`, so that no product
//! type reaches the wire by accident and no provider field reaches the public contract.

mod accumulator;
mod bounded_list;
mod draft_item;
mod error_body;
mod event;
mod event_order;
mod foreign_item;
mod hosted_items;
mod message_content;
mod open_items;
mod ordered_text;
mod output_item;
mod readable_item;
mod refused_reasoning;
mod refused_schema;
mod refused_tool;
mod replay_item;
mod request;
mod response_end;
mod response_facts;
mod split_character;
mod stream;
mod token_counts;
mod unanswered_call;

pub use error_body::{
    ErrorBody, concerns_background, concerns_encrypted_reasoning, concerns_input,
    concerns_previous_response, concerns_storage, names_model,
};
pub(crate) use error_body::{code_concerns_input, names_place};
pub use foreign_item::with_plain_call_id;
pub use hosted_items::{Citation, HostedCall, Picture, pictures};
pub use ordered_text::TextProgress;
pub use output_item::FunctionCall;
pub use readable_item::{ReadableItem, ReadablePart};
pub use refused_reasoning::concerns_sent_reasoning;
pub use refused_schema::concerns_schema;
pub use refused_tool::{RefusedTool, refused_tool};
pub(crate) use replay_item::assistant_message;
pub use replay_item::{bare, for_replay, is_compaction, since_compaction};
pub use request::{
    CallMembers, ContextManagement, ENCRYPTED_REASONING, FunctionTool, JsonSchemaFormat,
    ResponsesRequest, ToolChoice,
};
pub(crate) use request::{
    ContentPart, ToolOutput, function_call_output, system_message, user_message, user_message_json,
    with_text, without_text,
};
pub use response_end::{ModelOutput, ResponseEnd};
pub use response_facts::ResponseFacts;
pub use stream::{ResponseStream, StreamLimits};
pub use unanswered_call::holds_unanswered_call;

use crate::encoding::SseFault;

/// Why the reader refused the bytes of a model output. After any of these faults the output is
/// unusable: the caller reports a protocol fault of the model service.
///
/// No variant carries text of the model service, so each can be logged and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    /// The body ended (or said `[DONE]`) before a terminal event.
    #[error("the model service's stream ended before its terminal event")]
    EndedEarly,
    /// A response in one piece is not over yet: it runs on at the service.
    #[error("the model service's answer is not finished")]
    Unfinished,
    /// Events are missing between two that came.
    #[error("the model service left events of its answer out")]
    Gap,
    /// An event, or a whole response, belongs to another response than the one that is read on.
    #[error("the model service sent another answer in the place of the one that was asked for")]
    OfAnother,
    /// The bytes are not an event stream.
    #[error(transparent)]
    Framing(#[from] SseFault),
    /// Well-framed data are not what the Responses API sends; names the part concerned.
    #[error("the model service sent {0} that could not be read")]
    Malformed(&'static str),
    /// The output is larger than its limit, in bytes.
    #[error("the model service's answer is larger than {0} bytes")]
    OutputTooLarge(usize),
    /// More white space and comments came before the answer than the limit, in bytes.
    #[error(
        "the model service sent more than {0} bytes of white space or comments before its answer"
    )]
    LeadTooLong(usize),
    /// The body is larger than its limit, in bytes, whatever it holds.
    #[error("the model service sent more than {0} bytes for one answer")]
    BodyTooLarge(usize),
    /// The body has more events than the limit.
    #[error("the model service sent more than {0} events for one answer")]
    TooManyEvents(usize),
    /// The output has more output items, or a message more content parts, than any real one.
    #[error("the model service's answer has more than {0} output items or content parts")]
    TooManyItems(usize),
}
