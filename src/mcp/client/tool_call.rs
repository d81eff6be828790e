//! Calls of a server's tools.
//!
//! A server may defer a call, and its tool may have changed since the server listed it.

use serde_json::value::RawValue;

use super::connection::Connection;
use super::exchange::Client;
use super::failure::McpFailure;
use super::message::{RpcRequest, json_string, string_member};
use super::parameter_headers::{header_value, parameter_headers};
use super::remedy::HEADER_MISMATCH;
use super::tool_list::{ToolList, request_list};
use super::tool_result::outcome_of;
use crate::catalog::HttpService;
use crate::contract::{ToolOutcome, TraceContext};
use crate::json::{Node, first_member, is_json};
use crate::outbound::in_time;
use crate::ports::Platform;

/// The longest result of a call, in bytes. A server may send everything twice, as data and as text.
const RESULT_BYTES: usize = 4_000_000;

/// How often a server may defer a call.
const MOST_DEFERRALS: usize = 3;

/// A tool to call.
#[derive(Clone, Copy, Debug)]
pub struct ToolRef<'a> {
    /// As its server lists it.
    pub name: &'a str,
    /// As its server lists it. It may mark arguments that have to be repeated in headers.
    pub input_schema: &'a RawValue,
}

/// Calls a tool with arguments as the model wrote them, within the time limit of its server's entry, and returns its
/// result, or the tool's own words on why there is none. `trace` is handed on in `_meta`. Also a call that fails may
/// change the connection.
pub async fn call_tool<P: Platform>(
    platform: &P,
    http: &HttpService,
    connection: &mut Connection,
    tool: ToolRef<'_>,
    arguments: &str,
    trace: Option<&TraceContext>,
) -> Result<ToolOutcome, McpFailure> {
    // Some model services write no text for a call without arguments.
    let arguments = Some(arguments.trim()).filter(|text| !text.is_empty()).unwrap_or("{}");
    if !(is_json(arguments) && Node::root(arguments).is_object()) {
        return Err(McpFailure::Arguments);
    }
    let mut client = Client::new(platform, http, connection)?;
    in_time(platform, http.timeout_ms, call(&mut client, tool, arguments, trace)).await
}

async fn call<P: Platform>(
    client: &mut Client<'_, P>,
    tool: ToolRef<'_>,
    arguments: &str,
    trace: Option<&TraceContext>,
) -> Result<ToolOutcome, McpFailure> {
    let name = json_string(tool.name);
    let (mut deferrals, mut state) = (0, String::new());
    let mut newer_list: Option<ToolList> = None;
    loop {
        let params = format!(r#""name":{name},"arguments":{arguments}{state}"#);
        let schema = match &newer_list {
            Some(list) => list.schema_of(tool.name),
            None => Some(tool.input_schema),
        };
        let headers = schema.and_then(|schema| parameter_headers(schema.get(), arguments));
        let mut request = RpcRequest::new("tools/call", params);
        request.trace = trace.cloned();
        request.headers.push(("Mcp-Name".to_owned(), header_value(tool.name)));
        request.headers.extend(headers.unwrap_or_default());
        let result = match client.request(&request, RESULT_BYTES).await {
            // The headers follow a schema that the server no longer has.
            Err(McpFailure::Refused { code: HEADER_MISMATCH, .. }) if newer_list.is_none() => {
                newer_list = Some(request_list(client).await?);
                continue;
            }
            result => result?,
        };
        match string_member(&result, "resultType").as_deref() {
            None | Some("complete") => return outcome_of(&result),
            Some("input_required") => {
                let asks = first_member(&result, "inputRequests")
                    .is_some_and(|requests| !matches!(requests, "{}" | "null"));
                let request_state = first_member(&result, "requestState")
                    .filter(|_| !asks && deferrals < MOST_DEFERRALS)
                    .ok_or(McpFailure::NeedsInput)?;
                state = format!(r#","requestState":{request_state}"#);
                deferrals += 1;
            }
            Some(_) => return Err(McpFailure::NoResult),
        }
    }
}
