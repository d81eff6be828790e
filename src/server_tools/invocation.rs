//! A call of a server tool.

use crate::contract::{SessionId, TurnId};

/// A call of a server tool, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct ToolInvocation<'a> {
    /// The session.
    pub session_id: &'a SessionId,
    /// The turn.
    pub turn_id: &'a TurnId,
    /// The model's id for the call.
    pub call_id: &'a str,
    /// Tool name.
    pub name: &'a str,
    /// JSON text as the model wrote it.
    pub arguments: &'a str,
}
