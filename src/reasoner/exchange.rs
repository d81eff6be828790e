//! One model call with its retries (interface §3; AGN-027 §3.1.3): the request is composed, sent, and
//! sent again while the failure may be temporary.
//!
//! Two retries for 408, 409, 429, 5xx and connections that failed; the service's `Retry-After` up
//! to a minute, else a backoff with jitter, as the service's own clients do.

use serde::Serialize;

use super::conversation_input::Input;
use super::live_segment::LiveSegment;
use super::turn_loop::{Reasoner, RunningTurn};
use crate::catalog::{AgentContext, Continuation};
use crate::composition::{Block, ComposedRequest, ModelRequest, compose_request};
use crate::contract::{Fault, Progress, Usage};
use crate::encoding::sha256_hex;
use crate::llm_call::{self, CallFailure, Endpoint, UsableOutput};
use crate::persistence::EntrySeq;
use crate::ports::{Database, Deployment, Platform};

/// The most calls for one request, the first included.
const MAX_CALLS: u32 = 3;

/// The longest wait that a service can ask for, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 60_000;

/// The transcript of one model call: its input by place in the conversation, its course and its cost.
/// The conversation alone holds the content.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Transcript {
    pub(super) segment: u32,
    started_at: u64,
    duration_ms: u64,
    body_sha256: String,
    body_bytes: usize,
    previous_response_id: Option<String>,
    first_entry: Option<EntrySeq>,
    last_entry: Option<EntrySeq>,
    rebuilt: bool,
    withheld: Vec<EntrySeq>,
    composition: Vec<Block>,
    pub(super) retries: Vec<Retry>,
    pub(super) response_id: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) fault: Option<Fault>,
}

/// An attempt that failed and was followed by another.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Retry {
    http_status: Option<u16>,
    waited_ms: u64,
}

/// A model call that has succeeded, or failed for good.
pub(super) struct Exchange {
    pub(super) transcript: Transcript,
    pub(super) ending: Result<UsableOutput, CallFailure>,
    /// The live text holds text of it.
    shown: bool,
    /// The live text holds the welcome message before it.
    pub(super) welcomed: bool,
}

impl Transcript {
    /// The text that is stored.
    pub(super) fn to_json(&self) -> Result<String, Fault> {
        serde_json::to_string(self).map_err(|_| Fault::unwritable("The transcript"))
    }
}

impl<P: Platform, D: Database> Reasoner<P, D> {
    /// Composes the request and makes the call, with retries.
    pub(super) async fn exchange(
        &self,
        running: &RunningTurn<'_>,
        input: &Input,
    ) -> Result<Exchange, Fault> {
        let mut composed = self.compose(running, input)?;
        let (body_sha256, body_bytes) = (sha256_hex(composed.body.as_bytes()), composed.body.len());
        let started_at = self.platform.now_ms();
        let platform = self.platform.as_ref();
        let endpoint = endpoint(platform, &self.deployment, running.agent);
        let segment = running.turn.progress.next_segment;
        let mut live = LiveSegment::new(running.live_text, segment, self.welcome(running));
        let mut retries = Vec::new();
        let mut attempts = 0;
        let ending = loop {
            attempts += 1;
            // The body can be long, so nobody keeps it while the response is read.
            let body = std::mem::take(&mut composed.body);
            let ending = llm_call::call(platform, &endpoint, body, &mut live).await;
            let Err(failure) = &ending else { break ending };
            let wait = wait_ms(failure, attempts, platform.random())
                // A wait past the turn's deadline would replace the real failure by a timeout.
                .filter(|wait| platform.now_ms().saturating_add(*wait) < running.deadline_ms);
            let Some(waited_ms) = wait else { break ending };
            retries.push(Retry { http_status: failure.http_status(), waited_ms });
            self.step(running, Progress::Retry { after_ms: waited_ms });
            platform.sleep(waited_ms).await;
            composed = self.compose(running, input)?;
        };
        let duration_ms = self.since(started_at);
        let mut report = self.report.borrow_mut();
        report.timings.model += duration_ms;
        report.retries += attempts - 1;
        drop(report);
        let transcript = Transcript {
            segment: live.segment,
            started_at,
            duration_ms,
            body_sha256,
            body_bytes,
            previous_response_id: input.previous_response_id.clone(),
            first_entry: input.entries.first().map(|entry| entry.seq),
            last_entry: input.entries.last().map(|entry| entry.seq),
            rebuilt: input.rebuilt,
            withheld: input.withheld.clone(),
            composition: composed.trace,
            retries,
            response_id: None,
            usage: None,
            fault: None,
        };
        Ok(Exchange { transcript, ending, shown: live.shown, welcomed: live.welcomed })
    }

