//! Refusals that may concern the conversation though nothing in them says how (interface §4): with less of it the same
//! call may be taken. What the operator has to mend, and what a service will not hear, is none of them.

use super::context_length::OF_ANY_INPUT;
use super::failure::{CallFailure, Cause, can_pass};
use super::refusal::{OF_CONTENTS, blames_output, is_plain, needs_operator};
use crate::responses_api::{ErrorBody, code_concerns_input, names_model, names_place};

/// Parts of codes and types for which a service will not hear what was said, in whatever words.
const OF_POLICIES: &[&str] =
    &["content_filter", "data_inspection", "invalid_prompt", "moderation", "policy", "safety"];

/// Parts of codes and types that are the operator's.
const OF_OPERATOR: &[&str] =
    &["api_key", "authentication", "billing", "credit", "permission", "quota", "rate_limit"];

/// A place in the input, as OpenRouter gives it: beside it, [`OF_ANY_INPUT`] means the form of an item, and no policy.
/// CherryHQ/cherry-studio#10477.
const PLACE_IN_INPUT: &str = r#""path":["input""#;

/// OpenRouter's type for an invalid request, beside which [`OF_ANY_INPUT`] is no policy's code either:
/// openrouter.ai/docs/api/reference/responses/error-handling.
const OF_A_REQUEST: &str = "invalid_request";

/// The members of a request that hold the conversation.
const OF_CONVERSATION: [&str; 3] = ["input", "messages", "previous_response_id"];

impl CallFailure {
    /// Whether the service may take the same call with less of the conversation. `model` is the one that was called.
    pub fn may_concern_conversation(&self, model: &str) -> bool {
        let Some((status, error)) = self.error() else { return false };
        let is_for_its_contents = match status {
            Some(status) => {
                let is_page = matches!(&self.cause, Cause::Refused(of) if !of.is_error_object);
                OF_CONTENTS.contains(&status) && !is_page && !needs_operator(Some(status), error)
            }
            None => fails_for_good(error),
        };
        is_for_its_contents
            && blames_no_other(error)
            && !blames_output(error)
            && !names_model(error, model)
            && self.refused_tool().is_none()
    }

    /// The service's code for the failure, if it is a plain name.
    pub fn plain_code(&self) -> Option<&str> {
        self.error()?.1.code.as_deref().filter(|code| is_plain(code))
    }
}

/// Whether a failure inside a successful response is a refusal: an invalid request, or a code that does not pass.
fn fails_for_good(error: &ErrorBody) -> bool {
    match (error.kind.as_deref(), error.code.as_deref()) {
        _ if can_pass(error) || needs_operator(None, error) => false,
        // OpenRouter's types name what its codes do, images among them.
        (Some(kind), _) => {
            matches!(kind, "invalid_request_error" | OF_A_REQUEST) || code_concerns_input(kind)
        }
        (None, Some(code)) => code.parse().map_or(true, |status| OF_CONTENTS.contains(&status)),
        (None, None) => false,
    }
}

