//! The client of a server: its tools, and calls of them, over Streamable HTTP in both eras of the protocol.
//!
//! Source: the Model Context Protocol, revisions 2025-03-26 to 2026-07-28. Of what a server says, `instructions` are
//! never read, links are never followed, and no failure holds its address, the headers or the secrets that were sent.

mod answer_body;
mod connection;
mod exchange;
mod failure;
mod message;
mod parameter_headers;
mod remedy;
mod tool_call;
mod tool_list;
mod tool_result;

pub use connection::{Connection, Era};
pub use failure::McpFailure;
pub use tool_call::{ToolAnswer, ToolRef, call_tool};
pub use tool_list::{ListedTool, Listing, list_tools};
