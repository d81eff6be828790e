//! Files in a tool's answer (the interface, section 8; AGN-033 §6): contents are kept apart, and what
//! goes on, to the model, the transcript and the client, is a reference.
//!
//! `Files` is taken for files when it is a list of objects; anything else under that name is the
//! tool's own. A file that is not as it should be is the tool's failure: leaving it out would lose
//! it, and passing it on could carry contents where none may be.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::OutputFile;
use super::{FileId, FileLink};
use crate::contract::FileRef;
use crate::encoding::{
    canonical_base64, content_hash_of_bytes, content_hash_of_text, is_media_type, timestamp,
};
use crate::ports::{FileFault, Platform};

/// The most files of one answer: each is a write of its own.
const FILES: usize = 100;

/// The longest `Description`, in characters.
const DESCRIPTION: usize = 10_000;

/// The longest `Name`, in characters.
const NAME: usize = 255;

/// The longest `MimeType`, in characters.
const MIME_TYPE: usize = 255;

/// The longest `Url`, in characters.
const URL: usize = 8_192;

/// Why a tool's files could not be taken. The text is meant for the client and the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFailure {
    /// What is wrong with `Files`.
    #[error("its answer's {0}")]
    Malformed(String),
    /// The deployment has no bucket, or no key for links.
    #[error(
        "it answered with files, and this deployment has no place for them (bucket FILES, secret FILE_LINK_KEY)"
    )]
    NoPlace,
    /// The bucket failed.
    #[error("its files could not be kept")]
    NotKept,
}

/// What links to kept files are made of.
#[derive(Clone, Copy, Debug)]
pub struct FileLinks<'a> {
    /// Where clients reach the deployment: scheme and authority.
    pub origin: &'a str,
    /// How long a link is good for, in seconds.
    pub ttl_s: u64,
}

/// An entry of `Files`, its members not read yet. Those that are not here are left out.
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

/// A file as a tool gave it.
struct ToolFile {
    name: String,
    mime_type: String,
    description: Option<String>,
    content: Content,
}

enum Content {
    Here {
        contents: Vec<u8>,
        content_hash: String,
    },
    Elsewhere {
        url: String,
        size_bytes: u64,
        content_hash: String,
        content_expires: Option<String>,
    },
}

/// Keeps the files in a tool's answer, and gives the answer with references in their place. When one
/// is malformed, none is kept.
pub async fn keep_files<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    answer: String,
) -> Result<(String, Vec<OutputFile>), FileFailure> {
    let Some(Listing { entries, place }) = listing(&answer)? else {
        return Ok((answer, Vec::new()));
    };
    let read: Vec<ToolFile> = entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            file(entry)
                .map_err(|problem| FileFailure::Malformed(format!("Files[{index}]{problem}")))
        })
        .collect::<Result<_, _>>()?;
    let kept = join_all(read.into_iter().map(|file| keep(platform, links, file))).await;
    let files: Vec<OutputFile> = kept.into_iter().collect::<Result<_, _>>()?;
    let references: Vec<&FileRef> = files.iter().map(|file| &file.reference).collect();
    let references = serde_json::to_string(&references).unwrap_or_default();
    let (before, after) = (answer.get(..place.start), answer.get(place.end..));
    Ok(([before.unwrap_or_default(), &references, after.unwrap_or_default()].concat(), files))
}

/// The value of `Files`.
struct Listing<'a> {
    entries: Vec<&'a RawValue>,
    /// Where it stands in the answer.
    place: Range<usize>,
}

fn listing(answer: &str) -> Result<Option<Listing<'_>>, FileFailure> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(rename = "Files", borrow)]
        files: Option<&'a RawValue>,
    }
    if !answer.trim_ascii_start().starts_with('{') {
        return Ok(None);
    }
    let Answer { files } = match serde_json::from_str(answer) {
        Ok(answer) => answer,
        Err(fault) if is_repeated(&fault) => {
            return Err(FileFailure::Malformed("Files is there more than once".to_owned()));
        }
        // A name that is no Unicode text: it is the tool's own.
        Err(_) => return Ok(None),
    };
    let Some(files) = files else { return Ok(None) };
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(files.get()) else { return Ok(None) };
    if entries.is_empty() || !entries.iter().all(|entry| entry.get().starts_with('{')) {
        return Ok(None);
    }
    if entries.len() > FILES {
        return Err(FileFailure::Malformed(format!("Files has more than {FILES} entries")));
    }
    // The list is a part of the answer's own text.
    let start = files.get().as_ptr().addr().saturating_sub(answer.as_ptr().addr());
    Ok(Some(Listing { entries, place: start..start + files.get().len() }))
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

