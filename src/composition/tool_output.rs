//! The outputs of tool calls as the model reads them, those of calls without a result included: the service
//! requires an output for every call.

use std::borrow::Cow;

use serde_json::json;
use serde_json::value::RawValue;

use super::content_parts::content_parts;
use crate::contract::{Fault, Result, ToolOutcome, json_text};
use crate::json::{first_member, text_of};
use crate::responses_api::{ToolOutput, function_call_output};

/// Why a call has no result of its tool.
pub(crate) enum NoResult<'a> {
    UnknownTool(&'a str),
    MalformedArguments,
    /// The wait for the result ended. `may_have_run` when a server tool may have worked on the call.
    Abandoned {
        may_have_run: bool,
        why: Abandonment,
    },
    /// A human refused the call, perhaps with a reason.
    RefusedByUser(&'a str),
    /// The model service refused the result as input.
    Refused,
}

/// What ended the wait for a tool result.
#[derive(Clone, Copy)]
pub(crate) enum Abandonment {
    Cancelled,
    /// The turn ended, and a new one begins.
    Ended,
    /// The turn is resumed after another turn.
    Overtaken,
}

/// The outcome of a call that has no result.
pub(crate) fn missing_outcome(why: NoResult<'_>) -> ToolOutcome {
    ToolOutcome::Error(match why {
        NoResult::UnknownTool(name) => format!("There is no tool {name}. Use an offered one."),
        NoResult::MalformedArguments => {
            "The arguments are not valid JSON, name a member twice, or hold a number that a double cannot hold. Write the call again."
                .to_owned()
        }
        NoResult::Abandoned { may_have_run, why } => {
            let what = match may_have_run {
                true => "It is not known whether the tool was executed",
                false => "The tool was not executed",
            };
            let why = match why {
                Abandonment::Cancelled => "the turn was cancelled",
                Abandonment::Ended => "the turn that asked for it has ended",
                Abandonment::Overtaken => "another turn came in between",
            };
            format!("{what}: {why}.")
        }
        NoResult::RefusedByUser(reason) => {
            let reason = match reason.trim().trim_end_matches('.') {
                "" => String::new(),
                reason => format!(" Reason: {reason}."),
            };
            format!("The user refused this call.{reason} Do not repeat it.")
        }
        NoResult::Refused => "The model service refused the tool's result.".to_owned(),
    })
}

/// The outputs of calls, given by the model's ids and the outcomes: a JSON array of
/// `function_call_output`, in the same order.
pub fn tool_outputs<'a>(
    outcomes: impl IntoIterator<Item = (&'a str, &'a ToolOutcome)>,
) -> Result<String> {
    let outputs: Result<Vec<_>> =
        outcomes.into_iter().map(|(call_id, outcome)| output(call_id, outcome)).collect();
    json_text("A tool output", &outputs?)
}

/// The output that replaces one which the model service refused.
pub(crate) fn replacement_output(refused: &RawValue) -> Result<Box<RawValue>> {
    output(&call_id_of(refused)?, &missing_outcome(NoResult::Refused))
}

/// The model's id of a stored call, or of the call that a stored output belongs to.
pub(super) fn call_id_of(output: &RawValue) -> Result<String> {
    let id = first_member(output.get(), "call_id").and_then(text_of);
    let unreadable = || Fault::internal("A stored tool output is unreadable.");
    id.map(Cow::into_owned).ok_or_else(unreadable)
}

/// Writes a result as it is, content as such and data as text, and an error as `{"error":"…"}`.
fn output(call_id: &str, outcome: &ToolOutcome) -> Result<Box<RawValue>> {
    let written = match outcome {
        ToolOutcome::Result(json) => {
            let output = content_parts(json).map_or(ToolOutput::Text(json), ToolOutput::Content);
            function_call_output(call_id, output)
        }
        ToolOutcome::Error(message) => {
            let error = json!({ "error": message }).to_string();
            function_call_output(call_id, ToolOutput::Text(&error))
        }
    };
    written.map_err(|_| Fault::unwritable("A tool output"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_content_parts_is_written_as_they_are() {
        let parts = r#"[ {"type":"input_image","image_url":"https://a.example/p.png"} ]"#;
        let outcome = ToolOutcome::Result(parts.to_owned());
        assert_eq!(
            tool_outputs([("c", &outcome)]).unwrap(),
            format!(r#"[{{"type":"function_call_output","call_id":"c","output":{parts}}}]"#)
        );
    }

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
