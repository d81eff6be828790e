//! What the path of a document says of its kind: a test, and of which file; or a record, a file that tools write or that
//! repeats what other files say (interface §7).
//!
//! The rule reads paths alone, when a search ranks, so it asks for no other form of the index.

use std::collections::BTreeMap;

use super::terms::{mentions_tests, searchable};

/// A kind of record: the folders and the ends of file names that show it, and the terms of a query that asks for it,
/// besides its folders' names.
struct Record {
    folders: &'static [&'static str],
    ends: &'static [&'static str],
    asked: &'static [&'static str],
}

/// Lists of changes are records by other rules; see [`is_change_list`].
const CHANGE_LIST: Record = Record {
    folders: &[],
    ends: &[],
    asked: &["change log", "changelog", "changelogs", "changes", "release notes"],
};

const RECORDS: [Record; 3] = [
    // Inputs and outcomes of tests.
    Record {
        folders: &[
            "__fixtures__",
            "__recordings__",
            "__snapshots__",
            "cassettes",
            "fixtures",
            "goldens",
            "recordings",
            "testdata",
        ],
        ends: &[".snap"],
        asked: &["cassette", "fixture", "recording", "snapshot"],
    },
    Record {
        folders: &[],
        ends: &[".lock", "-lock.json", ".lock.json", "-lock.yaml", "go.sum", "npm-shrinkwrap.json"],
        asked: &["lock", "locks", "lockfile", "lockfiles"],
    },
    Record {
        folders: &["__generated__", "generated"],
        ends: &[
            ".designer.cs",
            ".g.cs",
            ".gen.go",
            ".gen.ts",
            ".generated.cs",
            ".generated.ts",
            ".min.css",
            ".min.js",
            ".pb.go",
            "_generated.go",
            "_generated.rs",
            "_pb2.py",
        ],
        asked: &["minified"],
    },
];

/// The names of prose that lists changes, in lower case, without what is no letter.
const CHANGE_LISTS: [&str; 6] =
    ["changelog", "changelogs", "changes", "history", "news", "releasenotes"];

/// The ends of the names of prose.
const PROSE: [&str; 6] = ["adoc", "markdown", "md", "mdx", "rst", "txt"];

/// The kinds of documents that a query asks for.
pub(crate) struct AskedKinds {
    /// Whether the query is about tests.
    pub(super) tests: bool,
    change_lists: bool,
    records: [bool; RECORDS.len()],
}

impl AskedKinds {
    /// The kinds that the terms of an FTS5 expression name.
    pub(crate) fn of(expression: &str) -> Self {
        let names = |record: &Record| {
            let folders = record.folders.iter().map(|folder| folder.trim_matches('_'));
            let words: Vec<&str> = folders.chain(record.asked.iter().copied()).collect();
            let mut terms = expression.split(" OR ").map(|term| term.trim_matches('"'));
            terms.any(|term| words.contains(&term))
        };
        Self {
            tests: mentions_tests(expression),
            change_lists: names(&CHANGE_LIST),
            records: RECORDS.each_ref().map(names),
        }
    }

    /// How much of its score a document at the path keeps, in tenths: a test four fifths, a record one half, each all of
    /// it where the query asks for its kind.
    pub(super) fn tenths(&self, path: &str) -> i64 {
        let tenths = if !self.tests && mentions_tests(path) { 8 } else { 10 };
        if self.is_unasked_record(path) { tenths / 2 } else { tenths }
    }

    fn is_unasked_record(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        let is_unasked = |(record, asked): (&Record, &bool)| !asked && record.holds(&path);
        (!self.change_lists && is_change_list(&path))
            || RECORDS.iter().zip(&self.records).any(is_unasked)
    }
}

impl Record {
    /// Whether the document at a path, in lower case, is such a record.
    fn holds(&self, path: &str) -> bool {
        let mut folders = path.split('/');
        let name = folders.next_back().unwrap_or_default();
        self.ends.iter().any(|end| name.ends_with(end))
            || folders.any(|folder| self.folders.contains(&folder))
    }
}

/// Whether a path, in lower case, names a change list: prose whose name says so, such as `docs/CHANGELOG-2.md` or `HISTORY`.
fn is_change_list(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, "md"));
    if !PROSE.contains(&end) {
        return false;
    }
    let letters: String = stem.chars().filter(char::is_ascii_alphabetic).collect();
    CHANGE_LISTS.contains(&letters.as_str())
}

/// The most folders of a path that are compared with those of others: of 1,600 documents, half may be tests of the other half.
const COMPARED_FOLDERS: usize = 16;

