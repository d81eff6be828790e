//! Files that a turn hands out: by reference, each content once.

use serde::{Deserialize, Serialize};

use crate::contract::FileRef;

/// A file that a server tool answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// What clients, the model and the transcript see of it.
    pub reference: FileRef,
    /// SHA-256 of its bytes in lower-case hex, when they are kept here.
    pub sha256: Option<String>,
}

impl OutputFile {
    /// The same contents. `ContentHash` alone does not tell: of a text it covers the beginning of
    /// each line only.
    fn is_same(&self, other: &Self) -> bool {
        self.reference.content_hash == other.reference.content_hash
            && self.reference.size_bytes == other.reference.size_bytes
            && (self.sha256.is_none() || other.sha256.is_none() || self.sha256 == other.sha256)
    }

    /// Adds a file to those that are there already, unless its contents are among them.
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
            content_hash: hash.to_owned(),
            description: None,
            content_expires: None,
        };
        OutputFile { reference, sha256: sha256.map(str::to_owned) }
    }

    #[test]
    fn equal_contents_are_handed_out_once_under_their_first_name() {
        let mut files = Vec::new();
        for file in [
            file("a", "h1", 3, Some("s1")),
            file("same bytes", "h1", 3, Some("s1")),
            file("other tail of a long line", "h1", 3, Some("s2")),
            file("other line ends", "h1", 4, Some("s3")),
            file("elsewhere", "h1", 3, None),
            file("elsewhere alone", "h2", 3, None),
            file("elsewhere alone too", "h2", 3, None),
        ] {
            file.collect(&mut files);
        }
        let names: Vec<&str> = files.iter().map(|file| file.reference.name.as_str()).collect();
        assert_eq!(names, ["a", "other tail of a long line", "other line ends", "elsewhere alone"]);
    }
}