    /// Makes a failed call again with another input, and discards the text that the failed call has
    /// shown.
    pub(super) async fn exchange_again(
        &self,
        running: &mut RunningTurn<'_>,
        failed: &Exchange,
        input: &Input,
    ) -> Result<Exchange, Fault> {
        if failed.shown {
            running.live_text.discard(failed.transcript.segment);
            running.turn.progress.next_segment = failed.transcript.segment + 1;
        }
        self.exchange(running, input).await
    }

    /// The welcome message of a mode that was entered in this turn.
    pub(super) fn welcome(&self, running: &RunningTurn<'_>) -> Option<&str> {
        let mode = self.catalog.mode(running.turn.progress.welcome.as_ref()?)?;
        Some(mode.welcome_message.as_str()).filter(|text| !text.is_empty())
    }

    fn compose(&self, running: &RunningTurn<'_>, input: &Input) -> Result<ComposedRequest, Fault> {
        let since = self.platform.now_ms();
        let items = input.items()?;
        let mode = self.catalog.mode(&running.session.mode);
        let resend = running.agent.resend_tools
            || input.previous_response_id.is_none()
            || running.session.tools_sent.as_ref() != Some(&running.turn.tools)
            // The service refuses a choice among tools that the request does not hold.
            || running.turn.progress.tool_choice.is_some();
        let composed = compose_request(&ModelRequest {
            model: running
                .conversation
                .model
                .as_deref()
                .or(running.agent.model.as_deref())
                .unwrap_or(&self.deployment.model),
            instructions: mode.map_or("", |mode| &mode.instructions),
            input: items.iter().map(AsRef::as_ref).collect(),
            tools: resend.then_some(&running.tools),
            tool_choice: running.turn.progress.tool_choice.as_deref(),
            previous_response_id: input.previous_response_id.as_deref(),
            store: running.agent.continuation == Continuation::Stored,
        });
        self.report.borrow_mut().timings.compose += self.since(since);
        composed
    }
}

/// The address and the key of an agent context's model service: the catalog's, or else the
/// deployment's.
pub(super) fn endpoint<P: Platform>(
    platform: &P,
    deployment: &Deployment,
    agent: &AgentContext,
) -> Endpoint {
    Endpoint {
        base_url: agent.base_url.clone().unwrap_or_else(|| deployment.base_url.clone()),
        api_key: agent.api_key_secret.as_deref().and_then(|name| platform.secret(name)),
        idle_timeout_ms: deployment.upstream_idle_timeout_ms,
        delta_interval_ms: deployment.delta_interval_ms,
    }
}

/// The wait before the next attempt; `None` when there is none. `random` is in `[0, 1)`.
fn wait_ms(failure: &CallFailure, attempts_made: u32, random: f64) -> Option<u64> {
    if attempts_made >= MAX_CALLS || !failure.retryable() {
        return None;
    }
    if let Some(asked) = failure.retry_after_ms().filter(|ms| *ms <= MAX_RETRY_AFTER_MS) {
        return Some(asked);
    }
    let full = 500_u64 << attempts_made.saturating_sub(1).min(4);
    // 75 to 100 per cent of it, so that sessions that failed at the same moment retry at different ones.
    Some((full as f64 * (1.0 - 0.25 * random)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm_call::{Cause, Refusal};
    use crate::responses_api::ErrorBody;

    fn refused(status: u16, retry_after_ms: Option<u64>, code: Option<&str>) -> CallFailure {
        let body = ErrorBody { code: code.map(str::to_owned), ..ErrorBody::default() };
        Cause::Refused(Box::new(Refusal { status, body, retry_after_ms, is_final: false })).into()
    }

    #[test]
    fn what_can_pass_is_tried_twice_again_with_growing_waits() {
        for failure in [
            Cause::Unreachable.into(),
            refused(408, None, None),
            refused(409, None, None),
            refused(429, None, None),
            refused(500, None, None),
            refused(503, None, None),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0), Some(500));
            assert_eq!(wait_ms(&failure, 2, 0.0), Some(1000));
            assert_eq!(wait_ms(&failure, 2, 0.999), Some(750));
            assert_eq!(wait_ms(&failure, 3, 0.0), None);
        }
    }

    #[test]
    fn the_service_s_own_wait_is_honoured_up_to_a_minute() {
        assert_eq!(wait_ms(&refused(429, Some(60_000), None), 1, 0.0), Some(60_000));
        assert_eq!(wait_ms(&refused(429, Some(0), None), 1, 0.0), Some(0));
        assert_eq!(wait_ms(&refused(429, Some(60_001), None), 1, 0.0), Some(500));
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        for failure in [
            refused(400, None, None),
            refused(401, Some(1), None),
            refused(404, None, None),
            refused(429, Some(1), Some("insufficient_quota")),
            Cause::Silent { after_ms: 1 }.into(),
            Cause::BrokenOff.into(),
            Cause::Incomplete { reason: None }.into(),
        ] {
            assert_eq!(wait_ms(&failure, 1, 0.0), None, "{failure:?}");
        }
    }
}
