//! What a session asks of a server's object, the reply, and the list in its stored form.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::mcp::client::{ListedTool, ProtocolEra};
use crate::object::question;

question! {
    /// A session asks for a server's tools (`ObjectQuestion::Tools`).
    pub struct ToolListQuestion asks Tools => ToolListReply {
        /// The server's key in the catalog.
        pub server: String,
    }

    /// A server's tools, as its object knows them.
    pub struct ToolListReply {
        /// The fingerprint of the server's definition in the catalog that the object has read.
        pub server: String,
        /// For how long this reply holds, in milliseconds.
        pub fresh_ms: u64,
        /// Whether the server has failed since it gave the list.
        pub is_stale: bool,
        /// A [`StoredToolList`]. Absent when the server has failed and there is no earlier list.
        pub list: Option<Box<RawValue>>,
    }
}

/// A server's tools in their stored form.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredToolList {
    /// The protocol's era in which the server gave the list.
    pub era: Option<ProtocolEra>,
    /// The usable tools, in the server's order.
    pub tools: Vec<ListedTool>,
}
