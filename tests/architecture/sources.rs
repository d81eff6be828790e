//! The files of the repository in the form in which the rules read them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::reading::Code;

/// A Rust file of `src`.
pub(crate) struct Source {
    /// Relative to `src`, with forward slashes.
    pub(crate) path: String,
    /// The whole file.
    pub(crate) text: String,
    /// Its code without unit tests.
    pub(crate) code: Code,
}

impl Source {
    pub(crate) fn new(path: &str, text: String) -> Self {
        // Only files of unit tests have names that end in `tests.rs`.
        let code = if path.ends_with("tests.rs") { "" } else { &text };
        let code = Code::of(code).unwrap_or_else(|fault| panic!("{path}: {fault}"));
        Self { path: path.to_owned(), text, code }
    }

    /// The folder of `src` that holds the file; empty for `lib.rs`.
    pub(crate) fn folder(&self) -> &str {
        self.path.split_once('/').map_or("", |(folder, _)| folder)
    }

    /// The file's module, from the crate's root.
    pub(crate) fn module(&self) -> Vec<String> {
        let path = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
    }

    /// The other folders of the crate that the code names.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let folders =
            self.paths_into_the_crate().into_iter().filter_map(|path| path.into_iter().next());
        folders.filter(|folder| folder != self.folder()).collect()
    }

    /// The items of one folder that its code names.
    pub(crate) fn items_of(&self, folder: &str) -> BTreeSet<String> {
        let paths = self.paths_into_the_crate().into_iter();
        paths.filter(|path| path[0] == folder).filter_map(|path| path.into_iter().nth(1)).collect()
    }

    /// Every path that the code names from the crate's root on, without `crate`.
    fn paths_into_the_crate(&self) -> Vec<Vec<String>> {
        let used = self.code.uses.iter().map(|used| &used.path);
        let all = used.chain(&self.code.paths);
        let mut paths: Vec<_> = all.filter_map(|path| absolute(&self.module(), path)).collect();
        paths.retain(|path| !path.is_empty());
        paths
    }
}

/// A path from the crate's root on, without `crate`; `None` for a path that begins elsewhere.
pub(crate) fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, mut rest) = path.split_first()?;
    let mut at = match first.as_str() {
        // A program in `tools` names the crate as `aptix_edge`.
        "crate" | "aptix_edge" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        _ => return None,
    };
    while let Some(("super", further)) =
        rest.split_first().map(|(first, rest)| (first.as_str(), rest))
    {
        at.pop();
        rest = further;
    }
    at.extend(rest.iter().filter(|part| *part != "self").cloned());
    Some(at)
}

/// Every Rust file of `src`, in the order of the paths.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let files = files_under("src", &["rs"]).into_iter();
        files.map(|(path, text)| Source::new(path.trim_start_matches("src/"), text)).collect()
    });
    &SOURCES
}

/// The files of a folder of the repository whose names end so, with their texts, in the order of the paths. What
/// was installed, built or generated is left out.
pub(crate) fn files_under(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    add_files(&root().join(folder), &mut paths);
    paths.sort();
    let ends =
        |path: &PathBuf| path.extension().is_some_and(|end| endings.iter().any(|e| end == *e));
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        (name, std::fs::read_to_string(&path).unwrap())
    };
    paths.into_iter().filter(ends).map(read).collect()
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn add_files(folder: &Path, found: &mut Vec<PathBuf>) {
    const NOT_OURS: [&str; 2] = ["node_modules", "dist"];
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if !path.is_dir() {
            found.push(path);
        } else if !NOT_OURS.iter().any(|name| path.ends_with(name)) {
            add_files(&path, found);
        }
    }
}
