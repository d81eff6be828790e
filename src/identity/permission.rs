//! Who may what (interface §13): one question, decided here. What an endpoint needs says its row of the table of endpoints;
//! what only a body says, whoever reads the body asks for.
//!
//! A key is asked for its rights, and nothing of a session or of a turn is closed to it but a decision that the
//! operator leaves to an actor. A ticket or a provider's token is asked for its operations, and for the sessions, turns
//! and workspaces that it names.

use super::caller::{Caller, Credential};
use super::grants::{ForwardedCaller, Grants};
use super::rights::{Right, Rights};
use crate::catalog::Approvers;
use crate::contract::{
    ErrorCode, Fault, Operation, Result, SessionId, TurnId, no_session, no_turn,
};

/// What a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The right of a key. Acting for a user takes `ActAs`, beside any but `Sessions`, which is for the tenant's own.
    pub key: Right,
    /// A right of a key that is enough by itself, whoever the user.
    pub instead: Option<Right>,
    pub ticket: TicketNeeds,
}

/// What a caller with a ticket or a provider's token needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketNeeds {
    /// An API key.
    Key,
    /// Of each list one operation.
    Operations(&'static [&'static [Operation]]),
    /// A ticket, whatever it permits. A token is none.
    Ticket,
}

/// What a caller would do something to.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// Nothing that a credential names.
    Nothing,
    /// All sessions of a user.
    Sessions,
    /// All of a session.
    Session(&'a SessionId),
    /// A turn, of which its session's object learns.
    SomeTurn(&'a SessionId),
    Turn(&'a SessionId, &'a TurnId),
    Workspace(&'a str),
}

impl Needs {
    /// Of each list one operation; of a key what reaches the session.
    pub const fn operations(lists: &'static [&'static [Operation]]) -> Self {
        Self { key: Right::Sessions, instead: None, ticket: TicketNeeds::Operations(lists) }
    }

    /// A key with this right.
    pub const fn key(right: Right) -> Self {
        Self { key: right, instead: None, ticket: TicketNeeds::Key }
    }
}

impl Caller {
    /// Permits what needs that, or refuses it: `forbidden` for what the credential lacks, `session_not_found` and
    /// `turn_not_found` for what it does not name.
    pub fn permit(&self, needs: &Needs, subject: Subject<'_>) -> Result<()> {
        match (&self.credential, needs.ticket) {
            (Credential::Key { may, .. }, _) => {
                if needs.instead.is_some_and(|right| may.has(right)) {
                    return Ok(());
                }
                let acts = self.user.is_some();
                let acting = acts.then_some(Right::ActAs);
                let own = (!acts || needs.key != Right::Sessions).then_some(needs.key);
                acting.into_iter().chain(own).try_for_each(|right| need(*may, right))
            }
            (
                Credential::Ticket { .. } | Credential::Provider { .. },
                TicketNeeds::Operations(of),
            ) => self.grants.permit(of, subject),
            (Credential::Ticket { .. }, TicketNeeds::Ticket) => Ok(()),
            (Credential::Ticket { .. } | Credential::Provider { .. }, _) => Err(no_key(needs.key)),
        }
    }

    /// Whether it is a key that may act for users.
    pub fn may_act(&self) -> bool {
        matches!(&self.credential, Credential::Key { may, .. } if may.has(Right::ActAs))
    }

    /// Permits a request to name a user, which only a key does. Whether it may act for one, what it asks for decides.
    pub fn permit_naming(&self) -> Result<()> {
        if self.has_key() { Ok(()) } else { Err(no_key(Right::ActAs)) }
    }
}

impl Grants {
    /// Permits what needs, of each list, one operation; none for a subject whose use is part of something permitted.
    pub fn permit(&self, lists: &[&[Operation]], subject: Subject<'_>) -> Result<()> {
        let has = |operation| self.operations.as_ref().is_none_or(|own| own.contains(operation));
        let lacking = lists.iter().find(|list| !list.iter().any(has));
        if let Some([first, ..]) = lacking {
            return Err(forbidden(*first));
        }
        let session = match subject {
            Subject::Session(id) | Subject::SomeTurn(id) | Subject::Turn(id, _) => Some(id),
            Subject::Nothing | Subject::Sessions | Subject::Workspace(_) => None,
        };
        if let Some(id) = session.filter(|id| !self.name_session(id.as_str())) {
            return Err(no_session(id));
        }
        match subject {
            Subject::Turn(_, turn) if !self.name_turn(turn) => Err(no_turn(turn)),
            Subject::Workspace(id) if !self.name_workspace(id) => {
                let message = "This credential does not permit a search in this workspace.";
                Err(lacks(message, Operation::Search.as_str()))
            }
            Subject::Sessions | Subject::Session(_) if self.turns.is_some() => {
                let message =
                    "This credential is for some turns alone, and this shows whole sessions.";
                let operation = lists.iter().copied().flatten().next();
                Err(lacks(message, operation.map_or("", |operation| operation.as_str())))
            }
            _ => Ok(()),
        }
    }
}

impl ForwardedCaller {
    /// Permits a decision on a call of a tool, which those may decide on. `has_asked` says whether the caller asked for
    /// what the turn does.
    pub fn permit_decision(
        &self,
        tool: &str,
        by: Approvers,
        has_asked: impl FnOnce() -> Result<bool>,
    ) -> Result<()> {
        self.grants.permit(&[&[Operation::Approve]], Subject::Nothing)?;
        let caller = &self.caller;
        let (may, who) = match by {
            Approvers::Anyone => return Ok(()),
            Approvers::Actor => (
                caller.key.is_none() && caller.is_other_actor() && !has_asked()?,
                "somebody else than the user and than whoever asked for it, with a ticket that names an Actor",
            ),
            Approvers::Key => (caller.key.is_some(), "the operator's side, with an API key"),
        };
        if may {
            return Ok(());
        }
        // The call waits, or its turn has failed behind an earlier decision.
        let message = format!("A call of {tool} is decided on by {who}. Nothing was changed.");
        Err(lacks(message, Operation::Approve.as_str()))
    }
}

fn forbidden(operation: Operation) -> Fault {
    let operation = operation.as_str();
    lacks(format!("This credential does not permit {operation}."), operation)
}

fn lacks(message: impl Into<String>, operation: &str) -> Fault {
    Fault::new(ErrorCode::Forbidden, message).with("Operation", operation)
}

/// `forbidden` for a key without that right.
fn need(may: Rights, right: Right) -> Result<()> {
    if may.has(right) {
        return Ok(());
    }
    let message = format!(
        "This key lacks the right {}. The operator gives it in May of its entry of API_KEYS; a key of all tenants has no other than Trace.",
        right.as_str()
    );
    Err(Fault::new(ErrorCode::Forbidden, message).with("Right", right.as_str()))
}

/// `forbidden` for anybody without a key.
fn no_key(right: Right) -> Fault {
    let message = "This takes an API key: neither a ticket nor a token permits it.";
    Fault::new(ErrorCode::Forbidden, message).with("Right", right.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::UserId;

    fn key(rights: &[Right]) -> Caller {
        Caller::with_key("acme".to_owned(), "k1".to_owned(), Rights::of(rights))
    }

    fn of_alice(caller: Caller) -> Caller {
        caller.acting_for(UserId::parse("alice").unwrap())
    }

    const EXPORT: Needs = Needs::operations(&[&[Operation::Export]]);

    #[test]
    fn a_key_does_what_its_rights_say() {
        let may = |caller: &Caller, needs| caller.permit(&needs, Subject::Nothing).is_ok();
        let minting = key(&[Right::Tickets]);
        assert!(may(&minting, Needs::key(Right::Tickets)));
        assert!(!may(&minting, EXPORT) && !may(&minting, Needs::key(Right::ActAs)));
        assert!(may(&key(&[Right::Sessions]), EXPORT));
        assert!(!may(&of_alice(key(&[Right::Sessions])), EXPORT));
        let acting = of_alice(key(&[Right::ActAs]));
        assert!(may(&acting, EXPORT), "the right to act implies theirs");
        assert!(!may(&acting, Needs::key(Right::Workspaces)));
        let grants = key(&[Right::Sessions]).grants;
        let refused = grants.permit(&[], Subject::Workspace("w")).unwrap_err();
        assert!(refused.message.contains("in this workspace"), "{refused}");
        assert_eq!(refused.details.unwrap()["Operation"], "Search");
    }

    #[test]
    fn a_ticket_does_what_its_operations_say() {
        let ticket =
            r#"{"K":"a","I":"tk","T":"acme","U":"alice","O":["Export"],"N":0,"X":0,"Y":"k1"}"#;
        let ticket = Caller::with_ticket(serde_json::from_str(ticket).unwrap());
        assert_eq!(ticket.permit(&EXPORT, Subject::Nothing), Ok(()));
        let refused = ticket.permit(&Needs::key(Right::Workspaces), Subject::Nothing).unwrap_err();
        assert_eq!(refused.details.unwrap()["Right"], "Workspaces");
        let minting = Needs { key: Right::Tickets, instead: None, ticket: TicketNeeds::Ticket };
        assert_eq!(ticket.permit(&minting, Subject::Nothing), Ok(()));
        let credential = Credential::Provider { issuer: "https://id".to_owned() };
        let token = Caller { credential, ..ticket };
        assert!(token.permit(&minting, Subject::Nothing).is_err());
    }

    #[test]
    fn of_several_operations_one_is_enough() {
        let grants = Grants { operations: Some(vec![Operation::Approve]), ..Grants::default() };
        let permit = |operations: &[Operation]| grants.permit(&[operations], Subject::Nothing);
        assert_eq!(permit(&[Operation::Answer, Operation::Approve]), Ok(()));
        let refused = permit(&[Operation::Execute, Operation::Answer]).unwrap_err();
        assert_eq!(refused.details.unwrap()["Operation"], "Execute");
        let lists: [&[Operation]; 2] = [&[Operation::Approve], &[Operation::Read]];
        assert!(grants.permit(&lists, Subject::Nothing).is_err(), "of each list one");
    }
}
