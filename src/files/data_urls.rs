//! Contents of files in a tool's result that is a list of content parts (AGN-033 §6.1; interface §4, §8): an
//! `input_image` or an `input_file` with a `data:` URL.
//!
//! The model gets the parts as they are. Clients are shown a reference in the place of the contents, or their type and
//! size where they are not kept.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::files_member::{FILES, ListedFile, NAME, fits_a_line};
use super::hashed_contents::HashedContents;
use super::keep::{keep_all, yield_after_long_work};
use super::text_check::embeds_contents;
use super::{FileLinks, OutputFile};
use crate::encoding::{base64_bytes, canonical_base64, essence, is_media_type};
use crate::json::{Node, any_text, first_member, for_each_element, for_each_member};
use crate::ports::Platform;

/// A part of a result, with its contents where it has any.
struct ResultPart<'r> {
    json: &'r str,
    embedded: Option<Embedded<'r>>,
}

/// The contents in a part.
struct Embedded<'r> {
    /// The part's member that holds them.
    member: &'static str,
    /// As the part's `filename` says, where that can be a name.
    name: Option<Cow<'r, str>>,
    mime_type: String,
    bytes: Vec<u8>,
}

/// Keeps the contents in a result's parts, `most` at most, and returns their files. Contents that cannot be kept are left
/// out: the result is there, and the model has it. `made` files of the turn stand before them.
pub async fn keep_part_contents<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    result: &str,
    made: usize,
    most: usize,
) -> Vec<OutputFile> {
    let yield_after = yield_after_long_work(platform);
    let embedded = parts(result).into_iter().flatten().filter_map(|part| part.embedded);
    let mut files = Vec::new();
    for (index, Embedded { name, mime_type, bytes, .. }) in
        embedded.take(most.min(FILES)).enumerate()
    {
        let number = made + index + 1;
        let contents = HashedContents::of(bytes, &yield_after).await;
        let name = name.map_or_else(|| name_by_type(&mime_type, number), Cow::into_owned);
        files.push(ListedFile::unlisted(name, mime_type, contents));
    }
    let kept = keep_all(platform, links, files).await;
    kept.into_iter().filter_map(Result::ok).collect()
}

/// The result as clients are shown it: `File` stands in the place of a part's contents, a reference to one of `files`, or
/// `MimeType` and `SizeBytes` alone. `None` when no part has contents.
pub async fn without_part_contents<P: Platform>(
    platform: &P,
    files: &[OutputFile],
    result: &str,
) -> Option<String> {
    let parts = parts(result)?;
    if parts.iter().all(|part| part.embedded.is_none()) {
        return None;
    }
    let yield_after = yield_after_long_work(platform);
    let mut shown = Vec::with_capacity(parts.len());
    for ResultPart { json, embedded } in parts {
        let Some(Embedded { member, mime_type, bytes, .. }) = embedded else {
            shown.push(json.to_owned());
            continue;
        };
        let contents = HashedContents::of(bytes, &yield_after).await;
        let is_same = |file: &&OutputFile| file.sha256.as_deref() == Some(&contents.sha256);
        let file = match files.iter().find(is_same) {
            Some(file) => serde_json::to_string(&file.reference).unwrap_or_default(),
            None => json!({ "MimeType": mime_type, "SizeBytes": contents.bytes.len() }).to_string(),
        };
        shown.push(with_file(json, member, &file));
    }
    Some(format!("[{}]", shown.join(",")))
}

/// Whether a result holds contents of a file under a name of the tool's own: in any of its texts.
pub fn embeds_contents_of_its_own(result: &str) -> bool {
    any_text(result, embeds_contents).unwrap_or(false)
}

/// The parts of a result that is a list.
fn parts(result: &str) -> Option<Vec<ResultPart<'_>>> {
    if !result.trim_ascii_start().starts_with('[') {
        return None;
    }
    let mut parts = Vec::new();
    for_each_element(result, |json| parts.push(ResultPart { json, embedded: embedded(json) }))
        .ok()?;
    Some(parts)
}

fn embedded(part: &str) -> Option<Embedded<'_>> {
    let text = |name: &str| Node::root(first_member(part, name)?).as_text();
    let member = match text("type")?.as_ref() {
        "input_image" => "image_url",
        "input_file" => "file_data",
        _ => return None,
    };
    let given = text(member)?;
    let (mime_type, data) = match given.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?,
        // Some model services take the data of a file alone.
        None if member == "file_data" => ("", given.as_ref()),
        None => return None,
    };
    let bytes = base64_bytes(&canonical_base64(data.to_owned())?)?;
    let mime_type = Some(essence(mime_type)).filter(|known| is_media_type(known));
    Some(Embedded {
        member,
        name: text("filename").filter(|name| fits_a_line(name, NAME)),
        mime_type: mime_type.unwrap_or("application/octet-stream").to_owned(),
        bytes,
    })
}

/// The part with its file in the place of the member that held the contents.
fn with_file(part: &str, replaced: &str, file: &str) -> String {
    let mut members = Vec::new();
    // A part is read a second time, so it is an object.
    let _ = for_each_member(part, |name, json| {
        members.push(match name == replaced {
            true => format!("\"File\":{file}"),
            false => format!("{}:{json}", Value::from(name.as_ref())),
        });
    });
    format!("{{{}}}", members.join(","))
}

/// The name of a file that has none: its kind, its number in the turn, and the usual ending.
pub(super) fn name_by_type(mime_type: &str, number: usize) -> String {
    let ending = match mime_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "application/pdf" => "pdf",
        _ => "bin",
    };
    let kind = if mime_type.starts_with("image/") { "picture" } else { "file" };
    format!("{kind}_{number}.{ending}")
}
