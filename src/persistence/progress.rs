//! How far a turn has come, as its row keeps it: one JSON document, from which any instance goes on with the turn.

use serde::{Deserialize, Serialize};

use super::other_contexts::ContextChange;
use super::window::{CompactionRecord, Window};
use crate::contract::{CallerRecord, CatalogStamp, RagScope, TraceContext, Usage, Warning};
use crate::encoding::sparse_object;
use crate::files::OutputFile;

sparse_object! {
    /// What the reasoner needs to continue a turn, besides conversation and calls. A new member needs a default, so that
    /// older rows stay readable.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TurnProgress {
        /// The turn and its continuations are delivered as a stream.
        pub streaming: bool,
        /// Number of the latest submission.
        pub submission: u32,
        /// Model calls of this turn that gave an output.
        pub model_calls: u32,
        /// Model calls of the latest submission that gave an output.
        pub iterations: u32,
        /// Number of the segment that the next model call writes. It grows with every attempt, so that
        /// watchers never take the text of a lost attempt for that of another.
        pub next_segment: u32,
        /// Sent on the turn's first model call only.
        pub tool_choice: Option<String>,
        /// The text beside the calls that the model made last, with its segment.
        #[serde(rename = "said_with_calls")]
        pub text_with_calls: Option<(u32, String)>,
        /// Hash of the client tools that the turn's request brought, which its first model output latches.
        pub received_tools?: Option<String>,
        /// The schema of the turn's answer, where its request brought one. Every model call of the turn sends it.
        pub output_schema?: Option<StoredSchema>,
        /// Hash of the solution context that the turn's request brought, empty where it brought an empty one.
        pub solution_context?: Option<String>,
        /// Key of the mode whose welcome message stands before the final text.
        pub welcome: Option<String>,
        /// The session went on under another conversation context with this turn.
        pub context_changed?: Option<ContextChange>,
        /// The model has changed the mode in this turn.
        pub mode_changed?: bool,
        /// Sum over the turn's model calls.
        pub usage: Option<Usage>,
        /// For the final response.
        pub user_warnings: Vec<String>,
        /// For the `InvokeResult`.
        pub warnings: Vec<Warning>,
        /// Files that server tools and the model made, for the final response.
        pub files: Vec<OutputFile>,
        /// Who sent the latest submission.
        pub caller?: CallerRecord,
        /// The catalog that the latest submission runs under, or ran under last.
        pub catalog?: Option<CatalogStamp>,
        /// The numbers of the submissions that held decisions alone.
        pub decisions?: Vec<u32>,
        /// The most tokens of the turn, where a client's ticket says so.
        pub turn_tokens?: Option<u64>,
        /// Scheme and authority of the client's URL, with which links to files begin.
        pub origin: String,
        /// The model's text when the turn was aborted.
        pub text_so_far: Option<String>,
        /// The retrieval that the turn's message still waits for.
        pub retrieval?: Option<PendingRetrieval>,
        /// The compactions of this turn, oldest first.
        pub compactions?: Vec<CompactionRecord>,
        /// What calls sent of the conversation before the first of them.
        pub window_before?: Option<Window>,
        /// The agent context whose model service the turn fell back to, from the first call on that is stored of it.
        pub service?: Option<String>,
        /// The background response that the turn's model call is reading.
        pub pending?: Option<PendingResponse>,
        /// How many steers the turn has taken, and how far they are.
        pub steers?: SteerCounts,
        pub trace?: TurnTrace,
        /// The usage when the latest submission began, unless it was none.
        pub usage_before?: Option<Usage>,
        pub spent?: Spent,
    }
}

impl TurnProgress {
    /// Counts the model calls of a submission, or of another attempt at it, anew.
    pub(super) fn restart_iterations(&mut self) {
        self.iterations = 0;
        self.steers.iterations_before = 0;
    }

