//! Reading `Files` in a tool's result (interface §8; AGN-033 §6).
//!
//! It owns the rules of an entry. It keeps nothing and makes no link: that is `tool_files`'s.
//!
//! `Files` is taken for files when it is a list of objects; anything else under that name is the
//! tool's own. Problems are worded to be read behind "its answer's ", and never repeat a value: it
//! could be the contents of a file.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::encoding::{
    canonical_base64, content_hash_of_bytes, content_hash_of_text, is_media_type, is_point_in_time,
};

/// The most files of one result: each is a write of its own.
const FILES: usize = 100;

/// The longest `Description`, in characters.
const DESCRIPTION: usize = 10_000;

/// The longest `Name`, in characters.
const NAME: usize = 255;

/// The longest `MimeType`, in characters.
const MIME_TYPE: usize = 255;

/// The longest `Url`, in characters.
const URL: usize = 8_192;

/// The files that a tool's result lists.
pub(super) struct ListedFiles {
    /// At least one.
    pub(super) files: Vec<ToolFile>,
    /// Where the list stands in the result, in bytes.
    pub(super) place: Range<usize>,
}

/// A file as a tool gave it.
pub(super) struct ToolFile {
    pub(super) name: String,
    pub(super) mime_type: String,
    pub(super) description: Option<String>,
    pub(super) content: Content,
}

/// Where the contents of a file are.
pub(super) enum Content {
    /// In the result, to be kept.
    Here { contents: Vec<u8>, content_hash: String },
    /// At the URL.
    Elsewhere {
        url: String,
        size_bytes: u64,
        content_hash: String,
        content_expires: Option<String>,
    },
}

/// Reads the files that a tool's result lists; `None` when it lists none.
///
/// # Errors
/// What is wrong with `Files`.
pub(super) fn listed_files(result: &str) -> Result<Option<ListedFiles>, String> {
    let Some(list) = list_of_files(result)? else { return Ok(None) };
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(list.get()) else { return Ok(None) };
    if entries.is_empty() || !entries.iter().all(|entry| entry.get().starts_with('{')) {
        return Ok(None);
    }
    if entries.len() > FILES {
        return Err(format!("Files has more than {FILES} entries"));
    }
    let read = |(index, entry): (usize, &RawValue)| {
        file(entry).map_err(|problem| format!("Files[{index}]{problem}"))
    };
    let files = entries.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
    // The list is a part of the result's own text.
    let start = list.get().as_ptr().addr().saturating_sub(result.as_ptr().addr());
    Ok(Some(ListedFiles { files, place: start..start + list.get().len() }))
}

/// The value of `Files`.
fn list_of_files(result: &str) -> Result<Option<&RawValue>, String> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(rename = "Files", borrow)]
        files: Option<&'a RawValue>,
    }
    if !result.trim_ascii_start().starts_with('{') {
        return Ok(None);
    }
    match serde_json::from_str(result) {
        Ok(Members { files }) => Ok(files),
        Err(fault) if is_repeated(&fault) => Err("Files is there more than once".to_owned()),
        // A name that is no Unicode text: it is the tool's own.
        Err(_) => Ok(None),
    }
}

/// An entry of `Files`, its members not read yet. Members that have no place here are left out.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", bound(deserialize = "'de: 'a"))]
struct Listed<'a> {
    name: Option<&'a RawValue>,
    mime_type: Option<&'a RawValue>,
    description: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    #[serde(rename = "DataBase64")]
    data_base64: Option<&'a RawValue>,
    url: Option<&'a RawValue>,
    size_bytes: Option<&'a RawValue>,
    content_hash: Option<&'a RawValue>,
    content_expires: Option<&'a RawValue>,
}

/// Reads one entry.
///
/// # Errors
/// What is wrong with it, to be read behind `Files[n]`.
fn file(entry: &RawValue) -> Result<ToolFile, String> {
    let listed: Listed<'_> = serde_json::from_str(entry.get()).map_err(|fault| {
        let repeated = is_repeated(&fault);
        if repeated { " has a member more than once" } else { " has a name that is no text" }
    })?;
    let name = text("Name", listed.name, NAME)?;
    let mime_type = text("MimeType", listed.mime_type, MIME_TYPE)?;
    if !is_media_type(&mime_type) {
        return Err(".MimeType must be a media type such as text/plain".to_owned());
    }
    let description = match listed.description {
        None => None,
        value => {
            Some(given_text(value).filter(|text| text.chars().count() <= DESCRIPTION).ok_or_else(
                || format!(".Description must be a text of at most {DESCRIPTION} characters"),
            )?)
        }
    };
    let content = match (listed.text, listed.data_base64, listed.url) {
        (Some(value), None, None) => {
            let given = given_text(Some(value)).ok_or(".Text must be a text")?;
            let content_hash = content_hash_of_text(&given);
            Content::Here { contents: given.into_bytes(), content_hash }
        }
        (None, Some(value), None) => {
            let encoded = given_text(Some(value)).and_then(canonical_base64);
            let contents = encoded
                .and_then(|text| STANDARD.decode(text).ok())
                .ok_or(".DataBase64 must be base64 in the standard alphabet (A-Z a-z 0-9 + /)")?;
            let content_hash = content_hash_of_bytes(&contents);
            Content::Here { contents, content_hash }
        }
        (None, None, Some(url)) => Content::Elsewhere {
            url: url_elsewhere(url)?,
            size_bytes: size(listed.size_bytes)?,
            content_hash: given_hash(listed.content_hash)?,
            content_expires: listed.content_expires.map(expiry).transpose()?,
        },
        _ => return Err(" must have exactly one of Text, DataBase64 and Url".to_owned()),
    };
    Ok(ToolFile { name, mime_type, description, content })
}

fn is_repeated(fault: &serde_json::Error) -> bool {
    fault.to_string().starts_with("duplicate field")
}

fn given_text(value: Option<&RawValue>) -> Option<String> {
    value.and_then(|value| serde_json::from_str(value.get()).ok())
}

/// A text that is not empty, not too long, and holds no control character.
fn text(member: &str, value: Option<&RawValue>, longest: usize) -> Result<String, String> {
    let fits = |text: &String| {
        (1..=longest).contains(&text.chars().count()) && !text.chars().any(char::is_control)
    };
    given_text(value).filter(fits).ok_or_else(|| {
        format!(".{member} must be a text of 1 to {longest} characters, none of them a control character")
    })
}

/// An address on the web, never a `data:` URL.
fn url_elsewhere(value: &RawValue) -> Result<String, String> {
    let url = text("Url", Some(value), URL)?;
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let has_host = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    let is_plain = url.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b));
    if is_web && has_host && is_plain {
        Ok(url)
    } else {
        Err(".Url must be an absolute http or https URL".to_owned())
    }
}

fn size(value: Option<&RawValue>) -> Result<u64, String> {
    value
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .ok_or_else(|| ".SizeBytes must be a whole number, 0 or more, beside Url".to_owned())
}

/// Any hash: whoever keeps the file decides how its contents are hashed.
fn given_hash(value: Option<&RawValue>) -> Result<String, String> {
    given_text(value)
        .filter(|hash| {
            (1..=128).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_graphic())
        })
        .ok_or_else(|| {
            ".ContentHash must be 1 to 128 visible ASCII characters beside Url".to_owned()
        })
}

fn expiry(value: &RawValue) -> Result<String, String> {
    let given = text("ContentExpires", Some(value), 64)?;
    if is_point_in_time(&given) {
        Ok(given)
    } else {
        Err(".ContentExpires must be like 2026-01-02T03:04:05Z".to_owned())
    }
}
