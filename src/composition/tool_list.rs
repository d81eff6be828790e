//! The tool list of a turn (AGN-011 §4): merged once, frozen until the turn ends.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::tool_definition::ToolDefinition;
use crate::catalog::{APPROVE_TOOL, Approval, BuiltInTool};
use crate::contract::{Fault, Result, UserWarning, Warning};
use crate::encoding::sparse_object;
use crate::json::first_member;

/// The most tools of a request: the model service takes no more.
pub(super) const MOST_TOOLS: usize = 128;

sparse_object! {
    /// A tool that a turn offers to the model.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    pub struct OfferedTool {
        /// Unique among the functions of the list. Of a hosted tool, its type.
        pub name: String,
        /// The server runs it; otherwise the client does, or the model service.
        pub on_server: bool,
        /// The model service runs it by itself.
        pub hosted?: bool,
        /// How a human is asked before the server runs it.
        pub approval?: Option<Approval>,
        /// Calls of it may run beside others that may. One that a human is asked about runs alone.
        pub parallel?: bool,
        /// Where it is called, if an MCP server runs it.
        pub mcp?: Option<McpTool>,
        /// `{type:"function", name, description?, parameters, strict}`, or a hosted tool as the catalog writes it.
        pub definition: Box<RawValue>,
    }
}

/// Where a tool of an MCP server is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct McpTool {
    /// The server's key in the catalog.
    pub server: String,
    /// The tool's own name.
    pub tool: String,
    /// The era of the protocol in which the server listed it; empty where it is not known.
    pub era: String,
}

/// The warnings about tools that a turn does without, or has under a condition.
#[derive(Debug, Default)]
pub(super) struct ToolWarnings {
    pub(super) for_client: Vec<Warning>,
    pub(super) for_user: Vec<String>,
}

impl ToolWarnings {
    pub(super) fn warn_user(&mut self, warning: UserWarning<'_>) {
        warning.add_once(&mut self.for_user);
    }

    /// Warns the client, once.
    pub(super) fn warn_client(&mut self, code: &'static str, message: String) {
        let warning = Warning::new(code, message);
        if !self.for_client.contains(&warning) {
            self.for_client.push(warning);
        }
    }
}

/// The tools that a turn offers, in the order in which they are sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolList(pub Vec<OfferedTool>);

impl ToolList {
    /// The function of that name.
    pub fn get(&self, name: &str) -> Option<&OfferedTool> {
        self.0.iter().find(|tool| tool.name == name && !tool.hosted)
    }

    /// Whether calls of the function of that name may run beside others that may.
    pub fn is_parallel(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.parallel)
    }
}

impl OfferedTool {
    /// The schema of its arguments, as the model service has it.
    pub(crate) fn parameters(&self) -> Result<&RawValue> {
        let parameters = first_member(self.definition.get(), "parameters");
        parameters
            .and_then(|parameters| serde_json::from_str(parameters).ok())
            .ok_or_else(|| Fault::internal("A tool's stored definition is unreadable."))
    }

    /// A tool that the server runs, how a human is asked about it, and whether the catalog lets its calls run beside
    /// others.
    pub(super) fn of_server(
        definition: ToolDefinition,
        approval: Option<Approval>,
        parallel: bool,
    ) -> Self {
        let parallel = parallel && approval.is_none();
        Self { on_server: true, approval, parallel, ..Self::of_client(definition) }
    }

    fn of_client((name, definition): ToolDefinition) -> Self {
        let (approval, mcp) = (None, None);
        Self { name, on_server: false, hosted: false, approval, parallel: false, mcp, definition }
    }
}

/// Client tools in their order, then server tools, then those that the model service runs. When both have a
/// tool of one name, the server's is offered, because the operator has chosen it; an MCP server's tool gives
/// way to any other that the server runs. A warning says what is left out.
///
/// Where there are more than a request may hold, MCP servers' tools give way first, then the client's, then the
/// operator's; the last of each go. `Err` is the number of client tools for which there is room, where these are the
/// request's own: a client is to know which of its tools are offered.
pub(super) fn merge_tools(
    client: Vec<ToolDefinition>,
    server: Vec<OfferedTool>,
    hosted: Vec<ToolDefinition>,
    are_received: bool,
    warnings: &mut ToolWarnings,
) -> Result<ToolList, usize> {
    let mut list: Vec<OfferedTool> = Vec::with_capacity(client.len() + server.len());
    for tool in client {
        let name = &tool.0;
        if name == APPROVE_TOOL {
            let message = format!(
                "The client's tool {name} was left out: by this name the service asks for approval."
            );
            warnings.warn_client("tool_reserved", message);
        } else if server.iter().any(|taken| taken.name == *name) {
            let message = format!(
                "The client's tool {name} was replaced by the server's tool of the same name."
            );
            warnings.warn_client("tool_replaced", message);
        } else {
            list.push(OfferedTool::of_client(tool));
        }
    }
    let own = server.iter().filter(|tool| tool.mcp.is_none());
    let own: Vec<String> = own.map(|tool| tool.name.clone()).collect();
    for tool in server {
        let rival = list.iter().find(|known| known.name == tool.name);
        let is_own_name = tool.mcp.is_some() && own.contains(&tool.name);
        let is_named_twice = rival.is_some_and(|rival| rival.mcp == tool.mcp);
        if rival.is_none() && !is_own_name {
            list.push(tool);
        } else if let Some(mcp) = tool.mcp.filter(|_| !is_named_twice) {
            let message = format!(
                "The tool {}/{} was left out: another tool has the name {}.",
                mcp.server, mcp.tool, tool.name
            );
            warnings.warn_client("tool_left_out", message);
        }
    }
    let excess = (list.len() + hosted.len()).saturating_sub(MOST_TOOLS);
    let mcp = take_last(&mut list, excess, |tool| tool.mcp.is_some());
    if !mcp.is_empty() {
        warnings.warn_user(UserWarning::TooManyTools { most: MOST_TOOLS });
    }
    let excess = excess - mcp.len();
    let clients = list.iter().filter(|tool| !tool.on_server).count();
    if excess > 0 && are_received && clients > 0 {
        return Err(clients.saturating_sub(excess));
    }
    let mut left_out = take_last(&mut list, excess, |tool| !tool.on_server);
    let excess = excess - left_out.len();
    let is_operators = |tool: &OfferedTool| BuiltInTool::parse(&tool.name).is_none();
    left_out.extend(take_last(&mut list, excess, is_operators));
    for OfferedTool { name, .. } in left_out {
        let message =
            format!("The tool {name} was left out: a turn has at most {MOST_TOOLS} tools.");
        warnings.warn_client("tool_left_out", message);
    }
    let hosted = hosted.into_iter();
    list.extend(hosted.map(|tool| OfferedTool { hosted: true, ..OfferedTool::of_client(tool) }));
    Ok(ToolList(list))
}

/// Takes the last tools of a kind out of a list, at most so many.
fn take_last(
    list: &mut Vec<OfferedTool>,
    most: usize,
    is_of_the_kind: impl Fn(&OfferedTool) -> bool,
) -> Vec<OfferedTool> {
    let mut taken = Vec::new();
    for place in (0..list.len()).rev() {
        if taken.len() < most && list.get(place).is_some_and(&is_of_the_kind) {
            taken.push(list.remove(place));
        }
    }
    taken
}
