//! The error that the model service reports, and the part of the request that it concerns.
//!
//! It reads every JSON shape that services use, whatever the content type says, and distinguishes two cases
//! that decide how a turn goes on: the continued response is gone, or the input itself is to blame.
//! It decides nothing about retries: the HTTP status does that.
//! Source: the Responses API's error envelope, measured and recorded refusals of it and of
//! servers that speak its protocol.

use serde_json::{Map, Value};

use super::request::ENCRYPTED_REASONING;
use crate::json::{Node, first_member};

/// The longest part of a body without a known shape that is kept as its message, in bytes.
const PLAIN_MESSAGE_BYTES: usize = 1024;

/// The longest error inside a response that is read as a tree, in bytes, which may take a hundred times as much.
const TREE_BYTES: usize = 64 * 1024;

/// An error in the model service's words. A member that the service left out is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorBody {
    /// As `previous_response_not_found`; a number is given as its digits.
    pub code: Option<String>,
    /// The error's `type`, as `invalid_request_error`.
    pub kind: Option<String>,
    /// The request member concerned, as `input[0].content`.
    pub param: Option<String>,
    /// The service's own words. They can hold account names and parts of a prompt: never
    /// shown to a client, never logged.
    pub message: Option<String>,
}

impl ErrorBody {
    /// Reads the body of a refusal: `{"error":{…}}`, `{"code","error":"…"}`, `{"detail":…}`, `{"errors":[…]}`,
    /// a bare error object, an array of one of them, or text that is no JSON, which is the message.
    pub fn read(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str(&text) {
            Ok(value) => Self::of_body(&value),
            Err(_) => Self::of_text(&text),
        }
    }

    /// Whether a body is JSON in one of these shapes, or the beginning of an object or an array, and neither text nor JSON
    /// that reports no error.
    pub fn is_object(body: &[u8]) -> bool {
        match serde_json::from_slice(body) {
            Ok(Value::String(_)) => false,
            Ok(value) => Self::of_body(&value) != Self::default(),
            // Services quote the input that they refuse, at any length.
            Err(fault) => {
                fault.is_eof() && matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
            }
        }
    }

    /// Reads the JSON text of an error alone: an object, or a string that is the message. Of a long one the names are
    /// read, and the beginning of its message.
    pub(super) fn of_error(json: &str) -> Self {
        if json.len() > TREE_BYTES {
            let member = |name| {
                let value = first_member(json, name)?;
                let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                if is_number { Some(value.into()) } else { Node::root(value).as_text() }
            };
            let name = |name| text(&member(name)?).filter(|name| name.len() <= PLAIN_MESSAGE_BYTES);
            let (code, kind, param) = (name("code"), name("type"), name("param"));
            let message = member("message");
            return Self { code, kind, param, ..Self::of_text(message.as_deref().unwrap_or(json)) };
        }
        match serde_json::from_str(json) {
            Ok(Value::Object(error)) => Self::of_object(&error),
            Ok(Value::String(message)) => Self::of_text(&message),
            _ => Self::of_text(json),
        }
    }

    fn of_body(value: &Value) -> Self {
        match value {
            Value::Array(items) => items.first().map(Self::of_body).unwrap_or_default(),
            Value::Object(body) => match (body.get("error"), body.get("detail")) {
                (Some(Value::Object(error)), _) | (None, Some(Value::Object(error))) => {
                    let error = Self::of_object(error);
                    Self { message: with_raw(error.message, body), ..error }
                }
                (Some(Value::String(message)), _) | (None, Some(Value::String(message))) => {
                    Self { message: text(message), ..Self::of_object(body) }
                }
                (None, Some(Value::Array(faults))) => {
                    faults.first().map(Self::of_validation).unwrap_or_default()
                }
                _ => match body.get("errors") {
                    Some(errors @ Value::Array(_)) => Self::of_body(errors),
                    _ => Self::of_object(body),
                },
            },
            Value::String(message) => Self::of_text(message),
            _ => Self::default(),
        }
    }

