//! Whether a refusal of a request is about the schema of the answer.
//!
//! Source: the live API (`"param": "text.format.schema"`, `Invalid schema for response_format 'answer': …`), and gateways,
//! which name the member of Chat Completions, `response_format`.

use super::error_body::ErrorBody;
use super::refused_tool::refused_tool;

/// The places of the schema in a request, of the Responses API and of Chat Completions.
const PLACES: [&str; 2] = ["text.format", "response_format"];

/// Whether an error means the schema of that name, by its place or by its name. `status` is absent inside a successful
/// response.
pub fn concerns_schema(status: Option<u16>, error: &ErrorBody, name: &str) -> bool {
    if !matches!(status, None | Some(400 | 422)) {
        return false;
    }
    if let Some(param) = &error.param {
        let behind = PLACES.iter().find_map(|place| param.strip_prefix(place));
        return behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(['.', '[']));
    }
    let message = error.message.as_deref().unwrap_or_default();
    let quotes_name = || {
        let quoted = ['\'', '"', '`'].map(|quote| format!("{quote}{name}{quote}"));
        message.to_ascii_lowercase().contains("schema")
            && quoted.iter().any(|quoted| message.contains(quoted.as_str()))
    };
    PLACES.iter().any(|place| message.contains(place))
        || refused_tool(status, error).is_none() && quotes_name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_means_the_schema_by_its_place_or_by_its_name() {
        let of_schema =
            "Invalid schema for response_format 'answer': In context=(), 'x' is not permitted.";
        for (status, param, message, expected) in [
            (Some(400), "text.format.schema", of_schema, true),
            (Some(400), "text.format", "", true),
            (Some(400), "text.format[schema]", "", true),
            (Some(422), "response_format.json_schema", "", true),
            (None, "", of_schema, true),
            (Some(400), "", "Invalid 'text.format.name': string too long.", true),
            (Some(400), "", "The schema `answer` has more than 100 properties.", true),
            (Some(400), "", "The schema answers nothing.", false),
            (Some(400), "", "Invalid schema for function 'answer': no.", false),
            (Some(400), "tools[0].parameters", of_schema, false),
            (Some(400), "input[3]", of_schema, false),
            (Some(400), "text.formatting", "", false),
            (Some(400), "text.verbosity", "", false),
            (Some(400), "", "'answer' is no word.", false),
            (Some(500), "text.format.schema", of_schema, false),
        ] {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let error =
                ErrorBody { param: text(param), message: text(message), ..ErrorBody::default() };
            assert_eq!(concerns_schema(status, &error, "answer"), expected, "{param} {message}");
        }
    }
}