    /// Notes that a segment was shown: the next model call writes a later one.
    pub(crate) fn pass_segment(&mut self, segment: u32) {
        self.next_segment = self.next_segment.max(segment.saturating_add(1));
    }

    /// Model calls that gave an output since the newest submission or delivered steer.
    pub fn iterations_of_latest_words(&self) -> u32 {
        self.iterations.saturating_sub(self.steers.iterations_before)
    }

    /// Counts for another submission from here on.
    pub(crate) fn begin_counts(&mut self) {
        self.usage_before = self.usage;
        self.spent = Spent::default();
    }

    /// The same for a submission that has failed and was sent again.
    pub(super) fn begin_counts_again(&mut self, now_ms: u64) {
        self.begin_counts();
        self.spent.again_at = now_ms;
    }
}

/// The schema of a turn's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSchema {
    pub name: String,
    /// Hash of its JSON text.
    pub schema: String,
}

/// A retrieval that is still to be made: what is asked, and the place of its chunks in the stored
/// message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingRetrieval {
    /// The workspace that is searched.
    pub workspace_id: String,
    /// The user's own words.
    pub query: String,
    pub rag_scope: Option<RagScope>,
    /// Advisory.
    pub repo: Option<String>,
    /// Advisory.
    pub language: Option<String>,
    /// The number of chunks that the message already has.
    pub chunks: usize,
    /// The number of blocks of the composition trace up to there.
    pub blocks: usize,
}

/// A response that goes on at the model service, whether it is read or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingResponse {
    pub response_id: String,
    /// The agent context whose model service makes it; `None` for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// When the service named it, in milliseconds since the epoch.
    pub created_at: u64,
    /// The instances that were lost while they read it.
    pub resumptions: u32,
    /// The number of the newest entry of the conversation at that time: a conversation that has grown since does not
    /// take the response.
    pub newest_entry: u64,
    /// Attempts of its call, before it and behind it, whose response has no id, as far as nobody has counted them.
    pub unknown_responses: u64,
    /// The transcript of its call as far as the call had come, JSON.
    pub transcript: String,
}

/// How far the steers of a turn are, by their numbers: a step of them takes all of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SteerCounts {
    /// Steers that were accepted.
    pub accepted: u32,
    /// Steers that are in the conversation.
    pub placed: u32,
    /// Steers that a model call of the turn has taken.
    pub delivered: u32,
    /// Model calls of the latest submission that gave an output before the newest delivery.
    pub iterations_before: u32,
    /// The bytes of all that were accepted.
    pub accepted_bytes: u64,
    /// The bytes of those that a model call of the turn has taken.
    pub delivered_bytes: u64,
}

impl SteerCounts {
    /// The bytes of those that no model call of the turn has taken.
    pub(crate) fn undelivered_bytes(&self) -> u64 {
        self.accepted_bytes.saturating_sub(self.delivered_bytes)
    }
}

impl TurnTrace {
    /// Notes the place in its client's trace of a request about the turn, where the request names one.
    pub(crate) fn note_caller(&mut self, caller: Option<&TraceContext>) {
        self.caller = caller.cloned().or(self.caller.take());
    }
}

sparse_object! {
    /// Where a turn stands in traces. A new member needs a default, so that older rows stay readable.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TurnTrace {
        /// The place in its client's trace of the newest request about the turn that named one.
        pub caller?: Option<TraceContext>,
        /// The trace of its latest run, where the runtime told it.
        pub id?: Option<String>,
    }

    /// What the latest submission has taken, of all its runs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Spent {
        /// Model calls, those that failed or were cut included.
        pub model_calls?: u64,
        /// Calls of tools that this service ran.
        pub tool_calls?: u64,
        /// The time of the model calls, in milliseconds.
        pub model_ms?: u64,
        /// The time of those tools, in milliseconds.
        pub tools_ms?: u64,
        /// When a submission that had failed was sent again, in milliseconds since the epoch.
        pub again_at?: u64,
    }
}