    fn of_object(error: &Map<String, Value>) -> Self {
        let member = |name: &str| match error.get(name) {
            Some(Value::String(value)) => text(value),
            Some(Value::Number(value)) => Some(value.to_string()),
            _ => None,
        };
        Self {
            code: member("code"),
            kind: member("type"),
            param: member("param"),
            message: with_raw(member("message"), error),
        }
    }

    /// `{"loc":["body","input",0],"msg","type"}`, as Python services report invalid requests.
    fn of_validation(fault: &Value) -> Self {
        let steps = fault.get("loc").and_then(Value::as_array).into_iter().flatten();
        let names = steps
            .filter(|step| step.as_str() != Some("body"))
            .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned));
        let place = names.collect::<Vec<_>>().join(".");
        let member = |name: &str| fault.get(name).and_then(Value::as_str).and_then(text);
        Self { code: None, kind: member("type"), param: text(&place), message: member("msg") }
    }

    fn of_text(body: &str) -> Self {
        let body = body.trim();
        let end = body.floor_char_boundary(PLAIN_MESSAGE_BYTES);
        Self { message: body.get(..end).and_then(text), ..Self::default() }
    }
}

/// Whether the service refuses because it lacks, or does not support, the response that the request
/// continues. The remedy is to send the whole conversation. `status` is absent inside a successful response;
/// `continued` is the id that was sent.
pub fn concerns_previous_response(
    status: Option<u16>,
    error: &ErrorBody,
    continued: Option<&str>,
) -> bool {
    let code = error.code.as_deref().unwrap_or_default();
    if matches!(status, Some(401 | 403 | 429)) || code.starts_with("rate_limit") {
        return false;
    }
    let named = matches!(error.param.as_deref(), Some("previous_response_id" | "response_id"));
    if code == "previous_response_not_found" || named {
        return true;
    }
    let message = error.message.as_deref().unwrap_or_default();
    if continued.is_some_and(|id| quotes(message, id)) {
        return true;
    }
    let message = own_words(error).to_ascii_lowercase();
    let is_gone = mentions(&message, &["not found", "support", "expired", "deleted", "exist"]);
    let speaks_of_it = message.contains("previous_response_id")
        || (mentions(&message, &["previous response", "response with id"]) && is_gone);
    speaks_of_it && matches!(status, None | Some(400 | 404 | 405 | 409 | 410 | 422 | 501))
}

/// Whether the service refuses to store responses, or says that it never keeps any. The remedy is to ask for
/// no storage. `status` is absent inside a successful response.
pub fn concerns_storage(status: Option<u16>, error: &ErrorBody) -> bool {
    if !matches!(status, None | Some(400 | 403 | 404 | 405 | 409 | 410 | 422 | 501)) {
        return false;
    }
    let message = own_words(error).to_ascii_lowercase();
    error.param.as_deref() == Some("store")
        || mentions(&message, WORDS_OF_NO_STORAGE)
        || names_place(&message, PLACE_OF_STORE)
}

/// Whether the service refuses to give out reasoning that can be sent back. The remedy is not to ask for it.
/// `status` is absent inside a successful response.
pub fn concerns_encrypted_reasoning(status: Option<u16>, error: &ErrorBody) -> bool {
    if !matches!(status, None | Some(400 | 404 | 422 | 501)) {
        return false;
    }
    match error.param.as_deref() {
        // It is the first of the list; others are the operator's, and their refusal lists it as well.
        Some(param) if param.starts_with("include") => matches!(param, "include" | "include[0]"),
        _ => mentions(&own_words(error).to_ascii_lowercase(), WORDS_OF_NO_REASONING),
    }
}

/// The words of services that give out no reasoning, in lower case.
const WORDS_OF_NO_REASONING: &[&str] = &[
    // Llama Stack 0.7.3: "reasoning.encrypted_content is not supported by Llama Stack."
    ENCRYPTED_REASONING,
    // OpenAI and Azure, of a model that does not reason; LiteLLM passes that on without its param: pydantic/pydantic-ai#3326.
    "encrypted content is not supported",
];

