//! `chat {model}`: one model call with all its attempts, or the reading of a background response that such a call left.

use super::service::{name_server, provider_of};
use super::{names, number_if, text_if};
use crate::contract::Usage;
use crate::ports::TraceSpan;

/// A model call, when it begins.
pub struct Chat<'a> {
    pub model: &'a str,
    pub base_url: &'a str,
    /// The session, as it stands in traces.
    pub conversation: Option<&'a str>,
    pub previous_response_id: Option<&'a str>,
    pub reasoning_level: Option<String>,
    pub max_tokens: Option<f64>,
    /// The turn has compacted its conversation.
    pub compacted: bool,
    /// The call asks for a summary of earlier turns.
    pub summary: bool,
    /// The agent context in place of whose service it is made at another one.
    pub fallback_from: Option<&'a str>,
}

/// What became of it, as far as it has come.
pub struct ChatEnd<'a> {
    pub attempts: u32,
    /// Times that a background response was read on.
    pub resumed: u32,
    /// Of all attempts.
    pub usage: Option<Usage>,
    pub response_id: Option<&'a str>,
    /// As the service names it.
    pub response_model: Option<&'a str>,
    pub upstream_request_id: Option<&'a str>,
    /// From the beginning of the call, in milliseconds.
    pub first_chunk_ms: Option<u64>,
    /// Why the model ended its output, as the conventions name it; `None` of a call that was cut.
    pub finish: Option<&'static str>,
    /// The status or the code of the service, or what else the call failed by.
    pub error: Option<String>,
}

impl Chat<'_> {
    /// The name of the span.
    pub fn name(model: &str) -> String {
        format!("chat {model}")
    }

    /// Sets the attributes that are known when it begins.
    pub fn describe(&self, span: &impl TraceSpan) {
        span.text(names::OPERATION, "chat");
        span.text(names::PROVIDER, provider_of(self.base_url));
        span.text(names::REQUEST_MODEL, self.model);
        span.text(names::API_TYPE, "responses");
        name_server(span, self.base_url);
        span.flag(names::STREAM, true);
        text_if(span, names::REASONING_LEVEL, self.reasoning_level.as_deref());
        number_if(span, names::MAX_TOKENS, self.max_tokens);
        text_if(span, names::CONVERSATION, self.conversation);
        text_if(span, names::PREVIOUS_RESPONSE, self.previous_response_id);
        if self.compacted {
            span.flag(names::COMPACTED, true);
        }
        text_if(span, names::PURPOSE, self.summary.then_some("summary"));
        text_if(span, names::FALLBACK_FROM, self.fallback_from);
    }
}

impl ChatEnd<'_> {
    /// Sets the attributes that are known when it ends.
    pub fn describe(&self, span: &impl TraceSpan) {
        span.number(names::ATTEMPTS, self.attempts.into());
        number_if(span, names::RESUMED, (self.resumed > 0).then_some(self.resumed.into()));
        text_if(span, names::RESPONSE, self.response_id);
        text_if(span, names::RESPONSE_MODEL, self.response_model);
        text_if(span, names::UPSTREAM_REQUEST, self.upstream_request_id);
        number_if(span, names::FIRST_CHUNK, self.first_chunk_ms.map(|ms| ms as f64 / 1000.0));
        if let Some(usage) = self.usage {
            span.number(names::INPUT_TOKENS, usage.prompt_tokens as f64);
            span.number(names::OUTPUT_TOKENS, usage.completion_tokens as f64);
            span.number(names::CACHED_TOKENS, usage.cached_tokens as f64);
            span.number(names::REASONING_TOKENS, usage.reasoning_tokens as f64);
        }
        text_if(span, names::FINISH_REASONS, self.finish);
        text_if(span, names::ERROR, self.error.as_deref());
    }
}
