//! MCP servers (interface §11): both eras of the protocol, lists, calls, and servers that break it.
//!
//! The recorded responses are those of real servers: the SDK's own and `server-everything`.

mod calls;
mod costly;
mod eras;
mod host;
mod lists;
mod server;
mod streams;
