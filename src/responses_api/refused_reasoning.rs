//! A refusal of reasoning that goes back to the model service.
//!
//! Source: the refusals of the live API and of other services, each named beside its words.

use super::error_body::{ErrorBody, mentions};

/// Whether the service refuses reasoning that it gave out itself, or an item because of the reasoning that it belongs
/// to: one of them without the other, an id that it does not take, or encrypted content that it cannot read (any more).
/// The remedy is to send neither reasoning nor ids. `status` is absent inside a successful response.
pub fn concerns_sent_reasoning(status: Option<u16>, error: &ErrorBody) -> bool {
    if !matches!(status, None | Some(400 | 404 | 422)) {
        return false;
    }
    let members = [".id", ".encrypted_content", ".summary"];
    let names_id = |param: &str| {
        param.starts_with("input") && members.iter().any(|member| param.ends_with(member))
    };
    let message = error.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    error.code.as_deref() == Some("invalid_encrypted_content")
        || error.param.as_deref().is_some_and(names_id)
        || mentions(&message, WORDS_OF_REASONING)
}

/// The words of services that refuse reasoning of theirs, in lower case.
const WORDS_OF_REASONING: &[&str] = &[
    // OpenAI: "Item 'rs_1' of type 'reasoning' was provided without its required following item.", and its mirror,
    // "… of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
    "was provided without its required",
    // OpenAI: "Item with id 'rs_1' not found."
    "item with id 'rs_",
    // OpenAI: openai/codex#8145; Azure, without a code: openai/openai-agents-python#2063; vLLM: vllm-project/vllm#28248.
    "encrypted content",
    "encrypted_content",
    // OpenAI, of a model that does not reason: "Reasoning input items can only be provided to a reasoning or computer use
    // model. Remove reasoning items from your input and try again."
    "reasoning input items",
    "reasoning items",
    // Services whose input has no such type name those that it has.
    "invalid value: 'reasoning'",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str, kind: &str, param: &str, message: &str) -> ErrorBody {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ErrorBody { code: text(code), kind: text(kind), param: text(param), message: text(message) }
    }

    #[test]
    fn a_refusal_of_reasoning_is_told_from_other_refusals_of_the_input() {
        let orphan =
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
        let mirror = "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.";
        let unreadable = "The encrypted content gAAA...Rg== could not be verified.";
        let other_model = "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.";
        let gone =
            "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.";
        for (status, body, expected) in [
            (Some(400), error("", "", "input", orphan), true),
            (Some(400), error("", "", "input", mirror), true),
            (None, error("", "", "", orphan), true),
            (Some(400), error("invalid_encrypted_content", "", "", ""), true),
            (Some(400), error("", "", "", unreadable), true),
            (
                Some(400),
                error("invalid_value", "", "input[2].id", "Expected an ID that begins with 'fc'."),
                true,
            ),
            (Some(404), error("", "", "input", gone), true),
            (Some(400), error("", "", "input", other_model), true),
            (
                Some(400),
                error("unknown_parameter", "", "input[2].encrypted_content", "Unknown parameter."),
                true,
            ),
            (
                Some(400),
                error("", "", "input[2]", "Invalid value: 'reasoning'. Supported values are: …"),
                true,
            ),
            (Some(500), error("", "", "input", orphan), false),
            (Some(400), error("invalid_value", "", "input[2].call_id", ""), false),
            (Some(400), error("", "", "input", "No tool output found for function call c."), false),
            (Some(400), error("", "", "reasoning.effort", "Unsupported value"), false),
        ] {
            assert_eq!(concerns_sent_reasoning(status, &body), expected, "{status:?} {body:?}");
        }
    }
}
