//! Calls of a server's tools.
//!
//! A server may put a call off, and its tool may have changed since it was listed.

use serde_json::value::RawValue;

use super::connection::Connection;
use super::exchange::Client;
use super::failure::McpFailure;
use super::message::{Call, quoted, text_of};
use super::parameter_headers::{header_value, parameter_headers};
use super::remedy::HEADER_MISMATCH;
use super::tool_list::{Listing, list};
use super::tool_result;
use crate::catalog::HttpService;
use crate::contract::ToolOutcome;
use crate::json::{Node, first_member, is_json};
use crate::outbound::in_time;
use crate::ports::Platform;

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
            None | Some("complete") => return tool_result::outcome(&result),
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