fn blames_no_other(error: &ErrorBody) -> bool {
    let said = error.message.as_deref().unwrap_or_default();
    let is_of_form =
        error.kind.as_deref() == Some(OF_A_REQUEST) || names_place(said, PLACE_IN_INPUT);
    let mut names = [&error.code, &error.kind].into_iter().flatten();
    let is_named = names.any(|name| {
        if is_of_form && name == OF_ANY_INPUT {
            return false;
        }
        let name = name.to_ascii_lowercase();
        OF_POLICIES.iter().chain(OF_OPERATOR).any(|part| name.contains(part))
    });
    let is_of_conversation = |param: &str| {
        let rest = OF_CONVERSATION.iter().find_map(|name| param.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
    };
    let is_of_a_key = said.to_ascii_lowercase().contains("api key");
    !is_named && !is_of_a_key && error.param.as_deref().is_none_or(is_of_conversation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm_call::Refusal;

    fn error(code: &str, kind: &str, param: &str, message: &str) -> ErrorBody {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ErrorBody { code: text(code), kind: text(kind), param: text(param), message: text(message) }
    }

    fn refused(status: u16, body: ErrorBody) -> CallFailure {
        let refusal = Refusal { status, body, is_error_object: true, ..Refusal::default() };
        Cause::Refused(Box::new(refusal)).into()
    }

    fn failed(error: ErrorBody) -> CallFailure {
        Cause::Failed(Box::new(error)).into()
    }

    #[test]
    fn a_refusal_of_an_item_s_form_may_concern_the_conversation_though_its_code_is_a_policy_s() {
        for raw in [
            r#"[{"code":"invalid_type","path":["input",1,"id"],"message":"Required"}]"#,
            r#""[\n  {\n    \"path\": [\n      \"input\",\n      1\n    ]\n  }\n]""#,
        ] {
            let error = r#"{"code":"invalid_prompt","message":"Invalid Responses API request"}"#;
            let body = format!(r#"{{"error":{error},"metadata":{{"raw":{raw}}}}}"#);
            let failure = refused(400, ErrorBody::read(body.as_bytes()));
            assert!(failure.may_concern_conversation("gpt-9"), "{raw}");
        }
    }

    #[test]
    fn a_refusal_in_any_words_may_concern_the_conversation_unless_it_blames_something_else() {
        let said = "No tool output found for custom tool call call_1.";
        for (failure, expected) in [
            (refused(400, error("", "invalid_request_error", "", said)), true),
            (refused(422, error("", "", "input.3.content", "nope")), true),
            (refused(404, error("item_gone", "", "input[2]", "")), true),
            (refused(400, error("", "", "", "Incorrect API key provided")), false),
            (refused(409, error("", "", "previous_response_id", "")), true),
            (refused(400, error("", "", "messages", "")), true),
            (refused(413, error("", "", "", "")), true),
            (
                refused(404, error("", "", "", "Items are not persisted when `store` is false.")),
                true,
            ),
            (refused(401, error("", "", "", said)), false),
            (refused(403, error("", "", "", said)), false),
            (refused(429, error("", "", "", said)), false),
            (refused(500, error("", "", "", said)), false),
            (refused(400, error("", "", "temperature", "")), false),
            (refused(400, error("", "", "inputs", "")), false),
            (refused(400, error("", "", "tools[3].parameters", "")), false),
            (refused(400, error("", "", "", "Invalid schema for function 'f'.")), false),
            (refused(404, error("model_not_found", "", "", "")), false),
            (refused(404, error("DeploymentNotFound", "", "", "The API deployment …")), false),
            (refused(404, error("", "", "", "The model `gpt-9` does not exist.")), false),
            (refused(400, error("content_filter", "", "", "")), false),
            (refused(400, error("invalid_prompt", "", "input", "")), false),
            (refused(400, error("cyber_policy", "", "", "")), false),
            (refused(400, error("", "insufficient_quota", "", "")), false),
            (refused(400, error("tool_use_failed", "invalid_request_error", "", "")), false),
            (failed(error("tool_use_failed", "invalid_request_error", "", "")), false),
            (failed(error("", "invalid_request_error", "", said)), true),
            (failed(error("unsupported_item", "", "", "")), true),
            (failed(error("400", "", "", "")), true),
            (failed(error("401", "", "", "")), false),
            (failed(error("server_error", "", "", "")), false),
            (failed(error("vector_store_timeout", "", "", "")), false),
            (failed(error("unsupported_item", "server_error", "", "")), false),
            (failed(error("bio_policy", "", "", "")), false),
            (failed(error("project_spend_limit_exceeded", "", "", "")), false),
            (failed(error("invalid_prompt", "invalid_request", "", said)), true),
            (failed(error("invalid_image", "invalid_image", "", "")), true),
            (failed(error("invalid_prompt", "invalid_prompt", "", "")), false),
            (failed(error("invalid_prompt", "content_policy_violation", "", "")), false),
            (failed(error("server_error", "invalid_request", "", "")), false),
            (refused(400, error("content_filter", "", "", r#""path":["input""#)), false),
            (failed(error("", "", "", said)), false),
            (Cause::Unreachable.into(), false),
        ] {
            assert_eq!(failure.may_concern_conversation("gpt-9"), expected, "{failure:?}");
        }
        let page = Refusal { status: 404, ..Refusal::default() };
        let page: CallFailure = Cause::Refused(Box::new(page)).into();
        assert!(!page.may_concern_conversation("gpt-9"));
    }
}
