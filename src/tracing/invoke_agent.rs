//! `invoke_agent {ConversationContextId}`: one run of a submission. Tokens stand on the model calls alone, since
//! receivers add them up.

use super::service::provider_of;
use super::{names, number_if, text_if};
use crate::contract::{ErrorCode, TraceContext, TurnStatus};
use crate::ports::TraceSpan;

/// A run of a submission, when it begins.
pub struct AgentInvocation<'a> {
    pub tenant: &'a str,
    /// As it stands in traces.
    pub session: Option<&'a str>,
    pub conversation_context: &'a str,
    /// What names the catalog.
    pub catalog: &'a str,
    /// Of the model service.
    pub base_url: &'a str,
    pub version: &'a str,
    /// Runs of the submission, this one included.
    pub attempt: u32,
    /// How long the turn waited for the tool results that let it go on.
    pub waited_ms: Option<u64>,
}

/// What became of it.
pub struct AgentInvocationEnd<'a> {
    /// `None` when the storage failed and left the turn as it was.
    pub status: Option<TurnStatus>,
    pub error: Option<ErrorCode>,
    /// Of the first model call.
    pub model: Option<&'a str>,
    /// The catalog asks for JSON.
    pub is_json: bool,
    pub model_calls: u64,
    pub tool_calls: u64,
    /// The newest that the turn was sent. An attribute is set once, so it is set when the run ends.
    pub caller: Option<&'a TraceContext>,
}

impl AgentInvocation<'_> {
    /// The name of the span.
    pub fn name(conversation_context: &str) -> String {
        format!("invoke_agent {conversation_context}")
    }

    /// Sets the attributes that are known when it begins.
    pub fn describe(&self, span: &impl TraceSpan) {
        span.text(names::OPERATION, "invoke_agent");
        span.text(names::AGENT, self.conversation_context);
        span.text(names::PROVIDER, provider_of(self.base_url));
        span.text(names::PRODUCT_VERSION, self.version);
        span.text(names::TENANT, self.tenant);
        span.text(names::CATALOG, self.catalog);
        text_if(span, names::CONVERSATION, self.session);
        span.number(names::ATTEMPT, self.attempt.into());
        number_if(span, names::WAITED, self.waited_ms.map(|ms| ms as f64));
    }
}

impl AgentInvocationEnd<'_> {
    /// Sets the attributes that are known when it ends.
    pub fn describe(&self, span: &impl TraceSpan) {
        text_if(span, names::STATUS, self.status.map(TurnStatus::as_str));
        text_if(span, names::ERROR, self.error.map(ErrorCode::as_str));
        text_if(span, names::REQUEST_MODEL, self.model);
        span.text(names::OUTPUT_TYPE, if self.is_json { "json" } else { "text" });
        span.number(names::MODEL_CALLS, self.model_calls as f64);
        span.number(names::TOOL_CALLS, self.tool_calls as f64);
        if let Some(caller) = self.caller {
            span.text(names::CALLER_TRACE, caller.trace_id());
            span.text(names::CALLER_SPAN, caller.span_id());
        }
    }
}
