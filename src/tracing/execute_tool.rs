//! `execute_tool {name}`: one call of a tool that the server runs. A call of an MCP server's tool has no second span:
//! the attributes of both conventions stand on this one.

use super::service::name_server;
use super::{names, text_if};
use crate::ports::TraceSpan;

/// A call of a tool, when it begins.
pub struct ToolExecution<'a> {
    pub name: &'a str,
    pub tool_call_id: &'a str,
    /// The decision of the human who was asked.
    pub approval: Option<&'a str>,
    /// The address of the MCP server whose tool it is.
    pub mcp_url: Option<&'a str>,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct ToolExecutionEnd<'a> {
    /// Bytes of the result that the model gets.
    pub result_bytes: Option<usize>,
    pub error: Option<&'a str>,
    pub mcp: Option<McpExchange<'a>>,
}

/// How an MCP server answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct McpExchange<'a> {
    pub version: Option<&'a str>,
    /// The code of an error of the protocol.
    pub error_code: Option<i64>,
}

impl ToolExecution<'_> {
    /// The name of the span.
    pub fn name(tool: &str) -> String {
        format!("execute_tool {tool}")
    }

    /// Sets the attributes that are known when it begins.
    pub fn describe(&self, span: &impl TraceSpan) {
        span.text(names::OPERATION, "execute_tool");
        span.text(names::TOOL, self.name);
        span.text(names::TOOL_CALL, self.tool_call_id);
        span.text(names::TOOL_TYPE, "extension");
        text_if(span, names::APPROVAL, self.approval);
        if let Some(url) = self.mcp_url {
            span.text(names::MCP_METHOD, "tools/call");
            name_server(span, url);
        }
    }
}

impl ToolExecutionEnd<'_> {
    /// Sets the attributes that are known when it ends.
    pub fn describe(&self, span: &impl TraceSpan) {
        if let Some(bytes) = self.result_bytes {
            span.number(names::RESULT_BYTES, bytes as f64);
        }
        text_if(span, names::ERROR, self.error);
        if let Some(McpExchange { version, error_code }) = self.mcp {
            text_if(span, names::MCP_VERSION, version);
            let code = error_code.map(|code| code.to_string());
            text_if(span, names::RPC_STATUS, code.as_deref());
        }
    }
}
