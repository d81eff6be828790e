//! The client of a server: it lists and calls the server's tools, over Streamable HTTP in both eras of the protocol.
//!
//! Source: the Model Context Protocol, revisions 2025-03-26 to 2026-07-28. A server's `instructions` are never read, its
//! links never followed, and no failure holds its address, the headers or the secrets that were sent.

mod connection;
mod exchange;
mod failure;
mod message;
mod message_reader;
mod parameter_headers;
mod remedy;
mod tool_call;
mod tool_list;
mod tool_result;

pub use connection::{Connection, ProtocolEra};
pub use failure::McpFailure;
pub use tool_call::{ToolRef, call_tool};
pub use tool_list::{ListedTool, ToolList, UnusableTool, list_tools};
