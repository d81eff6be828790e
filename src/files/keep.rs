//! Files in a tool's result (interface §8; AGN-033 §6): the bucket keeps their contents, and the model,
//! the transcript and the client see references.
//!
//! A malformed file makes the tool fail: leaving it out would lose it, and passing it on could put
//! contents where none may be. `files_member` owns the rules of an entry.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::join_all;

use super::files_member::{ListedFile, listed_files};
use super::hashed_contents::HashedContents;
use super::{FileId, FileLink, OutputFile};
use crate::contract::FileRef;
use crate::encoding::timestamp;
use crate::ports::{CHUNK_BYTES, FileFault, Platform};

/// After so many milliseconds a bucket that has failed is asked once more. R2 refuses a second write of the same contents
/// within a second, as of two tools.
const AGAIN_MS: u64 = 1_200;

/// Why a tool's files could not be kept. The client and the model may read the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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

/// The deployment's part of a link to a kept file.
#[derive(Clone, Copy, Debug)]
pub struct FileLinks<'a> {
    /// Where clients reach the deployment: scheme and authority.
    pub origin: &'a str,
    /// How long a link is valid, in seconds.
    pub ttl_s: u64,
}

/// Keeps the files in a tool's result, and returns the result with references in their place. When one
/// is malformed, none is kept.
pub async fn keep_files<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    result: String,
) -> Result<(String, Vec<OutputFile>), FileFailure> {
    let yield_after = yield_after_long_work(platform);
    yield_after(result.len()).await;
    let listed = listed_files(&result, &yield_after).await.map_err(FileFailure::Malformed)?;
    let Some((files, place)) = listed else { return Ok((result, Vec::new())) };
    let kept = keep_all(platform, links, files).await;
    let files: Vec<OutputFile> = kept.into_iter().collect::<Result<_, _>>()?;
    let references: Vec<&FileRef> = files.iter().map(|file| &file.reference).collect();
    let references = serde_json::to_string(&references).unwrap_or_default();
    let (before, after) = (result.get(..place.start), result.get(place.end..));
    Ok(([before.unwrap_or_default(), &references, after.unwrap_or_default()].concat(), files))
}

/// Yields the thread after work on so many bytes that may have taken long.
pub(super) fn yield_after_long_work<P: Platform>(platform: &P) -> impl AsyncFn(usize) {
    async |bytes| {
        if bytes > CHUNK_BYTES {
            platform.yield_to_others().await;
        }
    }
}

/// Keeps the files of a result: each gets a link to its contents, once they are written; one without contents is kept
/// elsewhere. Equal contents are written once.
pub(super) async fn keep_all<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    files: Vec<ListedFile>,
) -> Vec<Result<OutputFile, FileFailure>> {
    let mut writes = BTreeMap::new();
    let kept = files.into_iter().map(|ListedFile { mut reference, contents }| {
        let written = contents.map(|contents| {
            let sha256 = contents.sha256.clone();
            writes.entry(sha256).or_insert_with(|| write(platform, contents).shared()).clone()
        });
        async move {
            let Some(written) = written else { return Ok(OutputFile { reference, sha256: None }) };
            let key = platform.secret("FILE_LINK_KEY").filter(|key| !key.is_empty());
            let key = key.ok_or(FileFailure::NoPlace)?;
            let id = written.await?;
            let sha256 = Some(id.sha256.clone());
            let expires_at = (platform.now_ms() / 1000).saturating_add(links.ttl_s);
            let (name, mime_type) = (reference.name.clone(), reference.mime_type.clone());
            let bucket = platform.jurisdiction();
            let link = FileLink { id, bucket, name, mime_type, expires_at };
            reference.url = format!("{}{}", links.origin, link.target(&key));
            reference.content_expires = Some(timestamp(expires_at.saturating_mul(1000)));
            Ok::<_, FileFailure>(OutputFile { reference, sha256 })
        }
    });
    join_all(kept).await
}

async fn write<P: Platform>(
    platform: &P,
    HashedContents { bytes, sha256 }: HashedContents,
) -> Result<FileId, FileFailure> {
    yield_after_long_work(platform)(bytes.len()).await;
    let id = FileId::of(platform.object_id(), sha256);
    let mut kept = platform.keep_file(&id.key(), &bytes).await;
    if kept == Err(FileFault::Failed) {
        // The tool has run: without its files it would run again.
        platform.sleep(AGAIN_MS).await;
        kept = platform.keep_file(&id.key(), &bytes).await;
    }
    match kept {
        Ok(()) => Ok(id),
        Err(FileFault::NoBucket) => Err(FileFailure::NoPlace),
        Err(FileFault::Failed) => Err(FileFailure::NotKept),
    }
}
