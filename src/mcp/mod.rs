//! MCP servers of the operator's (interface §11), in two rooms: `client` lists and calls the tools of one server,
//! `lists` keeps servers' lists and says which tools a turn may offer.
//!
//! Architecture Invariant: it knows neither sessions nor the model service. A server is sent the arguments of its
//! calls and nothing else of a session; requests leave by `outbound`.

mod client;
mod lists;

pub use client::{
    Connection, Era, ListedTool, Listing, McpFailure, ToolAnswer, ToolRef, call_tool, list_tools,
};
pub use lists::{
    ListCache, McpListsHost, Reach, ServerTools, StoredList, ToolListReply, ToolLists, pin_of,
};
