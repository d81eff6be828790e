//! `POST /sessions/{SessionId}/fork` in the parent's object: it decides which turn is the last one of the fork, and waits
//! for the new session's object.

use super::super::session_host::{SessionHost, find_session, find_turn};
use super::super::turn_draft::unknown_context;
use super::questions::{ForkQuestion, ForkReply};
use crate::contract::{
    ErrorCode, Fault, ForkRequest, Operation, Result, SessionId, TurnId, parse_fork, shown,
};
use crate::entry::other_version::unanswered;
use crate::entry::request::{ArrivingBody, RequestHead, received_at};
use crate::entry::request_context::RequestContext;
use crate::entry::response::{Response, object_failed};
use crate::identity::{Grants, Subject};
use crate::object::ask;
use crate::persistence::{ForkPlan, Session};
use crate::ports::{Database, Platform, object_name};

shown! {
    /// The result of `POST …/fork`.
    struct ForkResult {
        session_id: SessionId,
        parent_session_id: SessionId,
        after_turn_id: TurnId,
        /// Their number.
        turns: u64,
    }
}

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Reads the request, has the new session's object build the fork, and waits until it is whole. Where the parent
    /// cannot be forked any more, a fork that was made before still answers. A refusal writes nothing.
    pub(crate) async fn receive_fork<S>(
        &self,
        context: &RequestContext,
        head: &RequestHead<'_>,
        body: impl ArrivingBody,
        parent: SessionId,
        grants: &Grants,
    ) -> Result<Response<S>, Vec<Fault>> {
        let request = parse_fork(&body.await.map_err(|_| object_failed())?)?;
        self.refuse_revoked(grants)?;
        grants.permit(&[&[Operation::Execute]], Subject::Session(&request.session_id))?;
        let at_ms = received_at(head, self.platform.as_ref());
        let planned = self.plan_fork(context, &parent, &request, grants, at_ms);
        let refused = planned.as_ref().err().cloned();
        let new = request.session_id.clone();
        if new == parent {
            return Err(refused.unwrap_or_else(session_exists).into());
        }
        let tenant = self.platform.tenant().ok_or_else(object_failed)?;
        let object = object_name(tenant, self.platform.user(), new.as_str());
        let plan = planned.ok();
        let counted = plan.as_ref().filter(|plan| plan.issued_at.is_some());
        let bytes = counted.map(|plan| self.store.fork_bytes(plan.turns)).transpose()?;
        let question = ForkQuestion { parent: parent.clone(), request, plan, bytes };
        let reply = ask(self.platform.as_ref(), &object, &question).await;
        match (reply.map_err(|fault| unanswered(&fault, object_failed()))?, refused) {
            (ForkReply::Forked { after_turn_id, turns, replayed }, _) => {
                let (session_id, parent_session_id) = (new, parent);
                let result = ForkResult { session_id, parent_session_id, after_turn_id, turns };
                Ok(Response::accepted(201, &result, replayed))
            }
            (ForkReply::Failed { fault }, _) => Err(fault.into()),
            (ForkReply::Exists | ForkReply::Absent, Some(refused)) => Err(refused.into()),
            (ForkReply::Exists, None) => Err(session_exists().into()),
            (ForkReply::Absent, None) => Err(object_failed().into()),
        }
    }

    /// The turn that a request names, and the session as it is now.
    fn plan_fork(
        &self,
        context: &RequestContext,
        parent: &SessionId,
        request: &ForkRequest,
        grants: &Grants,
        received_at: u64,
    ) -> Result<ForkPlan> {
        self.recover(context)?;
        let session = find_session(&self.store, parent)?;
        let live = session.open_turn;
        let turn = match &request.after_turn_id {
            Some(turn) => find_turn(&self.store, turn)?.ordinal,
            None => {
                let newest = self.store.newest_ordinal()?;
                if live == Some(newest) { newest.saturating_sub(1).max(1) } else { newest }
            }
        };
        refuse_context(context, &session, turn, request, grants)?;
        if let Some(live) = live.filter(|live| *live <= turn) {
            return Err(turn_not_ended(&self.store.turn_at(live)?.turn_id));
        }
        Ok(ForkPlan {
            parent: session.session_id,
            created_at: session.created_at,
            turn_id: self.store.turn_at(turn)?.turn_id,
            turns: turn,
            mode: session.mode,
            title: session.state.title,
            request: request.clone(),
            issued_at: grants.issued_at,
            received_at,
        })
    }
}

/// `context_not_found` where the fork would go on under a context that the catalog lacks or the credential does not permit,
/// or whose services are not in the tenant's jurisdiction.
fn refuse_context(
    context: &RequestContext,
    session: &Session,
    turn: u64,
    request: &ForkRequest,
    grants: &Grants,
) -> Result<()> {
    let unknown = || unknown_context("ConversationContext");
    let named = request.conversation_context_id.as_ref();
    let asked = session.asked_conversation().unwrap_or_else(|| session.bound().conversation);
    if !grants.name_context(named.unwrap_or(&asked)) {
        return Err(unknown());
    }
    let catalog = context.catalog()?;
    let bound = session.contexts_of_turn(turn);
    let goes_on = catalog.goes_on_under(named.unwrap_or(&bound.conversation));
    let (id, conversation) = goes_on.ok_or_else(unknown)?;
    // The context that the parent had at that turn keeps the agent context of then.
    let agent =
        if id == bound.conversation { &bound.agent } else { &conversation.agent_context_id };
    catalog.agent_context(agent).map_or(Ok(()), |agent| context.refuse_elsewhere(agent))
}

/// `session_exists`.
fn session_exists() -> Fault {
    let message =
        "There is a session of this SessionId, and it is not this fork. Use a new SessionId.";
    Fault::new(ErrorCode::SessionExists, message).at("/SessionId")
}

/// `turn_not_ended`.
pub(super) fn turn_not_ended(turn: &TurnId) -> Fault {
    let message = "A turn that the fork would have runs, or waits for its client. Wait for its end or cancel it, or fork an earlier turn.";
    Fault::new(ErrorCode::TurnNotEnded, message).with("TurnId", turn.as_str())
}
