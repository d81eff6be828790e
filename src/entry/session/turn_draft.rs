//! What a new turn would be: the contexts under which a session begins or goes on (interface §6, `Rollout` and `Instead`),
//! its mode and its title.
//!
//! Whoever has a session registered, asks for the tools of a turn or admits it asks here, so that all of them speak of
//! the same turn. What a credential may name is the context asked for; where that leads is the operator's.

use crate::catalog::{Catalog, ConversationContext, DEFAULT_CONTEXT, Mode, Newcomer};
use crate::contract::{ErrorCode, Fault, Operation, Result, UserTurn};
use crate::entry::request_context::RequestContext;
use crate::identity::{Grants, Subject};
use crate::persistence::{Contexts, Session};
use crate::ports::Platform;
use crate::users::title_of;

/// What a session begins with.
pub(super) struct FirstTurn<'c> {
    pub(super) bound: Contexts,
    /// The contexts that the first turn asked for.
    pub(super) asked: Contexts,
    /// The bound conversation context.
    pub(super) conversation: &'c ConversationContext,
    pub(super) mode: &'c Mode,
}

/// A user turn, of which is asked what it would be.
pub(super) struct TurnDraft<'c, P> {
    pub(super) platform: &'c P,
    pub(super) context: &'c RequestContext,
    pub(super) request: &'c UserTurn,
    pub(super) grants: &'c Grants,
}

impl<'c, P: Platform> TurnDraft<'c, P> {
    /// Decides for a session that does not exist yet; faults where the catalog lacks a context that the turn names, or the
    /// credential may not name it.
    pub(super) fn first(&self) -> Result<FirstTurn<'c>, Vec<Fault>> {
        let Self { platform, context, request, grants } = *self;
        let catalog = context.catalog()?;
        let asked = request.conversation_context_id.as_deref().unwrap_or(DEFAULT_CONTEXT);
        let named = request.agent_context_id.as_deref();
        let may_choose = grants.may_name_any_agent();
        let newcomer = Newcomer {
            tenant: platform.tenant().unwrap_or_default(),
            user: platform.user().map(|user| user.as_str()),
            session_id: request.session_id.as_str(),
        };
        // Whoever names an agent context has chosen.
        let is_drawn = named.is_none() || !may_choose;
        let begins = catalog.begins_under(asked, is_drawn.then_some(&newcomer));
        let begins = begins.filter(|_| grants.name_context(asked));
        let own = begins.map(|(_, conversation)| conversation.agent_context_id.as_str());
        let asked_own = catalog.agent_of(asked).or(own);
        let is_known = |id: &str| match may_choose {
            true => catalog.agent_context(id).is_some(),
            false => begins.is_some() && [own, asked_own].contains(&Some(id)),
        };
        let has_unknown_agent = named.is_some_and(|id| !is_known(id));
        let (Some((bound, conversation)), false) = (begins, has_unknown_agent) else {
            let unknown =
                [(begins.is_none(), "ConversationContext"), (has_unknown_agent, "AgentContext")];
            let unknown = unknown.into_iter().filter(|(is_unknown, _)| *is_unknown);
            return Err(unknown.map(|(_, kind)| unknown_context(kind)).collect());
        };
        let chosen = named.filter(|_| may_choose);
        let contexts = |conversation: &str, agent: Option<&str>| Contexts {
            conversation: conversation.to_owned(),
            agent: chosen.or(agent).unwrap_or_default().to_owned(),
        };
        let (bound, asked) = (contexts(bound, own), contexts(asked, asked_own));
        let mode = catalog.turn_mode(None, conversation);
        Ok(FirstTurn { bound, asked, conversation, mode })
    }

    /// `forbidden` for a turn that the credential does not permit, or for its workspace; `turn_not_found` for a turn that the
    /// credential does not name.
    pub(super) fn refuse(&self) -> Result<(), Vec<Fault>> {
        let Self { request, grants, .. } = self;
        let turn = Subject::Turn(&request.session_id, &request.turn_id);
        grants.permit(&[&[Operation::Execute]], turn)?;
        let Some(workspace) = &request.workspace_id else { return Ok(()) };
        let permitted = grants.permit(&[], Subject::Workspace(workspace));
        permitted.map_err(|fault| fault.at("/WorkspaceId").into())
    }

    /// What a session begins with; `None` where admission refuses its first turn in any case. Of an agent context that the
    /// catalog lacks, admission tells beside other faults.
    pub(super) fn permitted_first(&self) -> Option<FirstTurn<'c>> {
        let first = self.first().ok()?;
        let is_permitted = self.refuse().is_ok();
        (is_permitted && resides(self.context, &first.bound.agent)).then_some(first)
    }

    /// What a session goes on with; `None` where admission refuses its next turn for its contexts.
    pub(super) fn permitted_next(&self, session: &Session) -> Option<NextTurn<'c>> {
        let context = self.context;
        let next = NextTurn::of(context.catalog.as_ref().ok()?, session)?;
        let agent = next.new.as_ref().map_or(&session.agent_context, |new| &new.agent);
        resides(context, agent).then_some(next)
    }

    /// The title that a user's session without one gets by a turn; `None` by one whose instruction has no words.
    pub(super) fn title(&self) -> Option<String> {
        let catalog = self.context.catalog.as_ref().ok()?;
        self.platform.user().filter(|_| catalog.titles_sessions)?;
        let title = self.request.instruction.as_deref().map(title_of);
        title.filter(|title| !title.is_empty())
    }

    /// What is wrong with the contexts of a session's next turn, and with those that it names. `new` are the session's from
    /// that turn on, where they are others.
    pub(super) fn faults_of_contexts(
        &self,
        session: &Session,
        new: Option<&Contexts>,
    ) -> Result<Vec<Fault>> {
        let catalog = self.context.catalog()?;
        let mut faults = self.other_contexts(session, new, catalog);
        let agent = new.map_or(&session.agent_context, |new| &new.agent);
        let permitted = match catalog.agent_context(agent) {
            Some(agent) => self.context.refuse_elsewhere(agent),
            None => Err(unknown_context("AgentContext")),
        };
        faults.extend(permitted.err().map(|fault| fault.at("/AgentContextId")));
        Ok(faults)
    }

    /// The faults of contexts that a later turn may not name. An agent context that the credential may not name is as one that
    /// does not exist.
    fn other_contexts(
        &self,
        session: &Session,
        new: Option<&Contexts>,
        catalog: &Catalog,
    ) -> Vec<Fault> {
        let Self { request, grants, .. } = self;
        let bound = session.bound();
        let bound = new.unwrap_or(&bound);
        let mut faults = Vec::new();
        let mut refuse = |member: &str, bound: &str| {
            let problem = format!(
                "was bound to {bound} by the session's first turn. Leave it out, or start another session"
            );
            faults.push(Fault::invalid_member(member, problem));
        };
        let is_other = |given: &Option<String>, of: fn(&Contexts) -> &String| {
            let is_known = |id: &String| session.known_contexts().any(|known| of(&known) == id);
            given.as_ref().is_some_and(|id| id != of(bound) && !is_known(id))
        };
        let agent = &request.agent_context_id;
        let is_other_agent = is_other(agent, |known| &known.agent);
        // Whoever may not choose names that of a conversation context.
        let mut conversations = session.known_contexts().map(|known| known.conversation);
        let mut is_own = |id: &str| {
            catalog.agent_of(&bound.conversation) == Some(id)
                || conversations.any(|known| catalog.agent_of(&known) == Some(id))
        };
        let is_hidden =
            !grants.may_name_any_agent() && agent.as_ref().is_some_and(|id| !is_own(id));
        if is_other_agent && !is_hidden {
            refuse("AgentContextId", &bound.agent);
        }
        let conversation = &request.conversation_context_id;
        if is_other(conversation, |known| &known.conversation) {
            refuse("ConversationContextId", &bound.conversation);
        }
        if is_hidden {
            faults.push(unknown_context("AgentContext"));
        }
        faults
    }
}

