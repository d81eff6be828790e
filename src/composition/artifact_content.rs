//! What an artifact is to the model: text, an image, a document, or nothing it can read.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::contract::{ArtifactContent, InputArtifact};

/// Standard alphabet; padding may be missing, as the contract allows.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How an artifact is shown to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactKind {
    /// A chunk of the context block.
    Text(String),
    /// An `input_image`, as a data URL.
    Image(String),
    /// An `input_file`, as a data URL.
    Document(String),
    /// Left out, and named in a user warning.
    Binary,
}

/// Decides by encoding, then by MIME type, then by extension; what says nothing is text when it is
/// UTF-8 without NUL.
pub fn classify(artifact: &InputArtifact) -> ArtifactKind {
    let encoded = match &artifact.content {
        ArtifactContent::Text(text) => return ArtifactKind::Text(text.clone()),
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
    let decoded = BASE64.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded {
        Some(text) if !text.contains('\0') => ArtifactKind::Text(text),
        _ => ArtifactKind::Binary,
    }
}

/// A data URL, as `input_image` and `input_file` take it.
pub(super) fn data_url(mime: &str, encoded: &str) -> String {
    format!("data:{mime};base64,{encoded}")
}

fn media_type(artifact: &InputArtifact) -> String {
    let given = artifact
        .mime_type
        .as_deref()
        .map(|mime| mime.split(';').next().unwrap_or(mime).trim().to_ascii_lowercase());
    match given.as_deref() {
        Some("image/jpg") => "image/jpeg".to_owned(),
        None | Some("" | "application/octet-stream") => {
            let name = artifact.file_name.to_ascii_lowercase();
            let by_extension = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
                "png" => "image/png",
                "jpg" | "jpeg" => "image/jpeg",
                "webp" => "image/webp",
                "gif" => "image/gif",
                "pdf" => "application/pdf",
                _ => "application/octet-stream",
            };
            by_extension.to_owned()
        }
        Some(given) => given.to_owned(),
    }
}
