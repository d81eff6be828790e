//! Refusals for length: the input does not fit into the model's context window (interface §3).
//!
//! A service says so by a code, by a type, by a reason, or in words alone, and gateways pass on the words of
//! the service behind them. Its words count only where no name in the error says another thing, and never
//! where they quote what a user wrote. Silent truncation, as some servers have it, cannot be known from here.
//!
//! It is no refusal for length that the output asked for is too long, that one string is, or that the tokens
//! of a minute are spent.

use crate::responses_api::{ErrorBody, code_concerns_input};

/// Codes, types and reasons of incomplete responses that mean the length of the input.
const NAMES: &[&str] = &[
    // OpenAI, Azure, Groq, Cerebras: Azure/azure-sdk-for-net#41892, dyad-sh/dyad#1672 (inside the stream).
    "context_length_exceeded",
    // GitHub Copilot: microsoft/vscode#289514.
    "model_max_prompt_tokens_exceeded",
    // GitHub Models: eslint/tsc-meetings#593.
    "tokens_limit_reached",
    // llama.cpp, as the type: ggml-org/llama.cpp#15780.
    "exceed_context_size_error",
    // Anthropic and z.ai, as the reason of a stop: earendil-works/pi, packages/ai/src/utils/overflow.ts.
    "model_context_window_exceeded",
    // Anthropic, the bytes of a request: earendil-works/pi, packages/ai/src/utils/overflow.ts.
    "request_too_large",
    // LiteLLM: BerriAI/litellm, litellm/exceptions.py.
    "ContextWindowExceededError",
];

