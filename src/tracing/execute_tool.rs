//! `execute_tool {name}`: one call of a tool that the server runs. A call of an MCP server's tool has no second span:
//! the attributes of both conventions stand on this one.

use super::service::name_server;
use super::{names, number_if, text_if};
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
pub struct ToolExecutionEnd<'a> {
    /// Bytes of the result that the model gets.
    pub result_bytes: Option<usize>,
    pub error: Option<&'a str>,
    /// The version of the protocol that an MCP server speaks.
    pub mcp_version: Option<&'a str>,
    /// The code of an error of that protocol.
    pub mcp_code: Option<i64>,
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
        number_if(span, names::RESULT_BYTES, self.result_bytes.map(|bytes| bytes as f64));
        text_if(span, names::ERROR, self.error);
        text_if(span, names::MCP_VERSION, self.mcp_version);
        let code = self.mcp_code.map(|code| code.to_string());
        text_if(span, names::RPC_STATUS, code.as_deref());
    }
}