/// The tests among the documents and the file that each of them tests, by their places in `paths`.
///
/// A test and its file have one name without the words for tests: `error_test.go` tests `error.go`, `tests/OrderTests.cs`
/// tests `src/Order.cs`. Of several such files it is the one that shares the most of its first folders with the test; if
/// two share as many, it is none.
pub(super) fn tested_files(paths: &[&str]) -> Vec<(usize, usize)> {
    let (mut tests, mut files) = (Vec::new(), BTreeMap::<String, Vec<_>>::new());
    for (at, path) in paths.iter().enumerate() {
        let subject = subject(path);
        if mentions_tests(path) {
            tests.push((at, subject));
        } else if !subject.is_empty() {
            files.entry(subject).or_default().push((at, folders(path)));
        }
    }
    let tested = |(test, subject): (usize, String)| {
        let path = paths.get(test)?;
        let of_test = folders(path);
        let mut best: Option<(usize, usize)> = None;
        let mut is_alone = true;
        for (file, of_file) in files.get(&subject)? {
            let other = paths.get(*file)?;
            if !are_of_one_language(path, other) {
                continue;
            }
            let is_shared = |folder: &&&str| of_file.binary_search(folder).is_ok();
            let shared = of_test.iter().filter(is_shared).count();
            match best {
                Some((most, _)) if shared < most => {}
                Some((most, _)) if shared == most => is_alone = false,
                _ => (best, is_alone) = (Some((shared, *file)), true),
            }
        }
        best.filter(|_| is_alone).map(|(_, file)| (test, file))
    };
    tests.into_iter().filter_map(tested).collect()
}

/// The name of a document without its end and without words for tests, in lower case, letters and digits alone.
fn subject(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let separated = searchable(stem).to_ascii_lowercase();
    let words = separated.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !matches!(*word, "test" | "tests" | "spec")).collect()
}

/// Whether two files have the same end, or one that adds to the other's, as `tsx` does.
fn are_of_one_language(path: &str, other: &str) -> bool {
    let end = |path| str::rsplit_once(path, '.').map_or("", |(_, end)| end);
    let (one, other) = (end(path), end(other));
    !one.is_empty() && !other.is_empty() && (one.starts_with(other) || other.starts_with(one))
}

/// The first folders of a path, in alphabetical order, each once.
fn folders(path: &str) -> Vec<&str> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let mut folders: Vec<&str> = folders.split('/').take(COMPARED_FOLDERS).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenths(query: &str, path: &str) -> i64 {
        AskedKinds::of(query).tenths(path)
    }

    #[test]
    fn a_record_keeps_half_of_its_score_unless_the_query_asks_for_its_kind() {
        for (path, asking) in [
            ("CHANGELOG.md", "\"changelog\""),
            ("docs/release_notes.rst", "\"release\" OR \"release notes\""),
            ("HISTORY", "\"changes\""),
            ("package-lock.json", "\"lock\""),
            ("Cargo.lock", "\"lockfile\""),
            ("a/__snapshots__/b.js.snap", "\"snapshots\""),
            ("spec/cassettes/a.yaml", "\"cassette\""),
            ("api/v1/orders.pb.go", "\"generated\""),
        ] {
            assert_eq!((tenths("\"order\"", path), tenths(asking, path)), (5, 10), "{path}");
        }
        assert_eq!(tenths("\"order\"", "tests/fixtures/order.json"), 4);
        assert_eq!(tenths("\"order tests\"", "tests/fixtures/order.json"), 5);
        assert_eq!(tenths("\"order\"", "tests/order.rs"), 8);
        for path in [
            "src/changelog.rs",
            "src/lock.rs",
            "src/snapshot/mod.rs",
            "docs/changes-to-expect.md",
            "history/a.md",
        ] {
            assert_eq!(tenths("\"order\"", path), 10, "{path}");
        }
    }

    #[test]
    fn a_test_names_the_file_that_it_tests() {
        let tested = |test: &str, file: &str| tested_files(&[test, file]) == [(0, 1)];
        for (test, file) in [
            ("error_test.go", "error.go"),
            ("tests/test_error.py", "app/error.py"),
            ("src/error.test.tsx", "src/error.ts"),
            ("src/error.service.spec.test.ts", "src/error.service.ts"),
            ("Shop.Tests/OrderBookTests.cs", "Shop/OrderBook.cs"),
            ("tests/order_book.rs", "src/orderBook.rs"),
        ] {
            assert!(tested(test, file), "{test}");
        }
        for (test, file) in [
            ("error_test.go", "errors.go"),
            ("error_test.go", "error.md"),
            ("tests/test.py", ".py"),
            ("tests/a", "a"),
        ] {
            assert!(!tested(test, file), "{test}");
        }
        let near = ["src/a/index.test.ts", "src/a/index.ts", "src/b/index.ts"];
        assert_eq!(tested_files(&near), [(0, 1)]);
        let not_in_order = ["test/z/a/index.test.ts", "z/a/index.ts", "b/a/index.ts"];
        assert_eq!(tested_files(&not_in_order), [(0, 1)]);
        assert_eq!(tested_files(&["test/index.ts", "a/index.ts", "b/index.ts"]), []);
    }
}
