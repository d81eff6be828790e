//! The result of a call as tool results are here (interface §11): data, or content parts where there is a picture.
//!
//! Only what the answer holds goes on: links, sounds and files are named and never followed, and no text of a server
//! can pass for a content part, by which the model service could be sent to an address.

use super::failure::McpFailure;
use super::message::{quoted, text_of};
use crate::contract::ToolOutcome;
use crate::encoding::canonical_base64;
use crate::json::{first_member, for_each_element};
use crate::outbound::ServiceFailure;

/// The largest result, in bytes.
const RESULT_BYTES: usize = 1_000_000;

/// The longest name of what is only named, in bytes.
const NAME_BYTES: usize = 200;

/// The pictures that models see.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// The outcome that a result of `tools/call` tells of.
pub(super) fn outcome(result: &str) -> Result<ToolOutcome, McpFailure> {
    let member = |name| first_member(result, name);
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    if let Some(content) = member("content").filter(|content| *content != "null") {
        for_each_element(content, |block| match picture(block) {
            Some(picture) => pictures.push(picture),
            None => texts.push(text(block)),
        })
        .map_err(|_| McpFailure::NoAnswer)?;
    }
    let text = texts.join("\n");
    let structured = member("structuredContent").filter(|value| *value != "null");
    if member("isError") == Some("true") {
        let said = Some(text.as_str()).filter(|text| !text.trim().is_empty()).or(structured);
        let said = said.unwrap_or("The tool failed and gave no reason.");
        // As JSON it may be six times as long.
        bounded(quoted(said))?;
        return Ok(ToolOutcome::Error(said.to_owned()));
    }
    let said = structured.unwrap_or(&text);
    let result = match structured {
        // A list by itself could be taken for content parts.
        Some(value) if pictures.is_empty() && !value.starts_with('[') => value.to_owned(),
        None if pictures.is_empty() => quoted(said),
        _ => {
            let part = |kind: &str, member: &str, value: &str| {
                format!(r#"{{"type":"{kind}","{member}":{}}}"#, quoted(value))
            };
            let text = (!said.is_empty()).then(|| part("input_text", "text", said));
            let pictures = pictures.iter().map(|url| part("input_image", "image_url", url));
            format!("[{}]", text.into_iter().chain(pictures).collect::<Vec<_>>().join(","))
        }
    };
    bounded(result).map(ToolOutcome::Result)
}

fn bounded(text: String) -> Result<String, McpFailure> {
    match text.len() > RESULT_BYTES {
        true => Err(ServiceFailure::TooLarge(RESULT_BYTES).into()),
        false => Ok(text),
    }
}

/// The `data:` URL of a content block that is a picture.
fn picture(block: &str) -> Option<String> {
    text_of(block, "type").filter(|kind| kind == "image")?;
    let kind = text_of(block, "mimeType").filter(|kind| PICTURES.contains(&kind.as_ref()))?;
    let data = canonical_base64(text_of(block, "data")?.into_owned())?;
    Some(format!("data:{kind};base64,{data}"))
}

/// A content block as text: its own, or a line that names it.
fn text(block: &str) -> String {
    let kind = text_of(block, "type").unwrap_or_default();
    let resource = first_member(block, "resource").unwrap_or_default();
    let own = match kind.as_ref() {
        "text" => text_of(block, "text"),
        "resource" => text_of(resource, "text"),
        _ => None,
    };
    if let Some(own) = own {
        return own.into_owned();
    }
    let said = [(block, "name"), (resource, "uri"), (block, "mimeType"), (resource, "mimeType")];
    let said = said.into_iter().filter_map(|(object, member)| text_of(object, member));
    let mut line = format!("[{kind}");
    for name in said {
        let name = name.get(..name.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
        line.push(' ');
        // A name of several lines could pass for something else.
        line.extend(name.chars().filter(|character| !character.is_control()));
    }
    line.truncate(line.floor_char_boundary(2 * NAME_BYTES));
    line + "]"
}