/// The words of services, in lower case; `#` is a number, `*` any text.
const WORDS: &[&str] = &[
    // OpenAI: james-6-23/codex2api#415.
    "input exceeds the context window",
    // OpenAI, Azure, vLLM, DeepSeek, OpenRouter: microsoft/kernel-memory#516, refly-ai/refly#1177,
    // vllm-project/vllm#33418.
    "maximum context length is #",
    // Azure: BerriAI/litellm#15968.
    "input tokens exceed the configured limit",
    // Groq, Cerebras: ellipticmarketing/modelrelay#73.
    "reduce the length of the messages",
    // vLLM: vllm-project/vllm, vllm/renderers/params.py.
    "model's context length is only #",
    // vLLM: vllm-project/vllm, vllm/v1/engine/input_processor.py.
    "is longer than the maximum model length of #",
    // vLLM: vllm-project/vllm#12165.
    "is too long to fit into the model",
    // vLLM, of its responses alone.
    "engine prompt length # exceeds the max_model_len #",
    // llama.cpp: ggml-org/llama.cpp#19774.
    "exceeds the available context size",
    // llama.cpp, with status 500: ggml-org/llama.cpp#19774.
    "context size has been exceeded",
    // llama-cpp-python: abetlen/llama-cpp-python#416.
    "requested tokens*exceed context window of #",
    // LM Studio: lmstudio-ai/lmstudio-bug-tracker#2205.
    "initial prompt is greater than the context length",
    // LM Studio: lmstudio-ai/lmstudio-bug-tracker#546.
    "loaded with context length of only #",
    // LM Studio: anomalyco/opencode#11141.
    "cannot truncate prompt with n_keep",
    // Ollama's cloud: earendil-works/pi, packages/ai/src/utils/overflow.ts; z.ai: anomalyco/opencode,
    // packages/ai/src/provider-error.ts.
    "prompt too long",
    // Ollama: ollama/ollama, llm/llama_server.go.
    "prompt is longer than the context length",
    // Ollama: ollama/ollama, server/routes.go.
    "input length exceeds the context length",
    // LM Studio: lmstudio-ai/examples#29.
    "input length # exceeds context length #",
    // Ollama: ollama/ollama, server/routes.go; mlx-serve: ddalcu/mlx-serve#66.
    "exceeds maximum context length",
    // SGLang, LiteLLM, Ollama: anomalyco/models.dev#4422; ollama/ollama, x/mlxrunner/pipeline.go.
    "exceeds the model's maximum context length",
    // Gateways of OpenAI's form: earendil-works/pi, packages/ai/src/utils/overflow.ts.
    "exceeds model's maximum context length",
    // SGLang, Together: QwenLM/Qwen3#1321.
    "is longer than the model's context length",
    // SGLang: sgl-project/sglang#4048.
    "input length (# tokens) exceeds the maximum allowed length",
    // OpenRouter: earendil-works/pi, packages/ai/src/utils/overflow.ts.
    "exceeds the maximum allowed input length",
    // Anthropic: microsoft/vscode#293191, tailcallhq/forgecode#1146 (by way of OpenRouter).
    "prompt is too long",
    // Anthropic: anthropics/claude-code#408.
    "input length and `max_tokens` exceed context limit",
    // Gemini: BerriAI/litellm#18282.
    "input token count*exceeds the maximum number of tokens",
    // Bedrock: aws-samples/bedrock-chat#95.
    "input is too long for requested model",
    // Amazon Nova: anomalyco/opencode, packages/ai/src/provider-error.ts.
    "number of input tokens exceeds maximum length",
    // DeepInfra: anomalyco/opencode, packages/ai/src/provider-error.ts.
    "requested input length # exceeds maximum input length",
    // DS4: anomalyco/opencode, packages/ai/src/provider-error.ts.
    "prompt has # tokens, but the configured context size is #",
    // xAI: cline/cline#3120.
    "maximum prompt length is #",
    // Mistral: earendil-works/pi, packages/ai/src/utils/overflow.ts.
    "too large for model with # maximum context length",
    // GitHub Copilot: jjleng/copilot-more#35.
    "prompt token count of # exceeds the limit of #",
    // MiniMax: MiniMax-AI/MiniMax-M2#119.
    "context window exceeds limit",
    // Moonshot: MoonshotAI/kimi-cli#2011.
    "exceeded model token limit",
    // DashScope: QwenLM/qwen-code#98.
    "range of input length should be",
    // z.ai: zeroclaw-labs/zeroclaw#4124.
    "prompt exceeds max length",
    // Text Generation Inference: huggingface/text-generation-inference#628.
    "`inputs` tokens + `max_new_tokens` must be <= #",
    // Text Generation Inference: huggingface/text-generation-inference#695.
    "`inputs` must have less than # tokens",
    // Cloudflare Workers AI: anomalyco/opencode, packages/ai/src/provider-error.ts.
    "exceeded this model context window limit",
    // GitHub Models: cline/cline#2115.
    "request body too large for*max size: # tokens",
    // LiteLLM, before the words of the service behind it: OpenHands/OpenHands#5350.
    "contextwindowexceedederror",
];

/// Words of a rate limit, which also speaks of tokens that are too many.
const WORDS_OF_A_RATE: &[&str] =
    &["rate limit", "rate_limit", "tokens per min", "too many requests"];

/// Codes and types that mean another thing, besides those that blame one part of the input.
const OTHER_NAMES: &[&str] = &[
    "authentication_error",
    "insufficient_quota",
    "invalid_api_key",
    "model_not_found",
    "permission_error",
    "previous_response_not_found",
    "rate_limit_error",
    "rate_limit_exceeded",
    "requests",
    "tokens",
    "too_many_requests",
];

/// OpenRouter's code for every request that is refused, also for its length, which it tells in words alone:
/// openrouter.ai/docs/api_reference/responses/error-handling.
pub(super) const OF_ANY_INPUT: &str = "invalid_prompt";

/// Beginnings of parameters that can stand for the whole input, or for its length beside the output's.
const WHOLE_INPUT: &[&str] = &["contents", "input", "max_", "messages", "prompt"];

/// The members of an error, and their like in Python's spelling, that hold words of a service.
const MEMBERS_WITH_WORDS: &[&str] = &["detail", "error", "message", "msg", "raw"];

