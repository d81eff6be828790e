//! Reading `Approval`: whether a human is asked before a server-side tool runs (interface §12).
//!
//! The rule is the same for a server tool and for each pattern of an MCP server.

use serde::{Deserialize, Serialize};

use super::findings::Findings;
use super::values::{CHOICE_BYTES, choice, filled_prose, flag, word};
use crate::encoding::{closed_list, sparse_object};
use crate::json::{Node, declared_object};

closed_list! {
    /// Who may decide on a call.
    #[derive(Default)]
    pub enum Approvers {
        /// Whoever may answer.
        #[default]
        Anyone = "Anyone",
        /// Somebody who acts with a ticket, and is not its user.
        Actor = "Actor",
        /// An API key.
        Key = "Key",
    }
}

const WHEN: [(&str, bool); 2] = [("Never", false), ("Always", true)];

/// The name under which a client is asked for its user's approval. No tool may have it.
pub const APPROVE_TOOL: &str = "agent_approve_tool";

sparse_object! {
    /// How a human is asked before a call of a tool runs. A tool that runs unasked has none. A turn's tool list
    /// stores it as JSON.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    pub struct Approval {
        /// Whether the human may change the arguments. Default `false`.
        pub allow_edit: bool,
        /// What the human reads beside the call; never blank.
        pub message?: Option<String>,
        /// Who may decide. Default: whoever may answer.
        pub by?: Approvers,
    }
}

/// The object of a rule.
#[derive(Default)]
pub(super) struct ApprovalRule {
    is_asked: bool,
    approval: Approval,
}

declared_object! {
    ApprovalRule by Findings {
        "When" required => is_asked = choice(WHEN),
        /// Whether the human may change the arguments. They are checked against Parameters, as far as docs/approvals.md
        /// says.
        "AllowEdit" => approval.allow_edit = flag(),
        /// What the human reads beside the call.
        "Message" => approval.message = filled_prose(CHOICE_BYTES),
        /// Who may decide: whoever may answer; somebody who is not the user and has asked for nothing of the turn, with a
        /// ticket that names an Actor; or an API key.
        "By" => approval.by = word(Approvers::ALL),
    }
}

/// Reads `"Always"`, `"Never"` or `{When, AllowEdit, Message}`. `Never` gives `None`.
pub(super) fn approval(node: Node<'_, '_>, findings: &mut Findings) -> Option<Approval> {
    let ApprovalRule { is_asked, approval } = match node.is_object() {
        true => ApprovalRule::read(node, findings),
        false => ApprovalRule { is_asked: choice(node, WHEN, findings), ..Default::default() },
    };
    is_asked.then_some(approval)
}
