//! Pictures that the model makes by a tool of the model service (interface §4, §8). They become files like
//! those of server tools: the bucket keeps them, and clients get links.

use super::data_urls::name_by_type;
use super::files_member::ListedFile;
use super::hashed_contents::HashedContents;
use super::keep::{keep_all, yield_after_long_work};
use super::{FileFailure, FileLinks, OutputFile};
use crate::encoding::base64_bytes;
use crate::ports::Platform;

/// The kinds of pictures: their first bytes, and their media type.
const KINDS: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// Keeps a picture, given as base64, under a name that ends with its number.
pub async fn keep_picture<P: Platform>(
    platform: &P,
    links: FileLinks<'_>,
    number: usize,
    base64: &str,
) -> Result<OutputFile, FileFailure> {
    let yield_after = yield_after_long_work(platform);
    yield_after(base64.len()).await;
    let no_picture = || FileFailure::Malformed("picture is none".to_owned());
    let bytes = base64_bytes(base64).ok_or_else(no_picture)?;
    let kind = KINDS.iter().find(|(start, _)| bytes.starts_with(start));
    let (_, mime_type) = kind.ok_or_else(no_picture)?;
    let contents = HashedContents::of(bytes, &yield_after).await;
    let name = name_by_type(mime_type, number);
    let file = ListedFile::unlisted(name, (*mime_type).to_owned(), contents);
    keep_all(platform, links, vec![file]).await.pop().unwrap_or(Err(FileFailure::NotKept))
}
