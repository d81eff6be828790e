//! The outputs of tool calls as the model reads them, and the texts that stand where a tool gave no
//! result. The service wants an output for each call, whatever became of the tool.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::contract::{Fault, ToolOutcome};
use crate::responses_api::function_call_output;

/// Why a call has no result of its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoResult<'a> {
    /// The turn offers no tool of that name.
    UnknownTool(&'a str),
    /// The client is given JSON or nothing.
    MalformedArguments,
    /// The call was still open when nobody waited for it any more.
    GivenUp {
        /// A server tool may have been at work.
        may_have_run: bool,
        /// What ended the wait.
        why: GivenUp,
    },
    /// The model service refused the result as input.
    Refused,
}

/// What ended the wait for a tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// The client cancelled the turn.
    Cancelled,
    /// The turn ended otherwise, and a new one begins.
    Ended,
    /// The turn is resumed after another turn.
    Overtaken,
}

/// The outcome that stands in the place of a result.
pub(crate) fn stand_in(missing: NoResult<'_>) -> ToolOutcome {
    ToolOutcome::Error(match missing {
        NoResult::UnknownTool(name) => format!("There is no tool {name}. Use an offered one."),
        NoResult::MalformedArguments => {
            "The arguments are not valid JSON. Write the call again.".to_owned()
        }
        NoResult::GivenUp { may_have_run, why } => {
            let what = if may_have_run {
                "It is not known whether the tool was executed"
            } else {
                "The tool was not executed"
            };
            let why = match why {
                GivenUp::Cancelled => "the turn was cancelled",
                GivenUp::Ended => "the turn that asked for it has ended",
                GivenUp::Overtaken => "another turn came in between",
            };
            format!("{what}: {why}.")
        }
        NoResult::Refused => "The model service refused the tool's result.".to_owned(),
    })
}

/// The outputs of calls, each given by the model's id for it and its outcome: a JSON array of
/// `function_call_output`, in the order given.
pub fn tool_outputs<'a>(
    outcomes: impl IntoIterator<Item = (&'a str, &'a ToolOutcome)>,
) -> Result<String, Fault> {
    let outputs: Result<Vec<_>, Fault> =
        outcomes.into_iter().map(|(call_id, outcome)| output(call_id, outcome)).collect();
    serde_json::to_string(&outputs?).map_err(|_| Fault::unwritable("A tool output"))
}

/// The output that replaces one which the model service refused.
pub(crate) fn refused_output(refused: &RawValue) -> Result<Box<RawValue>, Fault> {
    #[derive(Deserialize)]
    struct Output {
        call_id: String,
    }
    let Output { call_id } = serde_json::from_str(refused.get())
        .map_err(|_| Fault::internal("A stored tool output is unreadable."))?;
    output(&call_id, &stand_in(NoResult::Refused))
}

/// A result goes out as it is, an error as `{"error":"…"}`.
fn output(call_id: &str, outcome: &ToolOutcome) -> Result<Box<RawValue>, Fault> {
    let written = match outcome {
        ToolOutcome::Result(json) => function_call_output(call_id, json),
        ToolOutcome::Error(message) => {
            function_call_output(call_id, &json!({ "error": message }).to_string())
        }
    };
    written.map_err(|_| Fault::unwritable("A tool output"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_the_result_as_it_is_and_an_error_as_an_object() {
        for (outcome, text) in [
            (ToolOutcome::Result("[ 1.0 ]".to_owned()), "[ 1.0 ]"),
            (ToolOutcome::Error("a \"b\"\n".to_owned()), r#"{"error":"a \"b\"\n"}"#),
        ] {
            assert_eq!(
                tool_outputs([("c", &outcome)]).unwrap(),
                format!(
                    r#"[{{"type":"function_call_output","call_id":"c","output":{}}}]"#,
                    serde_json::to_string(text).unwrap()
                )
            );
        }
    }
}
