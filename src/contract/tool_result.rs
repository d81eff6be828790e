//! The result of one tool call, in requests and in responses (AGN-033 §5.2, AGN-034 §5).
//!
//! It owns the rule that a result has exactly one of `ResultJson` and `ErrorMessage`: no other state
//! can be represented.

use serde::{Deserialize, Serialize};

/// The result of one tool call: `ToolCallId`, `ExecutionMs`, and `ResultJson` or `ErrorMessage`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct ToolResult {
    /// The id of its call.
    pub tool_call_id: String,
    /// The running time of the tool, in milliseconds.
    pub execution_ms: u64,
    /// Its value, or the reason why it has none.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

/// The value of a tool call, or its failure: a tool that fails still gives a valid result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolOutcome {
    /// `ResultJson`: the result as JSON text.
    #[serde(rename = "ResultJson")]
    Result(String),
    /// `ErrorMessage`: the reason why there is no result; never empty.
    #[serde(rename = "ErrorMessage")]
    Error(String),
}

impl ToolOutcome {
    /// Whether the tool returned a result.
    pub fn is_result(&self) -> bool {
        match self {
            Self::Result(_) => true,
            Self::Error(_) => false,
        }
    }

    /// The result's JSON text, or the reason.
    pub fn text(&self) -> &str {
        match self {
            Self::Result(text) | Self::Error(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_written_and_read_in_the_wire_shape() {
        for (outcome, json) in [
            (
                ToolOutcome::Result("{\"a\":1}".into()),
                r#"{"ToolCallId":"c1","ExecutionMs":7,"ResultJson":"{\"a\":1}"}"#,
            ),
            (
                ToolOutcome::Error("gone".into()),
                r#"{"ToolCallId":"c1","ExecutionMs":7,"ErrorMessage":"gone"}"#,
            ),
        ] {
            let result = ToolResult { tool_call_id: "c1".into(), execution_ms: 7, outcome };
            assert_eq!(serde_json::to_string(&result).unwrap(), json);
            assert_eq!(serde_json::from_str::<ToolResult>(json).unwrap(), result);
        }
    }

    #[test]
    fn a_result_with_both_or_neither_outcome_is_not_read() {
        for json in [
            r#"{"ToolCallId":"c1","ExecutionMs":7}"#,
            r#"{"ToolCallId":"c1","ExecutionMs":7,"ResultJson":"1","ErrorMessage":"x"}"#,
        ] {
            assert!(serde_json::from_str::<ToolResult>(json).is_err(), "{json}");
        }
    }
}
