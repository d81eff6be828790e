//! A call that the model made, and the approval that it may need: the question to a human, and the decision
//! (interface §12).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::contract::ToolResult;
use crate::contract::closed_list;
use crate::encoding::sparse_object;

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

/// Names the calls of one model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCalls {
    /// Ordinal of the turn.
    pub turn: u64,
    /// The model call within the turn.
    pub model_call: u32,
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

sparse_object! {
    /// The question whether a call may run, as it was put when the model made the call, and the decision.
    /// Its JSON is that of the column and of the export.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct CallApproval {
        /// The human may change the arguments.
        pub allow_edit: bool,
        /// What the human reads beside the call.
        pub message?: Option<String>,
        /// The number of the last earlier question about the call, whose decision a fork has left behind; 0 where there was
        /// none.
        pub asked_before?: u32,
        /// `None` until a human has decided.
        pub decision?: Option<Decision>,
        /// The `Id` of the key that sent the decision.
        pub decided_by?: Option<String>,
        /// Milliseconds from the pause to the decision.
        pub waited_ms?: Option<u64>,
        /// The human's arguments in place of the model's: JSON text.
        pub arguments_json?: Option<String>,
    }
}

/// The id of the first question about a call.
pub fn question_id(tool_call_id: &str) -> String {
    format!("{PREFIX}{tool_call_id}")
}

/// The id of the question of that number about a call, counted from 0.
fn numbered_question_id(tool_call_id: &str, number: u32) -> String {
    match number {
        0 => question_id(tool_call_id),
        number => format!("{PREFIX}{tool_call_id}.{number}"),
    }
}

/// The ids of all questions about a call: who has answered one of them has not answered another.
fn question_ids(tool_call_id: &str, approval: &CallApproval) -> impl Iterator<Item = String> {
    (0..=approval.asked_before).map(|number| numbered_question_id(tool_call_id, number))
}

impl Call {
    /// Whether it waits for a human's decision.
    pub fn is_undecided(&self) -> bool {
        let is_open = |approval: &CallApproval| approval.decision.is_none();
        self.result.is_none() && self.approval.as_ref().is_some_and(is_open)
    }

    /// Whether a human has let it run, and no result of that run is known.
    pub fn is_approved_without_result(&self) -> bool {
        let is_approved = |approval: &CallApproval| approval.decision == Some(Decision::Approved);
        self.result.is_none() && self.approval.as_ref().is_some_and(is_approved)
    }

    /// Whether a server tool may have got it: its turn may have run it, or the turn that a fork has copied.
    pub fn may_have_begun(&self) -> bool {
        let was_asked = |approval: &CallApproval| approval.asked_before > 0;
        self.runs_on == RunsOn::Server
            && (!self.is_undecided() || self.approval.as_ref().is_some_and(was_asked))
    }

    /// Whether the server has still to run it, and nobody is asked before.
    pub fn awaits_server(&self) -> bool {
        self.runs_on == RunsOn::Server && self.result.is_none() && !self.is_undecided()
    }

    /// Whether it and the next call of its response run at once; `is_parallel` says of a tool, by its name, whether calls of
    /// it may. Whatever stands between two calls parts them.
    pub fn runs_beside(&self, next: &Self, is_parallel: impl Fn(&str) -> bool) -> bool {
        let may = |call: &Self| {
            call.runs_on == RunsOn::Server && call.approval.is_none() && is_parallel(&call.name)
        };
        self.model_call == next.model_call && may(self) && may(next)
    }

    /// Takes the decision back: the question is to be put anew, under an id that none of the `taken` is, so that no
    /// answer to an earlier question answers it.
    pub(super) fn ask_anew(&mut self, taken: &BTreeSet<String>) {
        let Some(approval) = &mut self.approval else { return };
        let is_free =
            |number: &u32| !taken.contains(&numbered_question_id(&self.tool_call_id, *number));
        approval.asked_before =
            (approval.asked_before.saturating_add(1)..).find(is_free).unwrap_or(u32::MAX);
        approval.decision = None;
        approval.decided_by = None;
        approval.waited_ms = None;
        approval.arguments_json = None;
    }

    /// Whether it waits for the client.
    pub fn is_pending(&self) -> bool {
        self.is_undecided() || self.runs_on == RunsOn::Client && self.result.is_none()
    }

    /// The id under which the client is or was asked for it; `None` where it never was.
    pub fn client_id(&self) -> Option<String> {
        match &self.approval {
            Some(approval) => Some(numbered_question_id(&self.tool_call_id, approval.asked_before)),
            None => (self.runs_on == RunsOn::Client).then(|| self.tool_call_id.clone()),
        }
    }

    /// The ids that it takes within its turn: its own one, and those of the questions about it.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        let questions =
            self.approval.iter().flat_map(|approval| question_ids(&self.tool_call_id, approval));
        std::iter::once(self.tool_call_id.clone()).chain(questions)
    }

    /// The arguments with which it runs: the model's, unless a human changed them.
    pub fn arguments_to_run(&self) -> &str {
        let changed = self.approval.as_ref().and_then(|approval| approval.arguments_json.as_ref());
        changed.unwrap_or(&self.arguments)
    }
}
