//! A refusal of the schema of a turn's answer, which whoever sent the turn can correct (interface §3).

use crate::contract::{ErrorCode, Fault};
use crate::llm_call::CallFailure;
use crate::reasoner::running_turn::RunningTurn;

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
