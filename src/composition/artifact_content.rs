//! The form in which the model gets an artifact: text, an image, a document, or not at all.

use std::borrow::Cow;

use crate::contract::{ArtifactContent, InputArtifact};
use crate::encoding::{base64_bytes, essence};

/// How an artifact is shown to the model.
pub(super) enum ArtifactKind<'a> {
    /// A chunk of the context block.
    Text(Cow<'a, str>),
    /// An `input_image`, as a data URL.
    Image(String),
    /// An `input_file`, as a data URL.
    Document(String),
    /// Left out; a user warning names it.
    Binary,
}

/// Decides by encoding, then by MIME type, then by extension. When none of them decides, bytes are text
/// if they are UTF-8 without NUL.
pub(super) fn classify(artifact: &InputArtifact) -> ArtifactKind<'_> {
    let encoded = match &artifact.content {
        ArtifactContent::Text(text) => return ArtifactKind::Text(text.into()),
        // Services refuse a picture or a document without bytes, and the turn would fail with it.
        ArtifactContent::Base64(encoded) if encoded.is_empty() => {
            return ArtifactKind::Text(encoded.into());
        }
        ArtifactContent::Base64(encoded) => encoded,
    };
    let mime = media_type(artifact);
    match mime.as_str() {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => {
            return ArtifactKind::Image(data_url(&mime, encoded));
        }
        "application/pdf" => return ArtifactKind::Document(data_url(&mime, encoded)),
        _ => {}
    }
    let decoded = base64_bytes(encoded).and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded {
        Some(text) if !text.contains('\0') => ArtifactKind::Text(text.into()),
        _ => ArtifactKind::Binary,
    }
}

/// A data URL, as `input_image` and `input_file` take it.
pub(super) fn data_url(mime: &str, encoded: &str) -> String {
    format!("data:{mime};base64,{encoded}")
}

fn media_type(artifact: &InputArtifact) -> String {
    let given = essence(artifact.mime_type.as_deref().unwrap_or_default()).to_ascii_lowercase();
    let name = artifact.file_name.to_ascii_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = match (given.as_str(), extension) {
        ("image/jpg", _) => "image/jpeg",
        ("" | "application/octet-stream", "png") => "image/png",
        ("" | "application/octet-stream", "jpg" | "jpeg") => "image/jpeg",
        ("" | "application/octet-stream", "webp") => "image/webp",
        ("" | "application/octet-stream", "gif") => "image/gif",
        ("" | "application/octet-stream", "pdf") => "application/pdf",
        _ => return given,
    };
    known.to_owned()
}
