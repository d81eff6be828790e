//! Reading `Approval`: whether a human is asked before a server-side tool runs (interface §12).
//!
//! The rule is the same for a server tool and for each pattern of an MCP server.

use serde::{Deserialize, Serialize};

use super::findings::Findings;
use super::values::{CHOICE_BYTES, choice, filled_prose, flag};
use crate::json::{Node, ObjectShape};

const APPROVAL: ObjectShape = ObjectShape::new(&["When", "AllowEdit", "Message"], &["When"]);

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
}

/// Reads `"Always"`, `"Never"` or `{When, AllowEdit, Message}`. `Never` gives `None`.
pub(super) fn approval(node: Node<'_, '_>, findings: &mut Findings) -> Option<Approval> {
    let (mut asked, mut approval) = (false, Approval::default());
    if node.is_object() {
        APPROVAL.read(node, findings, |member, node, findings| match member {
            "When" => asked = is_asked(node, findings),
            "AllowEdit" => approval.allow_edit = flag(node, findings),
            "Message" => approval.message = Some(filled_prose(node, CHOICE_BYTES, findings)),
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
