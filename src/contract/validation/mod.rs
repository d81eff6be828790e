//! From the bytes of a body to a typed request, or to all its faults at once (AGN-034, interface §2 and §7).
//!
//! A body is first checked to be JSON, then read in place, member by member in document order.
//! Nothing of the body's size is built besides the request.
//!
//! The typed request is a canonical form: defaults are filled in, absent and `null` are the same. It has no member of the
//! server's.
//!
//! A body that is refused gives all its faults, in document order: `malformed_json` alone, or any
//! of `missing_field`, `invalid_field` and `unknown_field`. A report of more than a hundred is cut
//! and says so.

mod body;
mod client_tools;
mod comparison;
mod documents;
mod execute_request;
mod fork;
mod output_schema;
mod rag_scope;
mod reader;
mod rename;
mod request_object;
mod search;
mod steer;
mod ticket_request;
mod tool_continuation;
mod user_turn;
mod values;

pub use body::object_text;
pub use comparison::{ListedDocuments, parse_comparison};
pub use documents::{Document, Properties, parse_documents};
pub use execute_request::{ExecuteRequest, MemberOrder, parse, parse_object, peek_session_id};
pub use fork::parse_fork;
pub use rag_scope::{RagCondition, RagScope};
pub use reader::as_report;
pub use rename::parse_rename;
pub use search::{SearchRequest, parse_search};
pub use steer::{SteerRequest, parse_steer};
pub use ticket_request::{TicketRequest, parse_ticket_request};
pub use tool_continuation::ToolContinuation;
pub use user_turn::{ClipboardImage, InputArtifact, UserTurn};
