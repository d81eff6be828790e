//! The transcript of one model call: what its body was made of, its course and its cost. The body can be built
//! again from it, byte for byte; the content itself stands in the conversation and in kept texts.
//!
//! Architecture Invariant: the tokens of a call are counted from its transcript and nowhere else, so
//! that turn, session, log and trace agree.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::sent_entries::SentEntries;
use crate::contract::{Fault, Result, Usage, json_text};
use crate::encoding::sparse_object;
use crate::persistence::{ChainEnd, EntrySeq, PendingResponse, Rung, Session, Turn};
use crate::responses_api::{HostedCall, ResponseFacts};

sparse_object! {
    /// The transcript of one model call.
    #[derive(Clone, Debug, Default, Deserialize, Serialize)]
    #[serde(rename_all = "PascalCase")]
    pub(crate) struct Transcript {
        /// The call asked for a summary of earlier turns.
        pub(crate) summary?: bool,
        /// Counted over the session, from 1: turns that are repeated take their calls between those of others.
        pub(crate) number: u64,
        /// Key of the mode in which the call was made.
        pub(crate) mode: String,
        pub(crate) segment: u32,
        pub(crate) started_at: u64,
        pub(crate) duration_ms: u64,
        pub(crate) body_sha256: String,
        pub(crate) body_bytes: usize,
        /// Hash of what the body has in common with others: a body without input and the next three members.
        pub(crate) template: String,
        /// The agent context whose model service was called, where others can take over from the first.
        pub(crate) service?: Option<String>,
        /// The body holds the turn's tools.
        pub(crate) tools_sent: bool,
        /// Of those, none that the model service runs by itself.
        pub(crate) without_hosted_tools?: bool,
        pub(crate) tool_choice?: Option<String>,
        pub(crate) previous_response_id: Option<String>,
        /// The entries of the conversation that are its input.
        pub(crate) input: Vec<SentEntries>,
        /// Hash of the one item that is its input, of a call for a summary.
        pub(crate) summarised?: Option<String>,
        pub(crate) rebuilt: bool,
        /// The service keeps no chain of the session, so the call sends the whole conversation.
        pub(crate) unchained?: Option<ChainEnd>,
        /// How far the conversation is reduced in it, because the service refused more.
        pub(crate) reduced?: Option<Rung>,
        /// The response holds a call that nobody answers, so no call continues it.
        pub(crate) unanswered?: bool,
        pub(crate) withheld: Vec<EntrySeq>,
        pub(crate) composition: Box<RawValue>,
        /// The model service was asked to store the responses.
        pub(crate) stored: bool,
        /// The response was asked for in the background.
        pub(crate) background?: bool,
        /// What the agent context asks for and the service has refused.
        pub(crate) unsupported?: Option<Cow<'static, str>>,
        /// How often the response was read on, after a cut or by another instance.
        pub(crate) resumed?: u32,
        /// Calls of tools that the model service ran by itself.
        #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
        pub(crate) hosted_calls: Vec<HostedCall>,
        pub(crate) retries: Vec<Retry>,
        /// Of the last attempt, whatever became of the response.
        pub(crate) response_id: Option<String>,
        /// Of the last attempt.
        pub(crate) usage: Option<Usage>,
        #[serde(skip_deserializing)]
        pub(crate) fault: Option<Fault>,
        /// A steer has interrupted the call, whose output is no part of the conversation.
        pub(crate) interrupted?: bool,
        unwritten {
            /// The attempt was sent, and the service may store a response whose id is not known yet.
            pub(crate) awaits_id: bool,
            /// Somebody is to use that id: who reads the response on, or deletes it with the session.
            pub(crate) uses_id: bool,
            /// The attempt's request was sent, and neither the service nor the network has ended the attempt.
            pub(crate) in_flight: bool,
            /// The prompt tokens of its usage are estimated.
            pub(crate) prompt_is_estimated: bool,
            /// The bytes of text and calls that have come of the attempt.
            pub(crate) heard_bytes: usize,
            /// The number of earlier attempts that ended while the service might store a response.
            pub(crate) unknown_responses: u64,
            /// As the service names it.
            pub(crate) response_model: Option<String>,
            /// The service's id for the latest attempt.
            pub(crate) upstream_request_id: Option<String>,
            /// From the call's beginning to the first event of a response; unknown where nobody traces the run.
            pub(crate) first_chunk_ms: Option<u64>,
            /// Another service can take the call over, as far as its failure goes.
            pub(crate) moves_on: bool,
            /// The run has counted the call.
            pub(crate) counted: bool,
            /// The attempt's background response, as long as it may go on at the service.
            pub(crate) goes_on: Option<GoingResponse>,
        }
    }
}