async fn keep<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    file: ToolFile,
) -> Result<OutputFile, FileFailure> {
    let ToolFile { name, mime_type, description, content } = file;
    let (contents, content_hash) = match content {
        Content::Elsewhere { url, size_bytes, content_hash, content_expires } => {
            let reference = FileRef {
                name,
                mime_type,
                url,
                size_bytes,
                content_hash,
                description,
                content_expires,
            };
            return Ok(OutputFile { reference, sha256: None });
        }
        Content::Here { contents, content_hash } => (contents, content_hash),
    };
    let key = platform.secret("FILE_LINK_KEY").filter(|key| !key.is_empty());
    let key = key.ok_or(FileFailure::NoPlace)?;
    let size_bytes = contents.len() as u64;
    let id = FileId::of(&platform.object_id(), &contents);
    platform.keep_file(&id.key(), contents).await.map_err(|fault| match fault {
        FileFault::NoBucket => FileFailure::NoPlace,
        FileFault::Failed => FileFailure::NotKept,
    })?;
    let sha256 = Some(id.sha256().to_owned());
    let expires_at = (platform.now_ms() / 1000).saturating_add(links.ttl_s);
    let link = FileLink { id, name, mime_type, expires_at };
    let reference = FileRef {
        url: format!("{}{}", links.origin, link.target(&key)),
        name: link.name,
        mime_type: link.mime_type,
        size_bytes,
        content_hash,
        description,
        content_expires: Some(timestamp(expires_at.saturating_mul(1000))),
    };
    Ok(OutputFile { reference, sha256 })
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

/// Never contents in the form of a URL.
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

/// Whoever keeps the file decides how its contents are hashed.
fn given_hash(value: Option<&RawValue>) -> Result<String, String> {
    given_text(value)
        .filter(|hash| {
            (1..=128).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_graphic())
        })
        .ok_or_else(|| {
            ".ContentHash must be 1 to 128 visible ASCII characters beside Url".to_owned()
        })
}

/// A point in time with its offset from UTC (RFC 3339, section 5.6).
fn expiry(value: &RawValue) -> Result<String, String> {
    let given = text("ContentExpires", Some(value), 64)?;
    if is_point_in_time(given.as_bytes()) {
        Ok(given)
    } else {
        Err(".ContentExpires must be like 2026-01-02T03:04:05Z".to_owned())
    }
}

fn is_point_in_time(text: &[u8]) -> bool {
    // What stands for a digit, and what is itself; the numbers in between, and how large they are.
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    const RANGES: [(usize, u8, u8); 5] =
        [(5, 1, 12), (8, 1, 31), (11, 0, 23), (14, 0, 59), (17, 0, 59)];
    let number = |text: &[u8], at: usize| match text.get(at..at + 2) {
        Some([tens, ones]) if tens.is_ascii_digit() && ones.is_ascii_digit() => {
            Some((tens - b'0') * 10 + (ones - b'0'))
        }
        _ => None,
    };
    let within = |text: &[u8], at, least, most| {
        number(text, at).is_some_and(|number| (least..=most).contains(&number))
    };
    let (moment, rest) = text.split_at_checked(FORM.len()).unwrap_or_default();
    let has_form = moment.len() == FORM.len()
        && moment.iter().zip(FORM).all(|(given, form)| match form {
            b'0' => given.is_ascii_digit(),
            _ => given == form,
        });
    let zone = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        _ => rest,
    };
    let has_zone = match zone {
        [b'Z'] => true,
        [b'+' | b'-', _, _, b':', _, _] => within(zone, 1, 0, 23) && within(zone, 4, 0, 59),
        _ => false,
    };
    has_form
        && has_zone
        && RANGES.iter().all(|(at, least, most)| within(moment, *at, *least, *most))
}
