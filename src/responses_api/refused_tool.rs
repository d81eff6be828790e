//! The tool that a refusal of a request names.
//!
//! Source: the live API (`"param": "tools[7].parameters"`, `Invalid schema for function 'build': …`), and Python services,
//! whose places are joined by points.

use super::error_body::ErrorBody;

/// A tool of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedTool<'a> {
    /// By its place in `tools`.
    At(usize),
    Named(&'a str),
}

/// The tool that a refusal names. `status` is absent inside a successful response.
pub fn refused_tool(status: Option<u16>, error: &ErrorBody) -> Option<RefusedTool<'_>> {
    if !matches!(status, None | Some(400 | 422)) {
        return None;
    }
    let message = error.message.as_deref().unwrap_or_default();
    let place = match error.param.as_deref() {
        Some(param) => param.strip_prefix("tools").and_then(number_of),
        None => message
            .match_indices("tools")
            .find_map(|(at, word)| message.get(at + word.len()..).and_then(number_of)),
    };
    place.map(RefusedTool::At).or_else(|| {
        let (_, rest) = message.split_once("schema for function '")?;
        rest.split_once('\'').map(|(name, _)| RefusedTool::Named(name))
    })
}

/// The number in `[7]…` or `.7…`, or in Python's `', 7…`.
fn number_of(rest: &str) -> Option<usize> {
    let rest = rest.strip_prefix("', ").or_else(|| rest.strip_prefix(['[', '.']))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_a_tool_by_its_place_or_by_its_name() {
        let schema = "Invalid schema for function 'build': In context=(), 'x' is not valid.";
        let refused = |status, param: &str, message: &str| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let error =
                ErrorBody { param: text(param), message: text(message), ..ErrorBody::default() };
            let tool = refused_tool(Some(status), &error);
            tool.map(|tool| match tool {
                RefusedTool::At(place) => place.to_string(),
                RefusedTool::Named(name) => name.to_owned(),
            })
        };
        for (status, param, message, expected) in [
            (400, "tools[7].parameters", schema, Some("7")),
            (400, "tools[12]", "", Some("12")),
            (422, "tools.3.function.name", "", Some("3")),
            (400, "", "Invalid 'tools[0].name': string too long.", Some("0")),
            (400, "", "Invalid value at tools[7].parameters: x", Some("7")),
            (422, "", "body: the tools are wrong: ('body', 'tools', 7, 'parameters')", Some("7")),
            (400, "", schema, Some("build")),
            (400, "tools", "Too many tools.", None),
            (400, "input[7]", "", None),
            (400, "tools[99999999999999999999999]", "", None),
            (500, "tools[7]", "", None),
        ] {
            assert_eq!(refused(status, param, message).as_deref(), expected, "{param} {message}");
        }
    }
}
