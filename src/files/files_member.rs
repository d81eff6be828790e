//! Reading `Files` in a tool's result (interface §8; AGN-033 §6).
//!
//! It owns the rules of an entry. It keeps nothing and makes no link; `keep` does both.
//!
//! A list of objects under the name `Files` is a list of files; anything else under that name belongs
//! to the tool. The text of a problem follows "its answer's " and never repeats a value, which could be
//! the contents of a file.

use std::ops::Range;

use super::hashed_contents::{HashedContents, SLICE_BYTES};
use crate::contract::FileRef;
use crate::encoding::{
    TextHashes, TextHashing, base64_bytes, canonical_base64, disturbs_a_line, is_media_type,
    is_point_in_time,
};
use crate::json::{for_each_element, for_each_member};

/// The most files of one result; the bucket writes each by itself.
pub(super) const FILES: usize = 100;

/// The longest members of an entry, in characters.
pub(super) const NAME: usize = 255;
const MIME_TYPE: usize = 255;
const DESCRIPTION: usize = 10_000;
const URL: usize = 8_192;
const CONTENT_EXPIRES: usize = 64;

/// The members of an entry.
const MEMBERS: [&str; 9] = [
    "Name",
    "MimeType",
    "Description",
    "Text",
    "DataBase64",
    "Url",
    "SizeBytes",
    "ContentHash",
    "ContentExpires",
];

/// An entry of `Files`.
pub(super) struct ListedFile {
    /// Without `Url` and `ContentExpires` when the result holds the contents: they have no link yet.
    pub(super) reference: FileRef,
    /// The contents to keep; `None` for a file that is kept elsewhere.
    pub(super) contents: Option<HashedContents>,
}

impl ListedFile {
    /// Contents that no `Files` lists: a picture, or those in a part of a result.
    pub(super) fn unlisted(name: String, mime_type: String, contents: HashedContents) -> Self {
        let reference = FileRef {
            name,
            mime_type,
            size_bytes: contents.bytes.len() as u64,
            content_hash: contents.sha256.clone(),
            ..FileRef::default()
        };
        Self { reference, contents: Some(contents) }
    }
}

/// Reads the files that a tool's result lists, and where the list stands in the result, in bytes; `None` when it lists
/// none, an error for a malformed list.
/// `yield_after` follows each piece of work, with its bytes.
pub(super) async fn listed_files(
    result: &str,
    yield_after: &impl AsyncFn(usize),
) -> Result<Option<(Vec<ListedFile>, Range<usize>)>, String> {
    let Some(list) = list_of_files(result)? else { return Ok(None) };
    yield_after(result.len()).await;
    let mut entries = Vec::new();
    let walked = for_each_element(list, |entry| entries.push(entry));
    if walked.is_err() || entries.is_empty() || !entries.iter().all(|json| json.starts_with('{')) {
        return Ok(None);
    }
    if entries.len() > FILES {
        return Err(format!("Files has more than {FILES} entries"));
    }
    yield_after(list.len()).await;
    let mut files = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let read = file(entry, yield_after).await;
        files.push(read.map_err(|problem| format!("Files[{index}]{problem}"))?);
    }
    // The list is a slice of the result.
    let start = list.as_ptr().addr().saturating_sub(result.as_ptr().addr());
    Ok(Some((files, start..start + list.len())))
}

/// The value of `Files`.
fn list_of_files(result: &str) -> Result<Option<&str>, String> {
    if !result.trim_ascii_start().starts_with('{') {
        return Ok(None);
    }
    match members(result, ["Files"]) {
        Ok([files]) => Ok(files),
        Err(Unreadable::Repeated) => Err("Files is there more than once".to_owned()),
        // A result with a member name that is not valid Unicode belongs to the tool.
        Err(Unreadable::Malformed) => Ok(None),
    }
}

/// Why the members of an object cannot be read.
enum Unreadable {
    /// A member of interest is there more than once.
    Repeated,
    /// The text is no JSON object, or a name is not valid Unicode.
    Malformed,
}

/// The JSON of an object's members of these names; `null` counts as absent. Other members are ignored.
fn members<'a, const N: usize>(
    object: &'a str,
    names: [&str; N],
) -> Result<[Option<&'a str>; N], Unreadable> {
    let mut values = [None; N];
    let mut is_repeated = false;
    let walked = for_each_member(object, |name, json| {
        if let Some((_, value)) = names.iter().zip(&mut values).find(|(known, _)| **known == name) {
            is_repeated |= value.replace(json).is_some();
        }
    });
    match (is_repeated, walked) {
        (true, _) => Err(Unreadable::Repeated),
        (false, Err(_)) => Err(Unreadable::Malformed),
        (false, Ok(())) => Ok(values.map(|value| value.filter(|json| *json != "null"))),
    }
}

