//! The tools of MCP servers for a turn that is about to begin (interface §11).

use futures_util::FutureExt;

use super::session_host::SessionHost;
use super::turn_draft::TurnDraft;
use crate::contract::{ExecuteRequest, Result};
use crate::entry::request_context::{IsolateSettings, RequestContext};
use crate::identity::Grants;
use crate::mcp::ToolsByServer;
use crate::ports::{Database, Platform};

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// The tools of the MCP servers that a submission's turn names, where the submission begins one. They are
    /// fetched before the turn is admitted, because admission never awaits.
    pub(super) async fn mcp_tools(
        &self,
        source: &IsolateSettings,
        context: &RequestContext,
        request: &ExecuteRequest,
        grants: &Grants,
    ) -> ToolsByServer {
        let mut tools = ToolsByServer::new();
        let (ExecuteRequest::UserTurn(turn), Ok(catalog)) = (request, &context.catalog) else {
            return tools;
        };
        let draft = TurnDraft { platform: self.platform.as_ref(), context, request: turn, grants };
        // Another turn may change the mode meanwhile.
        loop {
            // Admission reports a fault of the storage.
            let keys = self.servers_of(&draft).unwrap_or_default();
            if keys.iter().all(|key| tools.iter().any(|(known, _)| known == key)) {
                return tools;
            }
            let lists = &source.tool_lists;
            tools = lists.tools_of(self.platform.as_ref(), catalog, &keys).boxed_local().await;
        }
    }

    /// The keys of the MCP servers whose tools a new turn names; none for a turn that is not new, must wait, or is refused
    /// in any case.
    fn servers_of(&self, draft: &TurnDraft<'_, P>) -> Result<Vec<String>> {
        let (context, turn) = (draft.context, draft.request);
        let catalog = context.catalog()?;
        if draft.refuse().is_err() {
            return Ok(Vec::new());
        }
        let session = self.store.session()?;
        let drafted = match &session {
            // Admission looks at them, too, for the tool that a turn chooses whose contexts it refuses, and says all that is
            // wrong at once.
            Some(session) => draft
                .permitted_next(session)
                .filter(|next| {
                    let faults = || draft.faults_of_contexts(session, next.new.as_ref());
                    turn.tool_choice_name.is_some()
                        || faults().is_ok_and(|faults| faults.is_empty())
                })
                .map(|next| (next.mode, next.conversation)),
            None => draft.permitted_first().map(|first| (first.mode, first.conversation)),
        };
        let Some((mode, conversation)) = drafted else { return Ok(Vec::new()) };
        let mut keys = catalog.named_servers(mode, conversation);
        if let Some(session) = session.filter(|_| !keys.is_empty()) {
            let is_beyond = || self.next_ordinal(context).is_err();
            let waits = session.open_turn.is_some();
            if waits || self.store.turn(&turn.turn_id)?.is_some() || is_beyond() {
                keys.clear();
            }
        }
        Ok(keys)
    }
}
