//! MCP.
mod canonical_json;
mod list_keeper;
mod server_tools;

use serde_json::value::RawValue;

/// A listed tool.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ListedTool {
    /// n
    pub name: String,
    /// d
    pub description: Option<String>,
    /// s
    pub input_schema: Box<RawValue>,
}
pub use list_keeper::{KeptList, ListKeeper, RETRY_MS, ToolsAnswer};
pub use server_tools::{Reach, ServerTools, ToolLists};
// LOCAL STUBS until the client is merged
#[derive(Clone, Debug, Default, PartialEq, Eq)]
/// c
pub struct Connection(Option<Era>);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// e
pub enum Era {
    /// m
    Modern,
}
impl Era {
    /// s
    pub fn as_str(self) -> &'static str {
        "modern"
    }
}
impl Connection {
    /// e
    pub fn era(&self) -> Option<Era> {
        self.0
    }
    /// r
    pub fn read(_: &str) -> Self {
        Self(None)
    }
}
/// l
pub struct Listing {
    /// t
    pub tools: Vec<ListedTool>,
    /// t
    pub ttl_ms: u64,
}
/// f
pub async fn list_tools<P: crate::ports::Platform>(
    _: &P,
    _: &crate::catalog::HttpService,
    _: &mut Connection,
) -> Result<Listing, String> {
    Err(String::new())
}
