//! MCP servers of the operator's (interface §11), in two rooms: `client` lists and calls the tools of one server,
//! `lists` stores servers' lists and decides which of their tools a turn may offer.
//!
//! Architecture Invariant: it knows neither sessions nor the model service. A server is sent the arguments of its
//! calls and nothing else of a session; requests leave by `outbound`.

mod client;
mod lists;

pub use client::{
    Connection, ListedTool, McpFailure, ProtocolEra, ToolList, ToolRef, UnusableTool, call_tool,
    list_tools,
};
pub use lists::{
    AllowedTools, ChangedTool, McpListHost, Reach, StoredToolList, ToolListCache, ToolListQuestion,
    ToolListReply, ToolsByServer, pin_of,
};
