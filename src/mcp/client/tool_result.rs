//! The result of a call in the form of tool results (interface §11): data, or content parts where there is an image.
//!
//! The result holds only what the response holds: links, sounds and files are named and never followed. No text of a
//! server can pass for a content part, which could make the model service fetch an address.

use super::failure::McpFailure;
use super::message::{json_string, string_member};
use crate::contract::ToolOutcome;
use crate::encoding::canonical_base64;
use crate::json::{first_member, for_each_element};
use crate::outbound::ServiceFailure;

/// The largest result, in bytes.
const RESULT_BYTES: usize = 1_000_000;

/// The longest name of a block that is only named, in bytes.
const NAME_BYTES: usize = 200;

/// The media types of images that models accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// The outcome of a call, by the result of `tools/call`.
pub(super) fn outcome_of(result: &str) -> Result<ToolOutcome, McpFailure> {
    let member = |name| first_member(result, name);
    // A million blocks of a few bytes must not become a million texts.
    let (mut text, mut images, mut is_first) = (String::new(), Vec::new(), true);
    if let Some(content) = member("content").filter(|content| *content != "null") {
        for_each_element(content, |block| match image_url(block) {
            Some(url) => images.push(url),
            None => {
                if !std::mem::take(&mut is_first) {
                    text.push('\n');
                }
                text.push_str(&block_text(block));
            }
        })
        .map_err(|_| McpFailure::NoResult)?;
    }
    let structured = member("structuredContent").filter(|value| *value != "null");
    if member("isError") == Some("true") {
        let reason = Some(text.as_str()).filter(|text| !text.trim().is_empty()).or(structured);
        let reason = reason.unwrap_or("The tool failed and gave no reason.");
        // Escapes may make the text six times as long.
        bounded(json_string(reason))?;
        return Ok(ToolOutcome::Error(reason.to_owned()));
    }
    let content = structured.unwrap_or(&text);
    let result = match structured {
        // A list alone could pass for content parts.
        Some(value) if images.is_empty() && !value.starts_with('[') => value.to_owned(),
        None if images.is_empty() => json_string(content),
        _ => {
            let part = |kind: &str, member: &str, value: &str| {
                format!(r#"{{"type":"{kind}","{member}":{}}}"#, json_string(value))
            };
            let text = (!content.is_empty()).then(|| part("input_text", "text", content));
            let images = images.iter().map(|url| part("input_image", "image_url", url));
            format!("[{}]", text.into_iter().chain(images).collect::<Vec<_>>().join(","))
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

/// The `data:` URL of a content block that is an image.
fn image_url(block: &str) -> Option<String> {
    string_member(block, "type").filter(|kind| kind == "image")?;
    let kind = match string_member(block, "mimeType")?.as_ref() {
        // The official SDK for Python writes it for a picture whose format is called so.
        "image/jpg" => "image/jpeg",
        kind => *IMAGE_TYPES.iter().find(|known| **known == kind)?,
    };
    let data = canonical_base64(string_member(block, "data")?.into_owned())?;
    Some(format!("data:{kind};base64,{data}"))
}

/// A content block as text: its own text, or a line that names it.
fn block_text(block: &str) -> String {
    let kind = string_member(block, "type").unwrap_or_default();
    let resource = first_member(block, "resource").unwrap_or_default();
    let own = match kind.as_ref() {
        "text" => string_member(block, "text"),
        "resource" => string_member(resource, "text"),
        _ => None,
    };
    if let Some(own) = own {
        return own.into_owned();
    }
    let names = [(block, "name"), (resource, "uri"), (block, "mimeType"), (resource, "mimeType")];
    let names = names.into_iter().filter_map(|(object, member)| string_member(object, member));
    let mut line = format!("[{kind}");
    for name in names {
        let name = name.get(..name.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
        line.push(' ');
        // A name of several lines could pass for other content.
        line.extend(name.chars().filter(|character| !character.is_control()));
    }
    line.truncate(line.floor_char_boundary(2 * NAME_BYTES));
    line + "]"
}
