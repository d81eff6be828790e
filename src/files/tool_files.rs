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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::files::PresentedLink;
    use crate::ports::double::Double;

    fn kept(double: &Double, answer: &str) -> Result<(String, Vec<OutputFile>), FileFailure> {
        let links = FileLinks { origin: "https://edge.example", ttl_s: 60 };
        double.run(keep_files(double, links, answer.to_owned()))
    }

    fn with_key() -> Double {
        Double::default().with_secret("FILE_LINK_KEY", "k")
    }

    /// Why an answer with that file fails.
    fn problem(file: Value) -> String {
        let answer = json!({ "Files": [{ "Name": "ok", "MimeType": "a/b", "Text": "" }, file] });
        let double = with_key();
        let problem = kept(&double, &answer.to_string()).unwrap_err().to_string();
        assert!(double.files().is_empty(), "a file beside a malformed one was kept");
        problem
    }

    #[test]
    fn contents_are_kept_by_their_bytes_and_a_reference_stands_in_their_place() {
        let double = with_key();
        let answer = r#"{ "rows": 2.0, "Files": [
            {"Name": "a.csv", "MimeType": "text/csv", "Text": "x\r\ny", "Extra": 1},
            {"Description": "Pixels.", "DataBase64": "AAEC/w", "Name": "p", "MimeType": "image/png"}
        ], "done":true }"#;
        let (result, files) = kept(&double, answer).unwrap();
        let [text, image] = files.as_slice() else { panic!("{files:?}") };
        let references = serde_json::to_string(&[&text.reference, &image.reference]).unwrap();
        // Around the list, every byte stays.
        assert_eq!(result, format!("{{ \"rows\": 2.0, \"Files\": {references}, \"done\":true }}"));
        assert_eq!(text.reference.size_bytes, 4);
        assert_eq!(text.reference.content_hash, content_hash_of_text("x\ny"));
        assert_eq!(text.reference.content_expires.as_deref(), Some("1970-01-01T00:01:00.000Z"));
        assert_eq!(image.reference.content_hash, content_hash_of_bytes(&[0, 1, 2, 255]));
        assert_eq!(image.reference.description.as_deref(), Some("Pixels."));
        assert_eq!(image.sha256.as_deref(), Some(image.reference.content_hash.as_str()));
        for (file, contents) in [(text, b"x\r\ny".as_slice()), (image, &[0, 1, 2, 255])] {
            let target = file.reference.url.strip_prefix("https://edge.example/files/").unwrap();
            let (id, query) = target.split_once('?').unwrap();
            let link = PresentedLink::parse(id, query).unwrap().signed_with("k").unwrap();
            assert_eq!(link.name, file.reference.name);
            assert_eq!(link.mime_type, file.reference.mime_type);
            assert_eq!(link.expires_at, 60);
            assert_eq!(double.files().get(&link.id.key()).unwrap(), contents);
        }
    }

    #[test]
    fn a_file_elsewhere_is_passed_on_with_what_is_known_of_it() {
        let hash = "AB".repeat(32);
        let answer = json!({ "Files": [{
            "Name": "big.iso", "MimeType": "application/octet-stream", "SizeBytes": 5_000_000_000_u64,
            "Url": "https://cdn.example/big.iso?s=1", "ContentHash": hash,
            "ContentExpires": "2026-01-02T03:04:05.5+01:00",
        }] });
        // It needs no place for files.
        let (_, files) = kept(&Double::default(), &answer.to_string()).unwrap();
        let file = &files[0];
        assert_eq!(file.reference.url, "https://cdn.example/big.iso?s=1");
        assert_eq!(file.reference.size_bytes, 5_000_000_000);
        assert_eq!(file.reference.content_hash, hash);
        assert_eq!(file.reference.content_expires.as_deref(), Some("2026-01-02T03:04:05.5+01:00"));
        assert_eq!(file.sha256, None);
    }

    #[test]
    fn what_is_no_list_of_files_is_the_tool_s_own() {
        for answer in [
            "[]",
            "[{\"Files\":1}]",
            "\"Files\"",
            "{}",
            "{\"Files\":null}",
            "{\"Files\": []}",
            "{\"Files\":\"a\"}",
            "{\"Files\":{\"Name\":\"a\"}}",
            "{\"Files\":[\"src/a.rs\", {\"Name\":\"b\"}]}",
            "{\"files\":[{\"Name\":\"b\"}]}",
            " {\"a\":{\"Files\":[{}]}}",
            "{\"a\\ud800\":1}",
        ] {
            assert_eq!(kept(&Double::default(), answer), Ok((answer.to_owned(), Vec::new())));
        }
    }

    #[test]
    fn a_malformed_file_is_named_with_what_it_must_be_and_never_repeated() {
        let text = |members: Value| {
            let mut file = json!({ "Name": "a", "MimeType": "text/plain", "Text": "secret" });
            file.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            problem(file)
        };
        let elsewhere = |members: Value| {
            let mut file = json!({
                "Name": "a", "MimeType": "a/b", "Url": "https://x.example/a", "SizeBytes": 1,
                "ContentHash": "0".repeat(64)
            });
            file.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            problem(file)
        };
        for (told, expected) in [
            (text(json!({ "Name": null })), ".Name must be a text of 1 to 255 characters"),
            (text(json!({ "Name": 7 })), ".Name must be a text of 1 to 255 characters"),
            (text(json!({ "Name": "" })), ".Name must be a text of 1 to 255 characters"),
            (
                text(json!({ "Name": "ä".repeat(256) })),
                ".Name must be a text of 1 to 255 characters",
            ),
            (text(json!({ "Name": "a\nb" })), ".Name must be a text of 1 to 255 characters"),
            (text(json!({ "MimeType": "text" })), ".MimeType must be a media type"),
            (text(json!({ "MimeType": "a/b\nc" })), ".MimeType must be a text of 1"),
            (text(json!({ "Description": 1 })), ".Description must be a text"),
            (text(json!({ "Text": 1 })), ".Text must be a text"),
            (text(json!({ "Text": null })), " must have exactly one of Text, DataBase64 and Url"),
            (text(json!({ "DataBase64": "AA==" })), " must have exactly one of Text"),
            (text(json!({ "Url": "https://x.example" })), " must have exactly one of Text"),
            (text(json!({ "Text": null, "DataBase64": "A" })), ".DataBase64 must be base64"),
            (
                text(json!({ "Text": null, "DataBase64": "data:a/b;base64,AA==" })),
                ".DataBase64 must",
            ),
            (
                elsewhere(json!({ "Url": "data:text/plain,secret" })),
                ".Url must be an absolute http",
            ),
            (elsewhere(json!({ "Url": "javascript:secret" })), ".Url must be an absolute http"),
            (elsewhere(json!({ "Url": "/a" })), ".Url must be an absolute http"),
            (elsewhere(json!({ "Url": "https://" })), ".Url must be an absolute http"),
            (elsewhere(json!({ "Url": "https://x.example/a b" })), ".Url must be an absolute http"),
            (elsewhere(json!({ "Url": "https:///x" })), ".Url must be an absolute http"),
            (elsewhere(json!({ "Url": "https://x\"><script>" })), ".Url must be an absolute http"),
            (elsewhere(json!({ "Url": "https://x\u{202e}y" })), ".Url must be an absolute http"),
            (
                elsewhere(json!({ "ContentExpires": "2026-13-02T03:04:05Z" })),
                ".ContentExpires must",
            ),
            (
                elsewhere(json!({ "ContentExpires": "2026-01-02T24:04:05Z" })),
                ".ContentExpires must",
            ),
            (
                elsewhere(json!({ "ContentExpires": "2026-01-02T03:04:05+" })),
                ".ContentExpires must",
            ),
            (
                elsewhere(json!({ "ContentExpires": "2026-01-02T03:04:05-.Z" })),
                ".ContentExpires must",
            ),
            (elsewhere(json!({ "SizeBytes": null })), ".SizeBytes must be a whole number"),
            (elsewhere(json!({ "SizeBytes": -1 })), ".SizeBytes must be a whole number"),
            (elsewhere(json!({ "SizeBytes": 1.5 })), ".SizeBytes must be a whole number"),
            (elsewhere(json!({ "ContentHash": null })), ".ContentHash must be 1 to 128"),
            (elsewhere(json!({ "ContentHash": "" })), ".ContentHash must be 1 to 128"),
            (elsewhere(json!({ "ContentHash": "0".repeat(129) })), ".ContentHash must be 1 to 128"),
            (elsewhere(json!({ "ContentHash": "a b" })), ".ContentHash must be 1 to 128"),
            (elsewhere(json!({ "ContentExpires": "tomorrow" })), ".ContentExpires must be like"),
            (elsewhere(json!({ "ContentExpires": "2026-01-02T03:04:05" })), ".ContentExpires must"),
            (
                elsewhere(json!({ "ContentExpires": "2026-01-02 03:04:05Z" })),
                ".ContentExpires must",
            ),
        ] {
            let expected = format!("its answer's Files[1]{expected}");
            assert!(told.starts_with(&expected) && !told.contains("secret"), "{told} / {expected}");
        }
        let many = json!({ "Files": vec![json!({}); 101] }).to_string();
        let many = kept(&with_key(), &many).unwrap_err().to_string();
        assert_eq!(many, "its answer's Files has more than 100 entries");
        let twice = kept(&with_key(), "{\"Files\":[{}],\"Files\":[{}]}").unwrap_err().to_string();
        assert_eq!(twice, "its answer's Files is there more than once");
        let twice = "{\"Files\":[{\"Name\":\"a\",\"Name\":\"b\"}]}";
        let twice = kept(&with_key(), twice).unwrap_err().to_string();
        assert_eq!(twice, "its answer's Files[0] has a member more than once");
    }

    #[test]
    fn a_file_that_cannot_be_kept_is_the_tool_s_failure() {
        let answer = r#"{"Files":[{"Name":"a","MimeType":"a/b","Text":"x"}]}"#;
        let failure = |double: &Double| kept(double, answer).unwrap_err();
        assert_eq!(failure(&Double::default()), FileFailure::NoPlace);
        let empty = Double::default().with_secret("FILE_LINK_KEY", "");
        assert_eq!(failure(&empty), FileFailure::NoPlace);
        let unbound = with_key().with_file_fault(FileFault::NoBucket);
        assert_eq!(failure(&unbound), FileFailure::NoPlace);
        assert_eq!(failure(&with_key().with_file_fault(FileFault::Failed)), FileFailure::NotKept);
    }
}