/// Whether the service refuses to make a response in the background. The remedy is to ask without. `status` is
/// absent inside a successful response.
pub fn concerns_background(status: Option<u16>, error: &ErrorBody) -> bool {
    if !matches!(status, None | Some(400 | 403 | 404 | 405 | 409 | 422 | 501)) {
        return false;
    }
    let message = own_words(error).to_ascii_lowercase();
    error.param.as_deref() == Some("background") || mentions(&message, WORDS_OF_BACKGROUND)
}

/// The words of services that make no response in the background, in lower case.
const WORDS_OF_BACKGROUND: &[&str] = &[
    "'background'",
    "`background`",
    "\"background\"",
    "background mode",
    "background response",
    "background=true",
];

/// The words of services that store nothing, in lower case.
const WORDS_OF_NO_STORAGE: &[&str] = &[
    // OpenAI, xAI, with zero data retention: can1357/oh-my-pi#2341, openai/codex (README).
    "previous response cannot be used for this organization",
    // The service behind ChatGPT's own clients: router-for-me/CLIProxyAPI#41.
    "store must be set to false",
    // vLLM: vllm-project/vllm#22137.
    "`store=true`",
    // Services that do not know the member, or want it false.
    "'store'",
    "`store`",
];

/// OpenRouter's place of the member: BerriAI/litellm#30851.
const PLACE_OF_STORE: &str = r#""path":["store"]"#;

/// Whether a text has a place in the request, as OpenRouter gives it: in JSON, or in a text of JSON with white space.
pub(crate) fn names_place(text: &str, place: &str) -> bool {
    text.split_whitespace().collect::<String>().contains(place)
}

/// Whether an error names the model that was called.
pub fn names_model(error: &ErrorBody, model: &str) -> bool {
    let message = error.message.as_deref().unwrap_or_default();
    let of_models = |code: &str| {
        // Azure calls a model by its deployment, and says no name: chatboxai/chatbox#646.
        code == "DeploymentNotFound"
            || ["model_not", "invalid_model", "unknown_model", "unsupported_model"]
                .iter()
                .any(|begin| code.starts_with(begin))
    };
    error.code.as_deref().is_some_and(of_models)
        || ["'", "`", "\""].iter().any(|mark| message.contains(&format!("{mark}{model}{mark}")))
        || quotes(message, &format!("model {model}"))
}

/// Whether a message holds an id, and not one that only begins or ends like it.
fn quotes(message: &str, id: &str) -> bool {
    let of_ids = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !id.is_empty()
        && message.match_indices(id).any(|(at, found)| {
            let before = message.get(..at).unwrap_or_default();
            let behind = message.get(at + found.len()..).unwrap_or_default();
            !before.ends_with(of_ids) && !behind.starts_with(of_ids)
        })
}

/// Whether the service refuses the input itself, and not the model's name, the tools, the key or
/// another setting. The same input would be refused again.
pub fn concerns_input(status: u16, error: &ErrorBody) -> bool {
    if !matches!(status, 400 | 422) || concerns_previous_response(Some(status), error, None) {
        return false;
    }
    if error.code.as_deref().is_some_and(code_concerns_input) {
        return true;
    }
    if error.param.is_some() {
        return names_input(error);
    }
    if error.code.as_deref().is_some_and(|code| mentions(code, SETTING_WORDS)) {
        return false;
    }
    // Without a code or a parameter the message decides. The words for the input go first:
    // "this model's maximum context length" concerns the input, not the model.
    let message = error.message.as_deref().unwrap_or_default().to_ascii_lowercase();
    mentions(&message, INPUT_WORDS) || !mentions(&message, SETTING_WORDS)
}

/// The message, where its words are the service's. That of an error which names the input may quote a user's.
fn own_words(error: &ErrorBody) -> &str {
    error.message.as_deref().filter(|_| !names_input(error)).unwrap_or_default()
}

