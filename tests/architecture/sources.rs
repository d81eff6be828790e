//! The files of `src` in the form in which the rules read them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::code::{code_of, is_word};
use super::paths::paths_of;

pub(crate) struct Source {
    /// Relative to `src`, with forward slashes.
    pub(crate) path: String,
    /// The whole file.
    pub(crate) text: String,
    /// The code without comments, string contents and unit tests; line numbers stay the same.
    pub(crate) code: String,
    /// The segments of every path that the code names.
    pub(crate) paths: Vec<Vec<String>>,
}

impl Source {
    /// The folder of `src` that holds the file; empty for `lib.rs`.
    pub(crate) fn folder(&self) -> &str {
        self.path.split_once('/').map_or("", |(folder, _)| folder)
    }

    /// The other folders of the crate that the code names.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let of_the_crate = self.paths.iter().filter(|path| is_root(&path[0]));
        let named = of_the_crate.filter_map(|path| path.get(1).map(String::as_str));
        named.filter(|name| *name != self.folder()).collect()
    }

    /// The items of one folder that its code names.
    pub(crate) fn items_of(&self, folder: &str) -> BTreeSet<&str> {
        let of_it = self
            .paths
            .iter()
            .filter(|path| path.len() > 2 && is_root(&path[0]) && path[1] == folder);
        of_it.map(|path| path[2].as_str()).collect()
    }

    /// Whether the code contains a word.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.code.split(|c: char| !is_word(c)).any(|known| known == word)
    }
}

/// A program in `src/bin` names the crate as `aptix_edge`.
fn is_root(segment: &str) -> bool {
    ["crate", "aptix_edge"].contains(&segment)
}

pub(crate) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files =
        files_under(&root).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        // Only files of unit tests have names that end in `tests.rs`.
        let code = if path.ends_with("tests.rs") { String::new() } else { code_of(&text) };
        Source { paths: paths_of(&code), code, path, text }
    };
    files.map(read).collect()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] })
        .collect();
    files.sort();
    files
}
