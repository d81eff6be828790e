//! The request for a ticket after its validation (interface §13).

use super::identifiers::TurnId;
use super::operation::Operation;
use super::user_id::UserId;

/// The request for a ticket. A member that is absent is inherited where a ticket narrows itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TicketRequest {
    pub user: Option<UserId>,
    /// Who uses the ticket, where that is not the user.
    pub actor: Option<UserId>,
    /// Sessions by their ids; one `*` at the end stands for any rest.
    pub sessions: Option<Vec<String>>,
    pub turns: Option<Vec<TurnId>>,
    pub operations: Option<Vec<Operation>>,
    pub workspaces: Option<Vec<String>>,
    /// Conversation contexts that a session's first turn may name.
    pub contexts: Option<Vec<String>>,
    /// The most tokens of a turn.
    pub turn_tokens: Option<u64>,
    /// Origins of the pages that may use the ticket.
    pub origins: Option<Vec<String>>,
    /// How long it is valid, 10 to 3,600 seconds.
    pub expires_in_s: Option<u64>,
}
