//! Files in a tool's result (interface §8; AGN-033 §6): contents are kept apart, and what goes on, to
//! the model, the transcript and the client, is a reference.
//!
//! A file that is not as it should be is the tool's failure: leaving it out would lose it, and passing
//! it on could carry contents where none may be. The rules of an entry are `listed_files`'s.

use futures_util::future::join_all;

use super::listed_files::{Content, ListedFiles, ToolFile, listed_files};
use super::{FileId, FileLink, OutputFile};
use crate::contract::FileRef;
use crate::encoding::timestamp;
use crate::ports::{FileFault, Platform};

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

/// What links to kept files are made from.
#[derive(Clone, Copy, Debug)]
pub struct FileLinks<'a> {
    /// Where clients reach the deployment: scheme and authority.
    pub origin: &'a str,
    /// How long a link is valid, in seconds.
    pub ttl_s: u64,
}

/// Keeps the files in a tool's result, and gives the result with references in their place. When one
/// is malformed, none is kept.
///
/// # Errors
/// Why the tool has failed.
pub async fn keep_files<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    result: String,
) -> Result<(String, Vec<OutputFile>), FileFailure> {
    let listed = listed_files(&result).map_err(FileFailure::Malformed)?;
    let Some(ListedFiles { files, place }) = listed else { return Ok((result, Vec::new())) };
    let kept = join_all(files.into_iter().map(|file| keep(platform, links, file))).await;
    let files: Vec<OutputFile> = kept.into_iter().collect::<Result<_, _>>()?;
    let references: Vec<&FileRef> = files.iter().map(|file| &file.reference).collect();
    let references = serde_json::to_string(&references).unwrap_or_default();
    let (before, after) = (result.get(..place.start), result.get(place.end..));
    Ok(([before.unwrap_or_default(), &references, after.unwrap_or_default()].concat(), files))
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::encoding::{content_hash_of_bytes, content_hash_of_text};
    use crate::files::PresentedLink;
    use crate::ports::double::Double;

    fn kept(double: &Double, result: &str) -> Result<(String, Vec<OutputFile>), FileFailure> {
        let links = FileLinks { origin: "https://edge.example", ttl_s: 60 };
        double.run(keep_files(double, links, result.to_owned()))
    }

    fn with_key() -> Double {
        Double::default().with_secret("FILE_LINK_KEY", "k")
    }

    /// Why a result with that file fails.
    fn problem(file: Value) -> String {
        let result = json!({ "Files": [{ "Name": "ok", "MimeType": "a/b", "Text": "" }, file] });
        let double = with_key();
        let problem = kept(&double, &result.to_string()).unwrap_err().to_string();
        assert!(double.files().is_empty(), "a file beside a malformed one was kept");
        problem
    }

    #[test]
    fn contents_are_kept_by_their_bytes_and_a_reference_stands_in_their_place() {
        let double = with_key();
        let result = r#"{ "rows": 2.0, "Files": [
            {"Name": "a.csv", "MimeType": "text/csv", "Text": "x\r\ny", "Extra": 1},
            {"Description": "Pixels.", "DataBase64": "AAEC/w", "Name": "p", "MimeType": "image/png"}
        ], "done":true }"#;
        let (result, files) = kept(&double, result).unwrap();
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
        let result = json!({ "Files": [{
            "Name": "big.iso", "MimeType": "application/octet-stream", "SizeBytes": 5_000_000_000_u64,
            "Url": "https://cdn.example/big.iso?s=1", "ContentHash": hash,
            "ContentExpires": "2026-01-02T03:04:05.5+01:00",
        }] });
        // It needs no place for files.
        let (_, files) = kept(&Double::default(), &result.to_string()).unwrap();
        let file = &files[0];
        assert_eq!(file.reference.url, "https://cdn.example/big.iso?s=1");
        assert_eq!(file.reference.size_bytes, 5_000_000_000);
        assert_eq!(file.reference.content_hash, hash);
        assert_eq!(file.reference.content_expires.as_deref(), Some("2026-01-02T03:04:05.5+01:00"));
        assert_eq!(file.sha256, None);
    }

    #[test]
    fn what_is_no_list_of_files_is_the_tool_s_own() {
        for result in [
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
            assert_eq!(kept(&Double::default(), result), Ok((result.to_owned(), Vec::new())));
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
        let result = r#"{"Files":[{"Name":"a","MimeType":"a/b","Text":"x"}]}"#;
        let failure = |double: &Double| kept(double, result).unwrap_err();
        assert_eq!(failure(&Double::default()), FileFailure::NoPlace);
        let empty = Double::default().with_secret("FILE_LINK_KEY", "");
        assert_eq!(failure(&empty), FileFailure::NoPlace);
        let unbound = with_key().with_file_fault(FileFault::NoBucket);
        assert_eq!(failure(&unbound), FileFailure::NoPlace);
        assert_eq!(failure(&with_key().with_file_fault(FileFault::Failed)), FileFailure::NotKept);
    }
}
