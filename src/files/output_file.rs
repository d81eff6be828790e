//! The files of a turn (interface §8), as references. Equal contents are listed once.

use serde::{Deserialize, Serialize};

use crate::contract::FileRef;
use crate::encoding::is_sha256;

/// A file that a server tool made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// The reference that clients, the model and the transcript see.
    pub reference: FileRef,
    /// SHA-256 of its bytes in lower-case hex; `None` for a file that is kept elsewhere.
    pub sha256: Option<String>,
}

impl OutputFile {
    /// Whether the contents are equal. Of kept files their hashes say so alone: the same bytes have one `ContentHash` as
    /// `Text` and another as `DataBase64`, and that of a text covers only the beginning of each line. For a file kept
    /// elsewhere it may be a revision number.
    fn is_same(&self, other: &Self) -> bool {
        if let (Some(one), Some(other)) = (&self.sha256, &other.sha256) {
            return one == other;
        }
        let hash = &self.reference.content_hash;
        (is_sha256(hash) || self.reference.url == other.reference.url)
            && *hash == other.reference.content_hash
            && self.reference.size_bytes == other.reference.size_bytes
    }

    /// Adds the file to `files`, unless equal contents are among them.
    pub fn collect(self, files: &mut Vec<Self>) {
        if !files.iter().any(|known| known.is_same(&self)) {
            files.push(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, hash: &str, size_bytes: u64, sha256: Option<&str>) -> OutputFile {
        let reference = FileRef {
            name: name.to_owned(),
            mime_type: "text/plain".to_owned(),
            url: format!("https://files.example/{name}"),
            size_bytes,
            content_hash: hash.repeat(32),
            description: None,
            content_expires: None,
        };
        OutputFile { reference, sha256: sha256.map(str::to_owned) }
    }

    #[test]
    fn equal_contents_are_handed_out_once_under_their_first_name() {
        let mut files = Vec::new();
        for file in [
            file("a", "a1", 3, Some("s1")),
            file("same bytes", "a1", 3, Some("s1")),
            file("same bytes in base64", "b1", 3, Some("s1")),
            file("other tail of a long line", "a1", 3, Some("s2")),
            file("other line ends", "a1", 4, Some("s3")),
            file("elsewhere", "a1", 3, None),
            file("elsewhere alone", "a2", 3, None),
            file("elsewhere alone too", "a2", 3, None),
            file("revision 1", "1", 3, None),
            file("another's revision 1", "1", 3, None),
            file("revision 1", "1", 3, None),
        ] {
            file.collect(&mut files);
        }
        let names: Vec<&str> = files.iter().map(|file| file.reference.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a",
                "other tail of a long line",
                "other line ends",
                "elsewhere alone",
                "revision 1",
                "another's revision 1"
            ]
        );
    }
}
