//! MCP servers of the operator's, as a client over Streamable HTTP in both eras of the protocol (interface §11):
//! their tools, and calls of them. The lists of servers' tools, and
//! which of them a turn may offer, stand in `lists`.
//!
//! Source: the Model Context Protocol, revisions 2025-03-26 to 2026-07-28. A server is sent the arguments of its
//! calls and nothing else of a session. Of what it says, `instructions` are never read, links are never followed,
//! and no failure holds its address, the headers or the secrets that were sent.
//!
//! Architecture Invariant: it knows neither sessions nor the model service; requests leave by `outbound`.

mod answer_body;
mod client;
mod connection;
mod failure;
mod lists;
mod message;
mod parameter_headers;
mod remedy;
mod tool_answer;
mod tool_list;

use serde_json::value::RawValue;

use crate::catalog::HttpService;
use crate::contract::ToolOutcome;
use crate::json::{Node, first_member, is_json};
use crate::outbound::{ServiceFailure, in_time};
use crate::ports::Platform;
use client::Client;
use message::{Call, quoted, text_of};
use parameter_headers::{header_value, parameter_headers};
use remedy::HEADER_MISMATCH;

pub use connection::{Connection, Era};
pub use failure::McpFailure;
pub use lists::{
    ListCache, McpListsHost, Reach, ServerTools, StoredList, ToolListReply, ToolLists,
};
pub use tool_list::{ListedTool, Listing};

/// The longest list, in bytes, and the most pages of it.
const LIST_BYTES: usize = 2_000_000;
const MOST_PAGES: usize = 64;

/// The longest answer to a call, in bytes. It may say everything twice, as data and as text.
const ANSWER_BYTES: usize = 4_000_000;

/// How often a server may put a call off.
const MOST_DEFERRALS: usize = 3;

/// A tool to call.
#[derive(Clone, Copy, Debug)]
pub struct ToolRef<'a> {
    /// As its server lists it.
    pub name: &'a str,
    /// As its server lists it. Some arguments may have to stand in headers, too.
    pub input_schema: &'a RawValue,
}

/// What a call came to.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The result, or the tool's own words on why there is none.
    pub outcome: ToolOutcome,
}

/// Lists a server's tools, within the time limit of its entry. The connection may change also when it fails.
pub async fn list_tools<P: Platform>(
    platform: &P,
    http: &HttpService,
    connection: &mut Connection,
) -> Result<Listing, McpFailure> {
    let mut client = Client::new(platform, http, connection)?;
    in_time(platform, http.timeout_ms, list(&mut client)).await
}

/// Calls a tool with arguments as the model wrote them, within the time limit of its server's entry. The connection
/// may change also when it fails.
pub async fn call_tool<P: Platform>(
    platform: &P,
    http: &HttpService,
    connection: &mut Connection,
    tool: ToolRef<'_>,
    arguments: &str,
) -> Result<ToolAnswer, McpFailure> {
    // Some services write no text for a call without arguments.
    let arguments = Some(arguments.trim()).filter(|text| !text.is_empty()).unwrap_or("{}");
    if !(is_json(arguments) && Node::root(arguments).is_object()) {
        return Err(McpFailure::Arguments);
    }
    let mut client = Client::new(platform, http, connection)?;
    let outcome = in_time(platform, http.timeout_ms, called(&mut client, tool, arguments)).await?;
    Ok(ToolAnswer { outcome })
}

async fn list<P: Platform>(client: &mut Client<'_, P>) -> Result<Listing, McpFailure> {
    let mut listing = Listing::new();
    let (mut params, mut left) = (String::new(), LIST_BYTES);
    let mut cursors = Vec::new();
    for _ in 0..MOST_PAGES {
        let page = client.request(&Call::new("tools/list", params), left).await;
        let page = page.map_err(|failure| match failure {
            McpFailure::Service(ServiceFailure::TooLarge(_)) => {
                ServiceFailure::TooLarge(LIST_BYTES).into()
            }
            failure => failure,
        })?;
        left = left.saturating_sub(page.len());
        match listing.add(&page)? {
            // A server that gives a cursor again would go on for ever.
            Some(cursor) if !cursors.contains(&cursor) => {
                params = format!(r#""cursor":{cursor}"#);
                cursors.push(cursor);
            }
            _ => break,
        }
    }
    Ok(listing)
}

async fn called<P: Platform>(
    client: &mut Client<'_, P>,
    tool: ToolRef<'_>,
    arguments: &str,
) -> Result<ToolOutcome, McpFailure> {
    let name = quoted(tool.name);
    let (mut deferrals, mut state) = (0, String::new());
    let mut newer: Option<Listing> = None;
    loop {
        let params = format!(r#""name":{name},"arguments":{arguments}{state}"#);
        let schema =
            newer.as_ref().map_or(Some(tool.input_schema), |list| list.schema_of(tool.name));
        let headers = schema.and_then(|schema| parameter_headers(schema.get(), arguments));
        let mut call = Call::new("tools/call", params);
        call.headers.push(("Mcp-Name".to_owned(), header_value(tool.name)));
        call.headers.extend(headers.unwrap_or_default());
        let result = match client.request(&call, ANSWER_BYTES).await {
            // The headers were those of a schema that the server has no more.
            Err(McpFailure::Refused { code: HEADER_MISMATCH, .. }) if newer.is_none() => {
                newer = Some(list(client).await?);
                continue;
            }
            result => result?,
        };
        match text_of(&result, "resultType").as_deref() {
            None | Some("complete") => return tool_answer::outcome(&result),
            Some("input_required") => {
                let member = |name| first_member(&result, name);
                let asks =
                    member("inputRequests").is_some_and(|asked| !matches!(asked, "{}" | "null"));
                let kept = member("requestState").filter(|_| !asks && deferrals < MOST_DEFERRALS);
                state = format!(r#","requestState":{}"#, kept.ok_or(McpFailure::NeedsInput)?);
                deferrals += 1;
            }
            Some(_) => return Err(McpFailure::NoAnswer),
        }
    }
}