/// Whether the services of an agent context are where the tenant's data has to stay.
pub(super) fn resides(context: &RequestContext, agent: &str) -> bool {
    let agent = context.catalog.as_ref().ok().and_then(|catalog| catalog.agent_context(agent));
    agent.is_none_or(|agent| context.refuse_elsewhere(agent).is_ok())
}

/// What a session's next user turn begins with.
pub(super) struct NextTurn<'c> {
    /// The contexts, where they are others than the session is bound to.
    pub(super) new: Option<Contexts>,
    pub(super) conversation: &'c ConversationContext,
    /// The session's, or what stands for it in the catalog.
    pub(super) mode: &'c Mode,
}

impl<'c> NextTurn<'c> {
    /// `None` where the catalog lacks its contexts.
    pub(super) fn of(catalog: &'c Catalog, session: &Session) -> Option<Self> {
        let (id, conversation) = catalog.goes_on_under(&session.conversation_context)?;
        let is_other = id != session.conversation_context;
        let new = is_other.then(|| Contexts {
            conversation: id.to_owned(),
            agent: conversation.agent_context_id.clone(),
        });
        let mode = catalog.turn_mode(Some(&session.mode), conversation);
        Some(Self { new, conversation, mode })
    }
}

/// The fault of a context that the catalog lacks. It does not repeat the id, which can be any text.
pub(super) fn unknown_context(kind: &str) -> Fault {
    let message =
        format!("The catalog has no {kind} of the id that the request or its session names.");
    Fault::new(ErrorCode::ContextNotFound, message).at(format!("/{kind}Id"))
}