/// A background response that may go on at the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoingResponse {
    pub(crate) id: String,
    /// When the service named it, in milliseconds since the epoch.
    pub(crate) created_at: u64,
}

sparse_object! {
    /// An attempt that failed and was followed by another.
    #[derive(Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "PascalCase")]
    pub(crate) struct Retry {
        /// The agent context whose model service was called, as in the transcript.
        service?: Option<String>,
        http_status: Option<u16>,
        waited_ms: u64,
        pub(super) response_id?: Option<String>,
        usage?: Option<Usage>,
    }
}

impl Transcript {
    /// Notes what the service has reported about the attempt's response.
    pub(crate) fn set_report(&mut self, reported: &ResponseFacts) {
        self.response_id.clone_from(&reported.response_id);
        self.awaits_id &= self.response_id.is_none();
        self.usage = reported.usage;
        self.response_model.clone_from(&reported.model);
    }

    /// Begins another attempt, some time after one that failed.
    pub(crate) fn repeat(&mut self, http_status: Option<u16>, waited_ms: u64) {
        let (response_id, usage) = (self.response_id.take(), self.usage.take());
        let service = self.service.clone();
        self.retries.push(Retry { service, http_status, waited_ms, response_id, usage });
        self.unknown_responses += u64::from(std::mem::take(&mut self.awaits_id));
        (self.goes_on, self.in_flight, self.heard_bytes) = (None, false, 0);
    }

    /// What is kept of the attempt's background response.
    pub(crate) fn pending(
        &self,
        going: &GoingResponse,
        newest_entry: EntrySeq,
    ) -> Result<PendingResponse> {
        Ok(PendingResponse {
            response_id: going.id.clone(),
            service: self.service.clone(),
            created_at: going.created_at,
            resumptions: 0,
            newest_entry: newest_entry.0,
            unknown_responses: self.unknown_responses,
            transcript: self.to_json()?,
        })
    }

    /// The transcript of a pending response's call.
    pub(crate) fn of_pending(pending: &PendingResponse) -> Result<Self> {
        let read: Self = serde_json::from_str(&pending.transcript).map_err(|_| {
            Fault::internal("The transcript of a pending model call is unreadable.")
        })?;
        let (id, created_at) = (pending.response_id.clone(), pending.created_at);
        let goes_on = Some(GoingResponse { id, created_at });
        let unknown_responses = pending.unknown_responses;
        Ok(Self { goes_on, unknown_responses, in_flight: true, ..read })
    }

    /// The calls made so far.
    pub(crate) fn attempts(&self) -> u32 {
        u32::try_from(self.retries.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Those among them that were made at the same service as the last.
    pub(crate) fn attempts_at_service(&self) -> u32 {
        let here = self.retries.iter().filter(|retry| retry.service == self.service);
        u32::try_from(here.count()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// What all attempts have cost; `None` when none reported any.
    pub(crate) fn cost(&self) -> Option<Usage> {
        self.usages().reduce(Usage::saturating_add)
    }

    /// The same of the attempts at the service of the last one.
    pub(crate) fn cost_at_service(&self) -> Option<Usage> {
        let here = self.retries.iter().filter(|retry| retry.service == self.service);
        let usages = here.map(|retry| retry.usage).chain([self.usage]);
        usages.flatten().reduce(Usage::saturating_add)
    }

    /// Tokens of all attempts.
    pub(crate) fn total_tokens(&self) -> u64 {
        self.usages().fold(0, |sum, usage| sum.saturating_add(usage.total_tokens))
    }

    /// Adds what the call has cost to its turn and its session.
    pub(crate) fn count(&self, session: &mut Session, turn: &mut Turn) {
        let (state, sum) = (&mut session.state, &mut turn.progress.usage);
        state.model_calls = state.model_calls.max(self.number);
        let unknown = self.unknown_responses + u64::from(self.awaits_id);
        state.unknown_responses = state.unknown_responses.saturating_add(unknown);
        for usage in self.usages() {
            *sum = Some(sum.unwrap_or_default().saturating_add(usage));
            state.total_tokens = state.total_tokens.saturating_add(usage.total_tokens);
            // Some services report zeros until a response is complete.
            if usage.prompt_tokens > 0
                && !(usage.estimated && self.prompt_is_estimated)
                && !self.summary
            {
                state.context_tokens = Some(usage.prompt_tokens);
                state.window_moved = false;
            }
        }
    }

    /// The text that is stored.
    pub(crate) fn to_json(&self) -> Result<String> {
        json_text("The transcript", self)
    }

    fn usages(&self) -> impl Iterator<Item = Usage> {
        self.retries.iter().map(|retry| retry.usage).chain([self.usage]).flatten()
    }
}
