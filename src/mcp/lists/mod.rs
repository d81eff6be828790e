//! The lists of servers' tools: kept by an object for each tenant and server, known to each isolate, and narrowed to
//! what the catalog lets a turn offer (interface §11).
//!
//! [`McpListsHost`] is the object. It alone asks a server for its tools, so the server is asked once, however many
//! sessions there are. [`ListCache`] is what an isolate knows of the objects' lists, so a turn with a fresh list asks
//! nobody. [`ServerTools`] are the tools of one list that a turn may offer.

mod allowed_tools;
mod cache;
mod canonical_json;
mod host;
mod reply;

pub use allowed_tools::{Reach, ServerTools, ToolLists, pin_of};
pub use cache::ListCache;
pub use host::McpListsHost;
pub use reply::{StoredList, ToolListReply};

/// How long a server that failed is left alone, in milliseconds.
const RETRY_MS: u64 = 10_000;
