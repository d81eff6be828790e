//! The operator's report of one run of a submission: its end, its cost and where its time went. The log's line, the data
//! point and the span of a run are made of it. It holds codes and numbers, never content.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::contract::{ErrorCode, Fault, TurnStatus, Usage};
use crate::encoding::sparse_object;
use crate::live_text::Timings;
use crate::persistence::{Spent, Turn};

sparse_object! {
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub(crate) struct RunSummary {
        /// The turn's status after the run; absent when the storage failed and left the turn `running`.
        pub(crate) status: Option<TurnStatus>,
        pub(crate) code: Option<ErrorCode>,
        pub(crate) submission: u32,
        /// Runs of the submission so far, this one included.
        pub(crate) attempts: u32,
        /// What the submission has taken, of all its runs.
        #[serde(flatten, serialize_with = "counts")]
        pub(crate) spent: Spent,
        /// Model calls that failed and were made again.
        pub(crate) retries: u32,
        /// Times that another model service took a call over.
        pub(crate) fallbacks?: u32,
        /// Times that a background response was read on.
        pub(crate) resumed?: u32,
        /// Compactions of the conversation.
        pub(crate) compactions: u32,
        /// Steers that a model call has taken.
        pub(crate) steers?: u32,
        /// Model calls that a steer has interrupted.
        pub(crate) interrupts?: u32,
        /// Tokens of the submission alone.
        pub(crate) usage: Option<Usage>,
        pub(crate) timings: Timings,
        unwritten {
            /// What its earlier runs had taken.
            spent_before: Spent,
            /// When the submission, and this run of it, began, in milliseconds since the epoch.
            pub(crate) submission_began_at: u64,
            pub(super) began_at: u64,
            /// The tools that run, and since when one at least does.
            tools_under_way: u64,
            tools_since: u64,
            /// The tool that failed the turn.
            pub(crate) failed_tool: Option<String>,
            /// How the model service refused.
            pub(crate) upstream: Option<UpstreamFailure>,
            /// The model that was called.
            pub(crate) model: Option<String>,
            /// What names the catalog that the submission ran under last.
            pub(crate) catalog: String,
            /// The catalog asks the model for JSON.
            pub(crate) text_is_json: bool,
        }
    }

    /// A refusal of the model service, by what names it there.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub(crate) struct UpstreamFailure {
        status?: Option<u64>,
        code?: Option<String>,
        request_id?: Option<String>,
    }
}

impl RunSummary {
    /// Begins a run of a turn, which counts on where an earlier run of the submission has stopped.
    pub(super) fn begin(&mut self, turn: &Turn, now_ms: u64) {
        let catalog = turn.progress.catalog.as_ref();
        self.catalog = catalog.map_or_else(String::new, |catalog| catalog.sha256.clone());
        self.spent = turn.progress.spent;
        self.spent_before = turn.progress.spent;
        self.submission_began_at = turn.submission_began_at();
        self.began_at = now_ms;
    }

    /// Notes how the run has left its turn.
    pub(super) fn end(&mut self, turn: &Turn) {
        self.status = Some(turn.status);
        self.submission = turn.progress.submission;
        self.attempts = turn.attempts;
        self.usage = turn.submission_usage();
    }

    /// The report of a submission that ends outside of a run, because its instance was lost.
    pub(crate) fn lost(turn: &Turn, model: &str, fault: &Fault) -> Self {
        let mut report = Self { model: Some(model.to_owned()), ..Self::default() };
        report.begin(turn, 0);
        report.end(turn);
        report.fail(fault);
        report
    }

    /// Counts a model call that has ended. It may have begun in an earlier run.
    pub(super) fn count_model_call(&mut self, started_at: u64, now_ms: u64) {
        let since = |began_at: u64| now_ms.saturating_sub(started_at.max(began_at));
        self.spent.model_calls += 1;
        self.spent.model_ms += since(self.submission_began_at);
        self.timings.model += since(self.began_at);
    }

    pub(super) fn begin_tool(&mut self, now_ms: u64) {
        if self.tools_under_way == 0 {
            self.tools_since = now_ms;
        }
        self.tools_under_way += 1;
    }

    /// Counts tools that have ended: so many, or all that the end of the run has cut. Time in which several tools run
    /// counts once.
    pub(super) fn end_tools(&mut self, most: u64, now_ms: u64) {
        let ended = self.tools_under_way.min(most);
        self.spent.tool_calls += ended;
        self.tools_under_way -= ended;
        if ended > 0 && self.tools_under_way == 0 {
            let took = now_ms.saturating_sub(self.tools_since);
            self.spent.tools_ms += took;
            self.timings.tools += took;
        }
    }

    /// Notes what the run has failed with: its code, and the ids of what caused it.
    pub(super) fn fail(&mut self, fault: &Fault) {
        let detail = |name: &str| fault.details.as_ref().and_then(|details| details.get(name));
        let text = |name: &str| detail(name).and_then(Value::as_str).map(str::to_owned);
        self.code = Some(fault.code);
        self.failed_tool = text("ToolName");
        let status = detail("HttpStatus").and_then(Value::as_u64);
        let (code, request_id) = (text("Code"), text("RequestId"));
        let is_known = status.is_some() || code.is_some() || request_id.is_some();
        self.upstream = is_known.then_some(UpstreamFailure { status, code, request_id });
    }

    /// The model calls and tool calls of this run alone.
    pub(crate) fn own_calls(&self) -> (u64, u64) {
        let (all, before) = (&self.spent, &self.spent_before);
        let own = |all: u64, before: u64| all.saturating_sub(before);
        (own(all.model_calls, before.model_calls), own(all.tool_calls, before.tool_calls))
    }
}

/// The counts alone: times are those of the run.
fn counts<S: Serializer>(spent: &Spent, serializer: S) -> Result<S::Ok, S::Error> {
    let mut counts = serializer.serialize_map(None)?;
    counts.serialize_entry("model_calls", &spent.model_calls)?;
    counts.serialize_entry("tool_calls", &spent.tool_calls)?;
    counts.end()
}