/// Whether an error names the input or a place in it.
fn names_input(error: &ErrorBody) -> bool {
    let rest = error.param.as_deref().and_then(|param| param.strip_prefix("input"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
}

/// Whether an error code blames the input. Such codes come in refusals and in failed responses.
pub(crate) fn code_concerns_input(code: &str) -> bool {
    const CODES: &[&str] = &[
        "bio_policy",
        "content_filter",
        "content_policy_violation",
        "cyber_policy",
        "failed_to_download_image",
        "invalid_base64_image",
        "invalid_prompt",
        "string_above_max_length",
    ];
    const FAMILIES: &[&str] = &[
        "empty_image",
        "empty_file",
        "image_",
        "invalid_file",
        "invalid_image",
        "unsupported_file",
        "unsupported_image",
    ];
    CODES.contains(&code) || FAMILIES.iter().any(|family| code.starts_with(family))
}

const INPUT_WORDS: &[&str] = &[
    "context length",
    "context window",
    "function call",
    "image",
    "input",
    "prompt",
    "too large",
    "too long",
    "tool call",
    "tool output",
];

const SETTING_WORDS: &[&str] = &[
    "api key",
    "api_key",
    "auth",
    "billing",
    "credit",
    "instructions",
    "model",
    "organization",
    "parameter",
    "permission",
    "quota",
    "rate_limit",
    "rate limit",
    "store",
    "stream",
    "tool",
];

/// The message, and behind it that of the service behind a gateway (OpenRouter's `metadata.raw`).
fn with_raw(message: Option<String>, error: &Map<String, Value>) -> Option<String> {
    match error.get("metadata").and_then(|metadata| metadata.get("raw")) {
        None | Some(Value::Null) => message,
        Some(Value::String(raw)) => Some(format!("{} raw: {raw}", message.unwrap_or_default())),
        Some(raw) => Some(format!("{} raw: {raw}", message.unwrap_or_default())),
    }
}

pub(super) fn mentions(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// A text that says something: LiteLLM writes Python's `None` where it knows no type and no param.
fn text(value: &str) -> Option<String> {
    (!matches!(value, "" | "None")).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str, kind: &str, param: &str, message: &str) -> ErrorBody {
        ErrorBody { code: text(code), kind: text(kind), param: text(param), message: text(message) }
    }

    #[test]
    fn every_known_shape_of_an_error_body_is_read() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"m","type":"t","param":"p","code":"c"}}"#,
                error("c", "t", "p", "m"),
            ),
            (
                r#"{"error":{"message":"m","type":"t","param":null,"code":null},"status":401}"#,
                error("", "t", "", "m"),
            ),
            (
                r#"{"error":{"message":"m","type":"None","param":"None","code":"400"}}"#,
                error("400", "", "", "m"),
            ),
            (r#"{"code":"invalid-argument","error":"m"}"#, error("invalid-argument", "", "", "m")),
            (r#"{"detail":"m"}"#, error("", "", "", "m")),
            (
                r#"{"detail":[{"type":"missing","loc":["body","input",0,"content"],"msg":"m"}]}"#,
                error("", "missing", "input.0.content", "m"),
            ),
            (r#"{"detail":{"code":"c","message":"m"}}"#, error("c", "", "", "m")),
            (
                r#"{"object":"error","message":"m","type":"t","param":null,"code":400}"#,
                error("400", "t", "", "m"),
            ),
            (r#"[{"error":{"code":400,"message":"m"}}]"#, error("400", "", "", "m")),
            (r#"{"success":false,"errors":[{"code":5,"message":"m"}]}"#, error("5", "", "", "m")),
            (
                r#"{"error":{"code":400,"message":"m","metadata":{"raw":"r"}}}"#,
                error("400", "", "", "m raw: r"),
            ),
            (
                r#"{"error":{"message":"m","metadata":{"raw":{"message":"r"}}}}"#,
                error("", "", "", r#"m raw: {"message":"r"}"#),
            ),
            (r#""m""#, error("", "", "", "m")),
            (" upstream connect error\n", error("", "", "", "upstream connect error")),
            ("[]", ErrorBody::default()),
            ("7", ErrorBody::default()),
            ("", ErrorBody::default()),
        ] {
            assert_eq!(ErrorBody::read(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_long_error_keeps_its_message_and_a_number_as_its_code() {
        let (input, message) = ("x".repeat(TREE_BYTES), "maximum context length ".repeat(99));
        let long =
            format!(r#"{{"input":"{input}","message":"{message}","code":400,"param":null}}"#);
        let error = ErrorBody::of_error(&long);
        assert_eq!((error.code.as_deref(), error.param), (Some("400"), None));
        assert!(error.message.is_some_and(|kept| message.starts_with(&kept)));
    }

    #[test]
    fn an_error_object_is_told_from_a_page_though_it_is_cut() {
        for object in [
            r#"{"detail":"m"}"#,
            r#"[{"message":"m"}]"#,
            " {\"error\":{\"message\":\"1 va",
            "[{\"error\":{\"me",
        ] {
            assert!(ErrorBody::is_object(object.as_bytes()), "{object}");
        }
        for other in ["", "{}", "\"m\"", "\"cut", "<html>", "<html>{\"a\":", "{\"a\"}"] {
            assert!(!ErrorBody::is_object(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_kept_in_part_and_never_cut_inside_a_character() {
        let body = format!("<{}", "ä".repeat(PLAIN_MESSAGE_BYTES));
        let kept = ErrorBody::read(body.as_bytes()).message.unwrap();
        assert_eq!(kept.len(), PLAIN_MESSAGE_BYTES - 1);
        assert!(body.starts_with(&kept));
        assert_eq!(ErrorBody::read(b"\xff\xfe").message.as_deref(), Some("\u{fffd}\u{fffd}"));
    }

    #[test]
    fn a_lost_or_unsupported_previous_response_is_told_from_other_refusals() {
        for (status, body, expected) in [
            (400, error("previous_response_not_found", "", "", ""), true),
            (404, error("", "", "previous_response_id", "x"), true),
            (404, error("", "", "response_id", "x"), true),
            (400, error("", "", "", "Invalid value: Response with id r not found"), true),
            (400, error("", "", "", "Unknown: 'resp_1'."), true),
            (500, error("", "", "", "no such key: resp_1"), true),
            (400, error("", "", "", "Unknown: resp_12, xresp_1, resp_1-2"), false),
            (403, error("", "", "", "resp_1 is another's"), false),
            (400, error("", "", "", "llama.cpp does not support 'previous_response_id'."), true),
            (404, error("", "", "", "Previous response with id 'resp_1' not found."), true),
            (501, error("", "", "", "Previous responses are not supported"), true),
            (400, error("", "", "input", "No tool output found for function call c."), false),
            (400, error("", "", "", "The previous response was too long"), false),
            (429, error("", "", "", "previous_response_id used too often"), false),
            (500, error("", "", "", "previous_response_id lookup crashed"), false),
            (400, ErrorBody::default(), false),
        ] {
            let read = concerns_previous_response(Some(status), &body, Some("resp_1"));
            assert_eq!(read, expected, "{status} {body:?}");
        }
        for (body, expected) in [
            (error("", "", "", "400: Invalid value: Response with id resp-0 not found"), true),
            (error("", "", "", "no response resp_1"), true),
            (error("rate_limit_exceeded", "", "", "resp_1 came too fast"), false),
            (error("server_error", "", "", "try again"), false),
        ] {
            let read = concerns_previous_response(None, &body, Some("resp_1"));
            assert_eq!(read, expected, "{body:?}");
        }
    }

    #[test]
    fn a_service_that_stores_nothing_is_told_from_one_that_refuses_something_else() {
        let zero_retention =
            "Previous response cannot be used for this organization due to Zero Data Retention.";
        for (status, body, expected) in [
            (Some(400), error("unsupported_parameter", "", "", zero_retention), true),
            (Some(404), error("not-found", "", "", zero_retention), true),
            (Some(400), error("unsupported_value", "", "store", ""), true),
            (Some(400), error("", "", "", "Unknown parameter: 'store'."), true),
            (None, error("", "", "", "400: Store must be set to false"), true),
            (Some(501), error("", "", "", "`store=True` (default) is not supported."), true),
            (Some(429), error("", "", "store", ""), false),
            (Some(500), error("", "", "", "Store must be set to false"), false),
            (Some(400), error("invalid_prompt", "", "", "The store is closed"), false),
            (Some(404), error("", "", "", "No vector store vs_1"), false),
        ] {
            assert_eq!(concerns_storage(status, &body), expected, "{status:?} {body:?}");
        }
        for raw in [
            r#"[{"values":[false],"path":["store"]}]"#,
            r#""[\n  {\n    \"path\": [\n      \"store\"\n    ]\n  }\n]""#,
        ] {
            let error = r#"{"code":"invalid_prompt","message":"m"}"#;
            let body = format!(r#"{{"error":{error},"metadata":{{"raw":{raw}}}}}"#);
            assert!(concerns_storage(Some(400), &ErrorBody::read(body.as_bytes())), "{raw}");
        }
    }

    #[test]
    fn a_service_that_gives_no_reasoning_is_told_from_one_that_refuses_another_addition() {
        let unsupported = "reasoning.encrypted_content is not supported by Llama Stack.";
        let gateway = "litellm.BadRequestError: OpenAIException - {\n  \"error\": {\n    \"message\": \"Encrypted content is not supported with this model.\",\n    \"param\": \"include\"\n  }\n}";
        let listed = "Invalid value: 'x'. Supported values are: 'reasoning.encrypted_content'.";
        for (status, body, expected) in [
            (Some(400), error("", "", "", unsupported), true),
            (None, error("", "", "", unsupported), true),
            (Some(400), error("400", "", "", gateway), true),
            (Some(400), error("", "", "", "The encrypted content could not be verified."), false),
            (Some(400), error("unknown_parameter", "", "include", ""), true),
            (Some(400), error("invalid_value", "", "include[0]", ""), true),
            (Some(400), error("invalid_value", "", "include[1]", listed), false),
            (Some(500), error("", "", "", unsupported), false),
            (Some(400), error("", "", "reasoning.effort", ""), false),
        ] {
            let read = concerns_encrypted_reasoning(status, &body);
            assert_eq!(read, expected, "{status:?} {body:?}");
        }
    }

    #[test]
    fn a_refusal_of_the_input_is_told_from_a_refusal_of_a_setting() {
        for (status, body, expected) in [
            (400, error("invalid_prompt", "", "", "m"), true),
            (400, error("invalid_image_format", "", "url", "m"), true),
            (400, error("unsupported_file", "", "file_data", "m"), true),
            (400, error("invalid_value", "", "input[0].content[0].type", "m"), true),
            (422, error("", "missing", "input.0.content", "m"), true),
            (400, ErrorBody::default(), true),
            (400, error("", "", "", "This model's maximum context length is 8192 tokens."), true),
            (400, error("", "", "input", "No tool call found for call_id c."), true),
            (400, error("", "", "", "No tool output found for tool call c."), true),
            (
                400,
                error("model_not_found", "", "model", "The model 'input' does not exist."),
                false,
            ),
            (400, error("invalid_value", "", "tools[0].name", "m"), false),
            (400, error("", "", "tool_choice", "m"), false),
            (400, error("", "", "inputs", "m"), false),
            (400, error("decimal_below_min_value", "", "temperature", "m"), false),
            (400, error("invalid-argument", "", "", "Incorrect API key provided."), false),
            (400, error("invalid-argument", "", "", "Model not found: grok-0"), false),
            (400, error("", "", "", "Unsupported parameter: 'top_p'"), false),
            (400, error("insufficient_quota", "", "", ""), false),
            (400, error("previous_response_not_found", "", "previous_response_id", "m"), false),
            (401, error("invalid_prompt", "", "", ""), false),
            (429, error("", "", "input", ""), false),
            (500, error("", "", "input", ""), false),
        ] {
            assert_eq!(concerns_input(status, &body), expected, "{status} {body:?}");
        }
    }
}
