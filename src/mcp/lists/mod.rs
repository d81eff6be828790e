//! The lists of servers' tools: stored by an object for each tenant and server, cached by each isolate, and narrowed to
//! the tools that a turn may offer (interface §11).
//!
//! [`McpListHost`] is the object. It alone asks a server for its tools, so a server gets one request, however many
//! sessions there are. [`ToolListCache`] is an isolate's cache of these lists: a turn with a fresh list sends no request.
//! [`AllowedTools`] are the tools of one list that the catalog allows.

mod allowed_tools;
mod cache;
mod host;
mod reply;

pub use allowed_tools::{AllowedTools, ChangedTool, Reach, ToolsByServer, pin_of};
pub use cache::ToolListCache;
pub use host::McpListHost;
pub use reply::{StoredToolList, ToolListQuestion, ToolListReply};

/// The time before a server that failed is asked again, in milliseconds.
const RETRY_MS: u64 = 10_000;
