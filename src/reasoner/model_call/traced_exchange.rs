//! A model call inside of its span: with all its attempts, or the reading of a response that was left. The span's
//! attributes are what the transcript records, also of a call that is cut in its middle.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::{Pin, pin};

use serde_json::value::RawValue;

use super::exchange::{Exchange, ModelCall};
use super::transcript::Transcript;
use crate::contract::{Fault, Result};
use crate::json::{first_member, text_of};
use crate::llm_call::{CallFailure, UsableOutput};
use crate::persistence::PendingResponse;
use crate::ports::{Database, Platform, within};
use crate::reasoner::running_turn::{Reasoner, RunningTurn, StepSpan};
use crate::tracing::{Chat, ChatEnd, note_error};

/// The span of a call that has not come to its end. A call that is cut leaves its transcript with the reasoner.
struct OpenChat<'a, P: Platform, D> {
    reasoner: &'a Reasoner<P, D>,
    span: StepSpan<'a, P::Span>,
}

impl<P: Platform, D> OpenChat<'_, P, D> {
    /// Makes the call inside of its span; without one, as it is.
    async fn around(
        chat: Option<Self>,
        call: Pin<&mut impl Future<Output = Result<Exchange>>>,
    ) -> Result<Exchange> {
        let span = chat.as_ref().and_then(|chat| chat.span.open());
        let made = within(span, call).await;
        if let Some(span) = span {
            match &made {
                Ok(Exchange { transcript, ending, .. }) => {
                    end_of(transcript, Some(ending)).describe(span);
                }
                Err(fault) => note_error(span, fault.code.as_str()),
            }
        }
        made
    }
}

impl<P: Platform, D> Drop for OpenChat<'_, P, D> {
    fn drop(&mut self) {
        let under_way = self.reasoner.run.under_way.borrow();
        if let (Some(span), Some(transcript)) = (self.span.open(), under_way.as_ref()) {
            end_of(transcript, None).describe(span);
        }
    }
}

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Makes a call with its retries, inside of a span where the run is traced.
    pub(crate) async fn exchange(
        &self,
        running: &RunningTurn<'_>,
        call: ModelCall<'_>,
    ) -> Result<Exchange> {
        let request = &call.request;
        self.note_call(running, request.model, request.parameters.text_is_json);
        let (previous, summary) = (request.previous_response_id, request.own_item.is_some());
        let member = |name: &str| request.parameters.member(name);
        let chat = self.open_chat(running, request.model, previous, summary, member);
        OpenChat::around(chat, pin!(self.exchange_with_retries(running, call))).await
    }

    /// Reads the response on that a call has left, inside of a span where the run is traced.
    pub(super) async fn resumed_exchange(
        &self,
        running: &RunningTurn<'_>,
        pending: &PendingResponse,
        transcript: Transcript,
    ) -> Result<Exchange> {
        // The catalog may name another model by now.
        let template = self.store.text(&transcript.template)?;
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(&template).map_err(|_| unreadable_template())?;
        let model = members.get("model").and_then(|json| serde_json::from_str(json.get()).ok());
        let model: String = model.ok_or_else(unreadable_template)?;
        self.note_call(running, &model, self.parameters(running).text_is_json);
        let previous = transcript.previous_response_id.as_deref();
        let member = |name: &str| members.get(name).copied();
        let chat = self.open_chat(running, &model, previous, transcript.summary, member);
        OpenChat::around(chat, pin!(self.read_again(running, pending, transcript))).await
    }

    /// Notes for the run's span and its data point what is called.
    fn note_call(&self, running: &RunningTurn<'_>, model: &str, text_is_json: bool) {
        let mut report = self.run.report.borrow_mut();
        // The run is that of the model that answers.
        report.model.take_if(|_| running.services.fallback().is_some());
        report.model.get_or_insert_with(|| model.to_owned());
        report.text_is_json |= text_is_json;
    }

    /// Opens the span of a call; `None` where nobody listens. `member` gives a member of the call's body by its name.
    fn open_chat<'r>(
        &self,
        running: &RunningTurn<'_>,
        model: &str,
        previous_response_id: Option<&str>,
        summary: bool,
        member: impl Fn(&str) -> Option<&'r RawValue>,
    ) -> Option<OpenChat<'_, P, D>> {
        let span = self.step_span(|| Chat::name(model));
        let open = span.open()?;
        let base_url = running.service().base_url.as_deref().unwrap_or(&self.deployment.base_url);
        let (user, id) = (self.platform.user(), running.session.session_id.as_str());
        let session = self.traced_id(user, id);
        let chat = Chat {
            model,
            base_url,
            conversation: session.as_deref(),
            previous_response_id,
            reasoning_level: member("reasoning").and_then(effort_in),
            max_tokens: member("max_output_tokens").and_then(|json| json.get().parse().ok()),
            compacted: !running.turn.progress.compactions.is_empty(),
            summary,
            fallback_from: running.services.fallback_from(),
        };
        chat.describe(open);
        Some(OpenChat { reasoner: self, span })
    }
}

fn effort_in(reasoning: &RawValue) -> Option<String> {
    first_member(reasoning.get(), "effort").and_then(text_of).map(Cow::into_owned)
}

fn unreadable_template() -> Fault {
    Fault::internal("The template of a pending model call is unreadable.")
}

fn end_of<'t>(
    transcript: &'t Transcript,
    ending: Option<&Result<UsableOutput, CallFailure>>,
) -> ChatEnd<'t> {
    let failure = ending.and_then(|ending| ending.as_ref().err());
    ChatEnd {
        attempts: transcript.attempts_at_service(),
        resumed: transcript.resumed,
        usage: transcript.cost_at_service(),
        response_id: transcript.response_id.as_deref(),
        response_model: transcript.response_model.as_deref(),
        upstream_request_id: transcript.upstream_request_id.as_deref(),
        first_chunk_ms: transcript.first_chunk_ms,
        finish: ending.map(finish_of),
        error: failure.map(CallFailure::error_type),
    }
}

fn finish_of(ending: &Result<UsableOutput, CallFailure>) -> &'static str {
    match ending {
        Err(_) => "error",
        Ok(UsableOutput { cut_off: Some(reason), .. }) if reason == "content_filter" => {
            "content_filter"
        }
        Ok(UsableOutput { cut_off: Some(_), .. }) => "length",
        Ok(UsableOutput { output, .. }) if !output.calls.is_empty() => "tool_calls",
        Ok(_) => "stop",
    }
}
