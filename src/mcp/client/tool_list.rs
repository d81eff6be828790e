//! A server's tools, page by page. Tools that a model or a model service could not use are left out; the rest of a
//! list is used.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::connection::Connection;
use super::exchange::Client;
use super::failure::McpFailure;
use super::message::{RpcRequest, number, string_member};
use super::parameter_headers::parameter_headers;
use crate::catalog::HttpService;
use crate::json::{Node, first_member, for_each_element, nests_deeper_than, repeats_a_member};
use crate::outbound::{ServiceFailure, in_time};
use crate::ports::Platform;

/// The longest list, in bytes, and the most pages of it.
const LIST_BYTES: usize = 2_000_000;
const MOST_PAGES: usize = 64;

/// The most tools that are read, unusable ones included.
const MOST_TOOLS: usize = 1_000;

/// The longest description and schema of a tool together, in bytes: a turn sends them with every model call.
const DEFINITION_BYTES: usize = 65_536;

const TOO_LONG: &str = "its description and schema are too long";

/// The longest name of a tool, in bytes.
const NAME_BYTES: usize = 256;

/// How deep a schema may nest, as JSON, and the most objects in it, by their braces.
const SCHEMA_DEPTH: usize = 64;
const SCHEMA_OBJECTS: usize = 5_000;

/// A tool as its server lists it. Its texts are the server's, so none of them can be trusted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// Not empty; any characters.
    pub name: String,
    /// The text by which the model chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema whose root has `"type": "object"`, as the server writes it.
    pub input_schema: Box<RawValue>,
}

/// A tool that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableTool {
    pub name: String,
    /// For the operator's log.
    pub reason: &'static str,
}

/// A server's list of its tools.
#[derive(Clone, Debug, Default)]
pub struct ToolList {
    /// In the server's order, each name once.
    pub tools: Vec<ListedTool>,
    pub unusable: Vec<UnusableTool>,
    /// For how long the server promises the same list, in milliseconds; 0 when it promises nothing.
    pub ttl_ms: u64,
}

/// Requests a server's list, within the time limit of its entry. Also a request that fails may change the connection.
pub async fn list_tools<P: Platform>(
    platform: &P,
    http: &HttpService,
    connection: &mut Connection,
) -> Result<ToolList, McpFailure> {
    let mut client = Client::new(platform, http, connection)?;
    in_time(platform, http.timeout_ms, request_list(&mut client)).await
}

pub(super) async fn request_list<P: Platform>(
    client: &mut Client<'_, P>,
) -> Result<ToolList, McpFailure> {
    let mut list = ToolList { ttl_ms: u64::MAX, ..ToolList::default() };
    let (mut params, mut left) = (String::new(), LIST_BYTES);
    let mut cursors = Vec::new();
    for _ in 0..MOST_PAGES {
        let page = client.request(&RpcRequest::new("tools/list", params), left).await;
        let page = page.map_err(|failure| match failure {
            McpFailure::Service(ServiceFailure::TooLarge(_)) => {
                ServiceFailure::TooLarge(LIST_BYTES).into()
            }
            failure => failure,
        })?;
        left = left.saturating_sub(page.len());
        match list.add_page(&page)? {
            // A server that repeats a cursor would never come to an end.
            Some(cursor) if !cursors.contains(&cursor) => {
                params = format!(r#""cursor":{cursor}"#);
                cursors.push(cursor);
            }
            _ => break,
        }
    }
    Ok(list)
}

impl ToolList {
    /// The schema of the tool of that name.
    pub(super) fn schema_of(&self, name: &str) -> Option<&RawValue> {
        let tool = self.tools.iter().find(|tool| tool.name == name)?;
        Some(&tool.input_schema)
    }

    /// Adds a page, and returns the next one's cursor as JSON; `None` after the last page.
    fn add_page(&mut self, page: &str) -> Result<Option<String>, McpFailure> {
        let member = |name| first_member(page, name);
        let ttl_ms = member("ttlMs").and_then(number).map_or(0, |ttl| ttl as u64);
        self.ttl_ms = self.ttl_ms.min(ttl_ms);
        let tools = member("tools").ok_or(McpFailure::NoResult)?;
        for_each_element(tools, |tool| self.add_tool(tool)).map_err(|_| McpFailure::NoResult)?;
        let cursor = member("nextCursor").filter(|cursor| cursor.starts_with('"'));
        Ok(cursor.filter(|_| !self.is_full()).map(str::to_owned))
    }

    fn is_full(&self) -> bool {
        self.tools.len() + self.unusable.len() >= MOST_TOOLS
    }

    fn add_tool(&mut self, json: &str) {
        if self.is_full() {
            return;
        }
        let name = string_member(json, "name");
        let Some(name) = name.filter(|name| (1..=NAME_BYTES).contains(&name.len())) else { return };
        let name = name.into_owned();
        let known = self.tools.iter().map(|tool| &tool.name);
        if known.chain(self.unusable.iter().map(|tool| &tool.name)).any(|known| *known == name) {
            return;
        }
        match read_tool(&name, json) {
            Ok(tool) => self.tools.push(tool),
            Err(reason) => self.unusable.push(UnusableTool { name, reason }),
        }
    }
}

/// A tool of that name, or why it cannot be used.
fn read_tool(name: &str, json: &str) -> Result<ListedTool, &'static str> {
    let input_schema = input_schema(json)?;
    let description = string_member(json, "description").map(|text| text.into_owned());
    let described = description.as_ref().map_or(0, String::len);
    if described + input_schema.get().len() > DEFINITION_BYTES {
        return Err(TOO_LONG);
    }
    // A server refuses every plain call of such a tool with -32601 (revision 2025-11-25, Tasks).
    let execution = first_member(json, "execution").unwrap_or_default();
    if string_member(execution, "taskSupport").as_deref() == Some("required") {
        return Err("it runs only as a task, which is not supported");
    }
    Ok(ListedTool { name: name.to_owned(), description, input_schema })
}

/// A tool's schema, or why it cannot be used.
fn input_schema(tool: &str) -> Result<Box<RawValue>, &'static str> {
    let schema = first_member(tool, "inputSchema").unwrap_or_default();
    let kind = string_member(schema, "type");
    if !Node::root(schema).is_object() || kind.as_deref() != Some("object") {
        return Err("its input schema is not that of an object");
    }
    // What follows reads it several times.
    if schema.len() > DEFINITION_BYTES {
        return Err(TOO_LONG);
    }
    let is_large = schema.matches('{').count() > SCHEMA_OBJECTS;
    if is_large || nests_deeper_than(schema, SCHEMA_DEPTH) {
        return Err("its input schema is too deep or too large");
    }
    // A turn offers what is made of its tree, which holds neither.
    if serde_json::from_str::<Value>(schema).is_err() {
        return Err("its input schema holds a number out of range, or half a character");
    }
    if repeats_a_member(schema) {
        return Err("its input schema names a member twice");
    }
    if parameter_headers(schema, "{}").is_none() {
        return Err("its input schema marks headers in a way that is not permitted");
    }
    RawValue::from_string(schema.to_owned()).map_err(|_| "its input schema is not JSON")
}
