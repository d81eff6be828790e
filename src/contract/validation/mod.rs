//! From the bytes of a body to a typed request, or to every violation at once (AGN-034, interface
//! §2 and §7).
//!
//! The body is walked in place: first for being JSON, then member by member in document order.
//! Besides the request that it gives, nothing of the body's size is built.

pub mod artifact_path;
mod body;
mod client_tools;
mod documents;
mod execute_request;
mod rag_scope;
mod search;
mod tool_continuation;
mod user_turn;
mod values;
mod violations;

pub use documents::parse_documents;
pub use execute_request::{MemberOrder, parse, peek_session_id};
pub use search::parse_search;
