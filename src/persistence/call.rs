//! A call that the model made, and the approval that it may need: the question to a human, and the decision
//! (interface §12).

use serde::{Deserialize, Serialize};

use crate::contract::ToolResult;
use crate::contract::closed_list;

/// What the question's id has before the call's.
const PREFIX: &str = "apr_";

closed_list! {
    /// Who runs a call.
    pub enum RunsOn {
        Server = "server",
        Client = "client",
        /// Nobody: the call cannot be run, and its result says why.
        Nobody = "nobody",
    }
}

/// A call that the model made. Its JSON is that of the export.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Call {
    /// The model call of the turn that made it, from 0.
    pub model_call: u32,
    /// Its place among that model call's calls, from 0.
    #[serde(skip)]
    pub position: u32,
    /// The model's id for it.
    pub call_id: String,
    /// The id that clients and tools know it by: no other call of the turn has it, and no question about one.
    pub tool_call_id: String,
    pub name: String,
    /// JSON text as the model wrote it.
    #[serde(rename = "ArgumentsJson")]
    pub arguments: String,
    pub runs_on: RunsOn,
    /// The question to a human; `None` where nobody is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<CallApproval>,
    /// `None` while the call is open.
    #[serde(rename = "Answer", skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
}

closed_list! {
    /// A human's decision about a call.
    pub enum Decision {
        /// The call runs.
        Approved = "approved",
        /// The call never runs.
        Refused = "refused",
    }
}

/// A call that a human refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// Tool name.
    pub name: String,
    /// JSON text as the model wrote it.
    pub arguments: String,
}

/// The question whether a call may run, as it was put when the model made the call, and the decision.
/// Its JSON is that of the column and of the export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CallApproval {
    /// The human may change the arguments.
    pub allow_edit: bool,
    /// What the human reads beside the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `None` until a human has decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The `Id` of the key that sent the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Milliseconds from the pause to the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// The human's arguments in place of the model's: JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_json: Option<String>,
}

/// The id of the question about a call.
pub fn question_id(tool_call_id: &str) -> String {
    format!("{PREFIX}{tool_call_id}")
}

impl Call {
    /// Whether it waits for a human's decision.
    pub fn is_undecided(&self) -> bool {
        let is_open = |approval: &CallApproval| approval.decision.is_none();
        self.result.is_none() && self.approval.as_ref().is_some_and(is_open)
    }

    /// Whether it waits for the client.
    pub fn is_pending(&self) -> bool {
        self.is_undecided() || self.runs_on == RunsOn::Client && self.result.is_none()
    }

    /// The id under which the client is or was asked for it; `None` where it never was.
    pub fn client_id(&self) -> Option<String> {
        match &self.approval {
            Some(_) => Some(question_id(&self.tool_call_id)),
            None => (self.runs_on == RunsOn::Client).then(|| self.tool_call_id.clone()),
        }
    }

    /// The ids that it takes within its turn: its own one, and that of the question about it.
    pub fn ids(&self) -> impl Iterator<Item = String> + use<> {
        let question = self.approval.is_some().then(|| question_id(&self.tool_call_id));
        std::iter::once(self.tool_call_id.clone()).chain(question)
    }

    /// The arguments with which it runs: the model's, unless a human changed them.
    pub fn arguments_to_run(&self) -> &str {
        let changed = self.approval.as_ref().and_then(|approval| approval.arguments_json.as_ref());
        changed.unwrap_or(&self.arguments)
    }
}
