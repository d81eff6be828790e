//! A model call inside of its span, with all its attempts. The span's attributes are what the transcript records, also of
//! a call that is cut in its middle.

use serde::Deserialize;

use super::exchange::{Exchange, ModelCall};
use super::transcript::Transcript;
use crate::composition::ModelRequest;
use crate::contract::Fault;
use crate::llm_call::{CallFailure, UsableOutput};
use crate::ports::{Database, Platform, TraceSpan, within};
use crate::reasoner::running_turn::{Reasoner, RunningTurn, StepSpan};
use crate::tracing::{Chat, ChatEnd, FinishReason, note_error};

/// The span of a call that has not come to its end. A call that is cut leaves its transcript with the reasoner.
struct OpenChat<'a, P: Platform, D> {
    reasoner: &'a Reasoner<P, D>,
    span: StepSpan<'a, P::Span>,
}

impl<P: Platform, D> Drop for OpenChat<'_, P, D> {
    fn drop(&mut self) {
        let under_way = self.reasoner.under_way.borrow();
        if let (Some(span), Some(transcript)) = (self.span.open(), under_way.as_ref()) {
            end_of(transcript, None).describe(span);
        }
    }
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Makes a call with its retries, inside of a span where the run is traced.
    pub(in crate::reasoner) async fn exchange(
        &self,
        running: &RunningTurn<'_>,
        call: ModelCall<'_>,
    ) -> Result<Exchange, Fault> {
        let request = &call.request;
        self.report.borrow_mut().model.get_or_insert_with(|| request.model.to_owned());
        let span = self.step_span(|| Chat::name(request.model));
        let Some(span) = span.open().is_some().then_some(span) else {
            return self.exchange_with_retries(running, call).await;
        };
        let chat = OpenChat { reasoner: self, span };
        if let Some(span) = chat.span.open() {
            self.describe_call(span, running, request);
        }
        let made = within(chat.span.open(), self.exchange_with_retries(running, call)).await;
        if let Some(span) = chat.span.open() {
            match &made {
                Ok(Exchange { transcript, ending, .. }) => {
                    end_of(transcript, Some(ending)).describe(span);
                }
                Err(fault) => note_error(span, fault.code.as_str()),
            }
        }
        made
    }

    fn describe_call(
        &self,
        span: &impl TraceSpan,
        running: &RunningTurn<'_>,
        request: &ModelRequest<'_>,
    ) {
        #[derive(Deserialize)]
        struct Reasoning {
            effort: Option<String>,
        }
        let parameters = &request.parameters;
        let reasoning = parameters.member("reasoning");
        let reasoning =
            reasoning.and_then(|json| serde_json::from_str::<Reasoning>(json.get()).ok());
        let max_tokens = parameters.member("max_output_tokens");
        let base_url = running.agent.base_url.as_deref().unwrap_or(&self.deployment.base_url);
        self.report.borrow_mut().text_is_json |= parameters.text_is_json;
        let chat = Chat {
            model: request.model,
            base_url,
            previous_response_id: request.previous_response_id,
            reasoning_level: reasoning.and_then(|reasoning| reasoning.effort),
            max_tokens: max_tokens.and_then(|json| json.get().parse().ok()),
            compacted: !running.turn.progress.compactions.is_empty(),
            summary: request.own_item.is_some(),
        };
        chat.describe(span);
    }
}

fn end_of<'t>(
    transcript: &'t Transcript,
    ending: Option<&Result<UsableOutput, CallFailure>>,
) -> ChatEnd<'t> {
    let failure = ending.and_then(|ending| ending.as_ref().err());
    ChatEnd {
        attempts: transcript.attempts(),
        usage: transcript.cost(),
        response_id: transcript.response_id.as_deref(),
        response_model: transcript.response_model.as_deref(),
        upstream_request_id: transcript.upstream_request_id.as_deref(),
        first_chunk_ms: transcript.first_chunk_ms,
        finish: ending.map(finish_of),
        error: failure.map(CallFailure::error_type),
    }
}

fn finish_of(ending: &Result<UsableOutput, CallFailure>) -> FinishReason {
    match ending {
        Err(_) => FinishReason::Error,
        Ok(UsableOutput { cut_off: Some(reason), .. }) if reason == "content_filter" => {
            FinishReason::ContentFilter
        }
        Ok(UsableOutput { cut_off: Some(_), .. }) => FinishReason::Length,
        Ok(UsableOutput { output, .. }) if !output.calls.is_empty() => FinishReason::ToolCalls,
        Ok(_) => FinishReason::Stop,
    }
}