/// Reads one entry. The text of an error follows `Files[n]`.
async fn file(entry: &str, yield_after: &impl AsyncFn(usize)) -> Result<ListedFile, String> {
    let bytes = entry.len();
    let [name, mime_type, description, inline, data_base64, url, size_bytes, content_hash, expires] =
        members(entry, MEMBERS).map_err(|unreadable| match unreadable {
            Unreadable::Repeated => " has a member more than once",
            Unreadable::Malformed => " has a name that is no text",
        })?;
    yield_after(bytes).await;
    let name = line("Name", name, NAME)?;
    let mime_type = line("MimeType", mime_type, MIME_TYPE)?;
    if !is_media_type(&mime_type) {
        return Err(".MimeType must be a media type such as text/plain".to_owned());
    }
    let described = |value| {
        text(value).filter(|text| text.chars().count() <= DESCRIPTION).ok_or_else(|| {
            format!(".Description must be a text of at most {DESCRIPTION} characters")
        })
    };
    let mut reference = FileRef {
        name,
        mime_type,
        description: description.map(described).transpose()?,
        ..FileRef::default()
    };
    let contents = match (inline, data_base64, url) {
        (Some(given), None, None) => {
            let text = text(given).ok_or(".Text must be a text")?;
            yield_after(bytes).await;
            let TextHashes { content, sha256, .. } = hashes_of(&text, yield_after).await;
            reference.content_hash = content;
            Some(HashedContents { bytes: text.into_bytes(), sha256 })
        }
        (None, Some(given), None) => {
            let encoded = text(given).and_then(canonical_base64);
            yield_after(bytes).await;
            let decoded = encoded
                .and_then(|text| base64_bytes(&text))
                .ok_or(".DataBase64 must be base64 in the standard alphabet (A-Z a-z 0-9 + /)")?;
            let contents = HashedContents::of(decoded, yield_after).await;
            reference.content_hash.clone_from(&contents.sha256);
            Some(contents)
        }
        (None, None, Some(given)) => {
            reference.url = line("Url", Some(given), URL)?;
            if !is_absolute_web_url(&reference.url) {
                return Err(".Url must be an absolute http or https URL".to_owned());
            }
            reference.size_bytes = size_bytes
                .and_then(|given| serde_json::from_str(given).ok())
                .ok_or(".SizeBytes must be a whole number, 0 or more, beside Url")?;
            // The keeper of the file chooses the hash function.
            let is_hash = |hash: &String| {
                (1..=128).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_graphic())
            };
            reference.content_hash = content_hash
                .and_then(text)
                .filter(is_hash)
                .ok_or(".ContentHash must be 1 to 128 visible ASCII characters beside Url")?;
            reference.content_expires = expires.map(expiry).transpose()?;
            None
        }
        _ => return Err(" must have exactly one of Text, DataBase64 and Url".to_owned()),
    };
    if let Some(contents) = &contents {
        reference.size_bytes = contents.bytes.len() as u64;
    }
    Ok(ListedFile { reference, contents })
}

async fn hashes_of(text: &str, yield_after: &impl AsyncFn(usize)) -> TextHashes {
    let mut hashing = TextHashing::of(text);
    loop {
        if let Some(hashes) =
            (0..SLICE_BYTES / TextHashing::STEP_BYTES).find_map(|_| hashing.advance())
        {
            return hashes;
        }
        yield_after(SLICE_BYTES).await;
    }
}

fn text(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// Whether a text has 1 to `longest` characters and stands on a line as it is.
pub(super) fn fits_a_line(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.chars().count()) && !text.chars().any(disturbs_a_line)
}

fn line(member: &str, value: Option<&str>, longest: usize) -> Result<String, String> {
    value.and_then(text).filter(|text| fits_a_line(text, longest)).ok_or_else(|| {
        format!(".{member} must be a text of 1 to {longest} characters, none of them a control character, a line separator or a bidirectional control")
    })
}

/// Whether a URL is an absolute http or https URL, unlike a `data:` URL.
fn is_absolute_web_url(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let has_host = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    let is_plain = url.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b));
    is_web && has_host && is_plain
}

fn expiry(value: &str) -> Result<String, String> {
    let given = line("ContentExpires", Some(value), CONTENT_EXPIRES)?;
    let problem = || ".ContentExpires must be like 2026-01-02T03:04:05Z".to_owned();
    is_point_in_time(&given).then_some(given).ok_or_else(problem)
}
