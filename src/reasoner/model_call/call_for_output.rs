//! The call for the conversation's next output: what its request is composed from, and the call again after a
//! remedy.

use super::conversation_input::Input;
use super::exchange::{Exchange, ModelCall};
use super::live_segment::LiveSegment;
use crate::catalog::{Compaction, CompactionBy};
use crate::composition::{CallParameters, ModelRequest, safety_identifier};
use crate::contract::{Result, UserId};
use crate::encoding::hashed_id;
use crate::ports::{Database, Platform};
use crate::reasoner::running_turn::{Reasoner, RunningTurn};

impl<P: Platform, D: Database + 'static> Reasoner<P, D> {
    /// Asks the model for the next output, with retries.
    pub(crate) async fn call_for_output(
        &self,
        running: &mut RunningTurn<'_>,
        input: &Input,
    ) -> Result<Exchange> {
        self.take_lease(running).await?;
        let running = &*running;
        let segment = running.turn.progress.next_segment;
        let live = LiveSegment::new(running.live_text, segment, self.welcome(running));
        let request = self.output_request(running, input);
        self.exchange(running, ModelCall { request, input, live: Some(live) }).await
    }

    /// Records a failed call and makes it again with another input. The text that the failed call has
    /// shown is discarded.
    pub(super) async fn call_again(
        &self,
        running: &mut RunningTurn<'_>,
        failed: Exchange,
        input: &Input,
    ) -> Result<Exchange> {
        let Exchange { transcript, ending, shown, .. } = failed;
        running.refused_bodies.push(transcript.body_sha256.clone());
        if shown {
            running.live_text.discard(transcript.segment);
            running.turn.progress.pass_segment(transcript.segment);
        }
        if let Err(failure) = ending {
            self.record_failure(running, transcript, failure)?;
        }
        self.call_for_output(running, input).await
    }

    /// The welcome message of a mode that was entered in this turn, unless another turn has left it since. None stands
    /// before JSON, which it would spoil.
    pub(crate) fn welcome(&self, running: &RunningTurn<'_>) -> Option<&str> {
        let entered = running.turn.progress.welcome.as_ref();
        let mode = self.catalog.mode(entered.filter(|key| **key == running.session.mode)?)?;
        Some(mode.welcome_message.as_str())
            .filter(|text| !text.is_empty() && !self.parameters(running).text_is_json)
    }

    /// The parameters of the next call.
    pub(crate) fn parameters<'a>(&'a self, running: &'a RunningTurn<'_>) -> CallParameters<'a> {
        let mode = self.catalog.mode(&running.session.mode).map(|mode| &mode.model_parameters);
        let contexts =
            [&running.service().model_parameters, &running.conversation.model_parameters];
        CallParameters::merged(contexts.into_iter().chain(mode))
            .with_format(running.output_format.as_ref())
    }

    /// The name of the model.
    pub(crate) fn model<'a>(&'a self, running: &RunningTurn<'a>) -> &'a str {
        let (of_context, of_service) = (&running.conversation.model, &running.service().model);
        // The conversation context's names one of the first service.
        let model = match running.services.fallback() {
            Some(_) => of_service.as_deref(),
            None => of_context.as_deref().or(of_service.as_deref()),
        };
        model.unwrap_or(&self.deployment.model)
    }

    pub(super) fn output_request<'a>(
        &'a self,
        running: &'a RunningTurn<'_>,
        input: &'a Input,
    ) -> ModelRequest<'a> {
        let mode = self.catalog.mode(&running.session.mode);
        let resend = running.service().resend_tools
            || input.previous_response_id.is_none()
            || running.session.tools_sent.is_none()
            || running.session.tools_sent.as_ref() != running.whole_tools()
            // The service refuses a choice among tools that the request does not hold.
            || running.turn.progress.tool_choice.is_some();
        ModelRequest {
            model: self.model(running),
            instructions: mode.map_or("", |mode| &mode.instructions),
            tools: resend.then_some(running.offered_tools()),
            tool_choice: running.turn.progress.tool_choice.as_deref(),
            previous_response_id: input.previous_response_id.as_deref(),
            store: running.is_chained(),
            background: running.asks_background(),
            wants_reasoning: running.wants_reasoning(),
            prompt_cache_key: self.prompt_cache_key(running),
            safety_identifier: self.safety_identifier(running),
            compact_threshold: match running.agent.compaction {
                Compaction { by: CompactionBy::Service, threshold, .. } => threshold,
                _ => None,
            },
            parameters: self.parameters(running),
            own_item: None,
        }
    }

    /// The key under which the service caches a session's prompts, the same for all calls of the session; `None` where
    /// the service wants none.
    fn prompt_cache_key(&self, running: &RunningTurn<'_>) -> Option<String> {
        let tenant = self.platform.tenant().filter(|_| running.service().prompt_cache_key)?;
        let user = self.platform.user().map(UserId::as_str);
        Some(hashed_id(tenant, user, running.session.session_id.as_str()))
    }

    /// What names the user to the service; `None` where the service wants none, and in a session of the tenant's own.
    pub(crate) fn safety_identifier(&self, running: &RunningTurn<'_>) -> Option<String> {
        let user = self.platform.user().filter(|_| running.service().safety_identifier)?;
        Some(safety_identifier(self.platform.tenant()?, user.as_str()))
    }
}
