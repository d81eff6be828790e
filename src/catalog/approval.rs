//! Reading `Approval`: whether a human is asked before a server-side tool runs (interface §12).
//!
//! The rule is the same for a server tool and for each pattern of an MCP server.

use serde::{Deserialize, Serialize};

use super::findings::Findings;
use super::values::{CHOICE_BYTES, choice, filled_prose, flag};
use crate::json::{Node, ObjectShape};

const APPROVAL: ObjectShape = ObjectShape::new(&["When", "AllowEdit", "Message", "By"], &["When"]);

/// Who may decide on a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Approvers {
    /// Whoever may answer.
    #[default]
    Anyone,
    /// Somebody who acts with a ticket, and is not its user.
    Actor,
    /// An API key.
    Key,
}

impl Approvers {
    fn is_anyone(&self) -> bool {
        *self == Self::Anyone
    }
}

const APPROVERS: [(&str, Approvers); 3] =
    [("Anyone", Approvers::Anyone), ("Actor", Approvers::Actor), ("Key", Approvers::Key)];

/// The name under which a client is asked for its user's approval. No tool may have it.
pub const APPROVE_TOOL: &str = "agent_approve_tool";

/// How a human is asked before a call of a tool runs. A tool that runs unasked has none. A turn's tool list
/// stores it as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Approval {
    /// Whether the human may change the arguments. Default `false`.
    pub allow_edit: bool,
    /// What the human reads beside the call; never blank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who may decide. Default: whoever may answer.
    #[serde(default, skip_serializing_if = "Approvers::is_anyone")]
    pub by: Approvers,
}

/// Reads `"Always"`, `"Never"` or `{When, AllowEdit, Message}`. `Never` gives `None`.
pub(super) fn approval(node: Node<'_, '_>, findings: &mut Findings) -> Option<Approval> {
    let (mut asked, mut approval) = (false, Approval::default());
    if node.is_object() {
        APPROVAL.read(node, findings, |member, node, findings| match member {
            "When" => asked = is_asked(node, findings),
            "AllowEdit" => approval.allow_edit = flag(node, findings),
            "Message" => approval.message = Some(filled_prose(node, CHOICE_BYTES, findings)),
            "By" => approval.by = choice(node, APPROVERS, findings),
            _ => {}
        });
    } else {
        asked = is_asked(node, findings);
    }
    asked.then_some(approval)
}

fn is_asked(node: Node<'_, '_>, findings: &mut Findings) -> bool {
    choice(node, [("Never", false), ("Always", true)], findings)
}
