//! The catalog that a submission ran under, as trace and export show it (interface §16).

use serde::{Deserialize, Serialize};

/// What names a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CatalogStamp {
    /// The first 16 hex digits of the SHA-256 of its document.
    pub sha256: String,
    /// What the document says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