/// Whether an error means that the input is too long for the model.
pub(super) fn concerns_length(error: &ErrorBody) -> bool {
    let names = || [&error.code, &error.kind].into_iter().flatten();
    if names().any(|name| names_length(name)) {
        return true;
    }
    let blames_a_part = |name: &str| name != OF_ANY_INPUT && code_concerns_input(name);
    let names_another =
        names().any(|name| OTHER_NAMES.contains(&name.as_str()) || blames_a_part(name));
    let param = error.param.as_deref().unwrap_or_default();
    let is_whole_input = param.is_empty() || WHOLE_INPUT.iter().any(|name| param.starts_with(name));
    !names_another
        && is_whole_input
        && error.message.as_deref().is_some_and(|message| says_length(&plain(message)))
}

/// Whether a code, a type or a reason means the length of the input.
pub(super) fn names_length(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn says_length(said: &str) -> bool {
    let is_said = |words: &&str| place_of(words, said).is_some_and(|at| !is_quoted(said, at));
    !WORDS_OF_A_RATE.iter().any(|words| said.contains(words)) && WORDS.iter().any(is_said)
}

/// Where the words begin.
fn place_of(words: &str, said: &str) -> Option<usize> {
    let (first, rest) = words.split_once('*').unwrap_or((words, ""));
    let (at, found) = said.match_indices(first).next()?;
    said.get(at + found.len()..)?.contains(rest).then_some(at)
}

/// The message in lower case, with `#` for each number.
fn plain(message: &str) -> String {
    let mut plain = String::with_capacity(message.len());
    let mut characters = message.chars().peekable();
    while let Some(character) = characters.next() {
        let in_number = plain.ends_with('#');
        let goes_on = characters.peek().is_some_and(char::is_ascii_digit);
        match character {
            '0'..='9' if in_number => {}
            '0'..='9' => plain.push('#'),
            // The digits of long numbers come in groups.
            ',' | '_' if in_number && goes_on => {}
            '\u{2019}' => plain.push('\''),
            other => plain.push(other.to_ascii_lowercase()),
        }
    }
    plain
}

/// Whether a place stands within quotation marks. Services quote the input that they refuse, and a user
/// can have written the words of the table. A member that holds the words of another service is no quotation.
fn is_quoted(said: &str, place: usize) -> bool {
    let mut open = None;
    let mut before = ' ';
    let characters = said.char_indices().take_while(|(at, _)| *at < place);
    for (at, character) in characters {
        if matches!(character, '\'' | '"') {
            let next = said.get(at + 1..).and_then(|rest| rest.chars().next());
            let ends_word = !next.is_some_and(char::is_alphanumeric);
            if open == Some(character) && ends_word {
                open = None;
            } else if open.is_none()
                && (before.is_whitespace() || "{[,:=\\".contains(before))
                && !follows_member_with_words(said.get(..at).unwrap_or_default())
            {
                open = Some(character);
            }
        }
        before = character;
    }
    open.is_some()
}

/// Whether a text ends with `"message":`, or the like in another spelling.
fn follows_member_with_words(text: &str) -> bool {
    let member = text.trim_end_matches(['\\', ' ']).strip_suffix(':');
    let member = member.map(|member| member.trim_end_matches(['\\', '"', '\'']));
    member.is_some_and(|member| MEMBERS_WITH_WORDS.iter().any(|known| member.ends_with(known)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::ErrorCode;
    use crate::llm_call::{CallFailure, Cause, Refusal};
    use crate::responses_api::{ResponseEnd, ResponseStream, StreamLimits};

    /// A message of a service for each row of [`WORDS`], in its order.
    const MESSAGES: &[&str] = &[
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "This model's maximum context length is 8,192 tokens. However, your messages resulted in 10383 tokens.",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens.",
        "Please reduce the length of the messages or completion. Current length is 23592 while limit is 8192",
        "You passed 5000 input tokens and requested 16 output tokens. However, the model's context length is only 4096 tokens.",
        "The decoder prompt (length 12324) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller.",
        "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
        "The engine prompt length 227861 exceeds the max_model_len 131072. Please reduce prompt.",
        "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "Context size has been exceeded.",
        "Requested tokens (2285) exceed context window of 2048",
        "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens.",
        "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
        "prompt too long; exceeded max context length by 65590 tokens",
        "the prompt is longer than the context length currently available to the model; shorten the prompt",
        "the input length exceeds the context length",
        "Input length 6491 exceeds context length 1500",
        "input after truncation exceeds maximum context length",
        "Requested token count exceeds the model\u{2019}s maximum context length of 131072 tokens.",
        "Input length (265330) exceeds model's maximum context length (262144).",
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        "prompt is too long: 202128 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease input length or `max_tokens` and try again",
        "The input token count (2800010) exceeds the maximum number of tokens allowed (1048575).",
        "The model returned the following errors: Input is too long for requested model.",
        "The number of input tokens exceeds maximum length.",
        "Requested input length 170000 exceeds maximum input length 163839",
        "Prompt has 2,000 tokens, but the configured context size is 1000 tokens",
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "prompt token count of 93854 exceeds the limit of 90000",
        "invalid params, context window exceeds limit (2013)",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        "Prompt exceeds max length",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` tokens and 1000 `max_new_tokens`",
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168",
        "5021: The estimated number of input and maximum output tokens (155740) exceeded this model context window limit (128000).",
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicException - too much",
    ];

    fn refused(status: u16, body: &str) -> CallFailure {
        let refusal =
            Refusal { status, body: ErrorBody::read(body.as_bytes()), ..Refusal::default() };
        Cause::Refused(Box::new(refusal)).into()
    }

    /// The failure of a response whose stream holds the event.
    fn streamed(event: &serde_json::Value) -> CallFailure {
        let limits =
            StreamLimits { event_bytes: 10_000, output_bytes: 10_000, ..StreamLimits::RESPONSE };
        let mut stream = ResponseStream::new(limits);
        stream.push(format!("data: {event}\n\n").as_bytes(), &mut |_| {}).unwrap();
        let Ok((_, ResponseEnd::Failed(error))) = stream.finish() else { panic!("{event}") };
        Cause::Failed(Box::new(error)).into()
    }

    /// The failures by which an error can come: refusals with many statuses, and events of a stream.
    fn failures(error: &serde_json::Value) -> Vec<CallFailure> {
        let body = json!({ "error": error }).to_string();
        let mut failures: Vec<CallFailure> =
            [400, 404, 409, 422, 500, 503].map(|status| refused(status, &body)).into();
        failures.push(streamed(&json!({ "error": error })));
        failures.push(streamed(&json!({ "type": "error", "error": error })));
        let failed = json!({ "status": "failed", "error": error });
        failures.push(streamed(&json!({ "type": "response.failed", "response": failed })));
        failures
    }

    fn assert_too_long(failure: CallFailure, case: &str) {
        let said = (failure.too_long(), failure.refused_input(), failure.retryable());
        assert_eq!(said, (true, false, false), "{case}: {failure:?}");
        assert!(!failure.lost_chain("resp_1"), "{case}");
        assert_eq!(failure.into_fault(1).code, ErrorCode::ContextWindowExceeded, "{case}");
    }

    #[test]
    fn the_words_of_every_row_are_known_by_http_and_in_the_stream() {
        assert_eq!(MESSAGES.len(), WORDS.len());
        for (message, words) in MESSAGES.iter().zip(WORDS) {
            assert!(place_of(words, &plain(message)).is_some(), "{words}: {message}");
            for error in [
                json!(message),
                json!({ "message": message, "type": "invalid_request_error", "code": null }),
                json!({ "message": message, "type": "server_error", "code": 400 }),
                json!({ "message": message, "param": "input", "code": "BadRequest" }),
                json!({ "message": message, "code": "invalid_prompt" }),
                json!({ "message": "Provider returned error", "metadata": { "raw": message } }),
            ] {
                failures(&error).into_iter().for_each(|failure| assert_too_long(failure, message));
            }
        }
    }

    #[test]
    fn every_name_is_known_as_code_type_and_reason() {
        for name in NAMES {
            for member in ["code", "type"] {
                let error = json!({ member: name, "message": "no", "param": "input" });
                failures(&error).into_iter().for_each(|failure| assert_too_long(failure, name));
            }
            let cause = Cause::Incomplete { reason: Some((*name).to_owned()) };
            assert_too_long(cause.into(), name);
        }
        let error = json!({ "code": "invalid_prompt", "message": "no" });
        let failed = json!({ "status": "failed", "error": error, "error_type": NAMES[0] });
        let event = json!({ "type": "response.failed", "response": failed });
        assert_too_long(streamed(&event), "OpenRouter's");
        assert_too_long(refused(413, "<h1>Request Entity Too Large</h1>"), "a proxy's");
    }

    #[test]
    fn a_gateway_may_wrap_the_words_of_the_service_behind_it() {
        for message in [
            r#"litellm.BadRequestError: AnthropicException - b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209303 tokens > 200000 maximum"}}'. Received Model Group=x"#,
            r#"Error code: 400 - {'error': {'message': "This model's maximum context length is 4096 tokens.", 'type': 'x'}}"#,
            r#"{\"type\":\"error\",\"error\":{\"message\":\"Prompt is too long\"}}"#,
            r#"ValueError: "Input is too long for requested model.""#,
        ] {
            let error = json!({ "message": message, "code": "400" });
            failures(&error).into_iter().for_each(|failure| assert_too_long(failure, message));
        }
    }

    #[test]
    fn what_only_sounds_alike_is_no_refusal_for_length() {
        let length = "This model's maximum context length is 8 tokens.";
        for error in [
            json!({ "message": "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.", "param": "max_tokens" }),
            json!({ "message": "max_output_tokens=9000cannot be greater than max_total_tokens=8192. Please request fewer output tokens." }),
            json!({ "message": "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760, but got a string with length 62114761 instead.", "param": "input[0].content", "code": "string_above_max_length" }),
            json!({ "message": length, "code": "string_above_max_length" }),
            json!({ "message": length, "param": "tools[5].description" }),
            json!({ "message": length, "code": "content_filter" }),
            json!({ "message": length, "type": "tokens", "code": "rate_limit_exceeded" }),
            json!({ "message": "Rate limit reached on tokens per min (TPM): Limit 30000, Requested 342389. Please reduce the length of the messages." }),
            json!({ "message": "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully." }),
            json!({ "message": "Invalid value: 'This model's maximum context length is 8 tokens.'. Supported values are: 'a'." }),
            json!({ "message": "[{'type': 'missing', 'loc': ('body', 'x'), 'input': {'content': 'why: prompt is too long'}}]" }),
            json!({ "message": "Could not read \"He asks: Prompt exceeds max length?\" as JSON." }),
            json!({ "message": "1 error; input_value='context window exceeds limit', input_type=str" }),
            json!({ "message": "The server had an error.", "code": "server_error" }),
        ] {
            for failure in failures(&error) {
                assert!(!failure.too_long(), "{failure:?}");
            }
        }
        for status in [302, 401, 402, 403, 429] {
            let refusal = refused(status, &json!({ "error": { "message": length } }).to_string());
            assert!(!refusal.too_long(), "{status}");
        }
        for reason in [None, Some("max_output_tokens"), Some("content_filter")] {
            let cause = Cause::Incomplete { reason: reason.map(str::to_owned) };
            assert!(!CallFailure::from(cause).too_long(), "{reason:?}");
        }
    }
}
