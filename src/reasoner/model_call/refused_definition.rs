//! Refusals that whoever sent the turn can correct (interface §3): of a tool, by its name and its place in `ToolsJson` where
//! the turn's request brought it, and of the schema of the turn's answer.

use serde::de::IgnoredAny;

use crate::contract::{ErrorCode, Fault, Result};
use crate::llm_call::CallFailure;
use crate::persistence::SessionStore;
use crate::ports::Database;
use crate::reasoner::running_turn::RunningTurn;
use crate::responses_api::RefusedTool;

/// A tool that the model service refused.
pub(super) struct NamedTool {
    name: String,
    /// Whether the client runs it.
    is_client_s: bool,
    /// Its place in the request's `ToolsJson`.
    place: Option<usize>,
}

impl NamedTool {
    /// The tool that a failure names; `None` when it names none that the turn offers.
    pub(super) fn of<D: Database>(
        store: &SessionStore<D>,
        running: &RunningTurn<'_>,
        failure: &CallFailure,
    ) -> Result<Option<Self>> {
        let tools = &running.tools.0;
        let tool = match failure.refused_tool() {
            None => None,
            Some(RefusedTool::At(place)) => tools.get(place),
            Some(RefusedTool::Named(name)) => tools.iter().find(|tool| tool.name == name),
        };
        let Some(tool) = tool else { return Ok(None) };
        let mut place = None;
        let is_client_s = !tool.on_server && !tool.hosted;
        if let Some(received) = running.turn.progress.received_tools.as_ref()
            && is_client_s
        {
            let received: Vec<(String, IgnoredAny)> = serde_json::from_str(&store.text(received)?)
                .map_err(|_| Fault::internal("The turn's client tools are unreadable."))?;
            place = received.iter().position(|(name, _)| *name == tool.name);
        }
        Ok(Some(Self { name: tool.name.clone(), is_client_s, place }))
    }

    /// Takes the client tools away from the session, where the refused tool is one of them: a service may refuse what it
    /// took before, as after a change of the model, and would refuse every later turn.
    pub(super) fn unlatch(&self, running: &mut RunningTurn<'_>) {
        let RunningTurn { session, turn, .. } = running;
        let offered = turn.progress.received_tools.as_ref().or(session.client_tools.as_ref());
        if self.is_client_s && offered.is_some() && offered == session.client_tools.as_ref() {
            session.client_tools = None;
            session.state.untaken_tools_turn = turn.ordinal;
        }
    }

    /// The failure's fault, with the tool.
    pub(super) fn named_in(self, mut fault: Fault) -> Fault {
        let Self { name, place, .. } = self;
        if let Some(place) = place {
            fault.message = format!(
                "The model service refused tools[{place}], {name}. Correct its definition."
            );
            fault = fault.at("/ToolsJson");
        }
        fault.with("Tool", name)
    }
}

impl RunningTurn<'_> {
    /// Whether a call has failed because the service does not take the schema of the turn's answer.
    pub(super) fn refuses_schema(&self, failure: &CallFailure) -> bool {
        self.output_format.as_ref().is_some_and(|format| failure.refused_schema(&format.name))
    }
}

/// The fault of such a call, at the schema's place in the request, whether it was refused over HTTP or inside the stream.
pub(super) fn at_schema(fault: Fault) -> Fault {
    let message = "The model service refused the schema of the answer. Correct OutputSchema.";
    let code = ErrorCode::UpstreamRejected;
    Fault { code, message: message.to_owned(), ..fault }.at("/OutputSchema")
}
