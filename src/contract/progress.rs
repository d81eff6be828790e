//! The step of a running turn, for a client that asks for progress (interface §2, Delivery): live only,
//! never replayed, and no part of the result.

use serde::Serialize;

/// The data of one `progress` event.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "Kind", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum Progress<'a> {
    /// The submission's next model call begins.
    ModelCall {
        /// From 1.
        iteration: u32,
    },
    /// A piece of the reasoning's summary.
    Reasoning {
        /// Pieces add up to the summary.
        text: &'a str,
    },
    /// A piece of the model's commentary.
    Commentary {
        /// Pieces add up to the commentary.
        text: &'a str,
    },
    /// A server tool begins or ends.
    ServerTool {
        tool_call_id: &'a str,
        name: &'a str,
        /// Whether it begins or has ended.
        state: ToolState,
        /// Whether it gave a result rather than an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        successful: Option<bool>,
        /// The time that it took.
        #[serde(skip_serializing_if = "Option::is_none")]
        execution_ms: Option<u64>,
    },
    /// The session is in another mode.
    Mode {
        /// The mode as clients see it.
        mode_display_name: &'a str,
    },
    /// A model call failed, and is made again or read on.
    Retry {
        /// The wait before it.
        after_ms: u64,
        /// How often the call's background response has been read on; absent where the call is made again.
        #[serde(skip_serializing_if = "Option::is_none")]
        resumed: Option<u32>,
        /// Whether another model service takes the call over.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        fallback: bool,
    },
    /// The conversation is being compacted.
    Compaction,
    /// A steer was accepted, or a model call takes it.
    Steer { steer_id: &'a str, state: SteerStep },
}

impl Progress<'_> {
    /// A model call is made again at the same service, after a wait.
    pub fn again(after_ms: u64) -> Self {
        Self::Retry { after_ms, resumed: None, fallback: false }
    }
}

/// How far a steer is.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SteerStep {
    Accepted,
    /// It is in the conversation, and the next model call sends it.
    Delivered,
}

/// How far a server tool is.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    Started,
    /// It has a result, or has failed.
    Finished,
}
