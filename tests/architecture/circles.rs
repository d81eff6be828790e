//! No two files import each other in a circle.
//!
//! The check resolves each path to the file that defines the item. It follows a re-export, and
//! counts it as no import, so a `mod.rs` that only declares and re-exports takes part in no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::code::is_word;
use super::paths::{paths_in_text, paths_of, uses_of, without_uses};
use super::sources::{Source, sources};

/// The source files, keyed by the path of their module.
struct Tree {
    files: BTreeMap<Vec<String>, Source>,
}

impl Tree {
    fn new(sources: Vec<Source>) -> Self {
        let module = |file: &Source| -> Vec<String> {
            let path = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
            let parts = path.split('/').map(str::to_owned);
            parts.filter(|part| part != "lib").collect()
        };
        // A program in `bin` is a crate of its own.
        let sources = sources.into_iter().filter(|file| file.folder() != "bin");
        Self { files: sources.map(|file| (module(&file), file)).collect() }
    }

    /// The module that defines the item which `module` names by `path`; `None` for a path outside
    /// the crate.
    fn defines(&self, module: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let (mut at, rest) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (module.to_vec(), rest),
            "super" => (module.split_last()?.1.to_vec(), rest),
            _ => (self.child(module, first)?, rest),
        };
        for (place, name) in rest.iter().enumerate() {
            if name == "super" {
                at.pop();
                continue;
            }
            if name == "self" {
                break;
            }
            match self.child(&at, name) {
                Some(child) => at = child,
                None => {
                    return self.behind(&at, &rest[place..], hops);
                }
            }
        }
        Some(at)
    }

    fn child(&self, module: &[String], name: &str) -> Option<Vec<String>> {
        let child = [module, &[name.to_owned()]].concat();
        self.files.contains_key(&child).then_some(child)
    }

    /// Follows re-exports from `module` to the module that defines the item.
    fn behind(&self, module: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let file = self.files.get(module)?;
        let name = path.first()?;
        if hops == 0 || file.defines(name) {
            return Some(module.to_vec());
        }
        for mut path in uses_of(&file.code).into_iter().map(|used| used.path) {
            let is_all = path.last().is_some_and(|last| last == "*");
            if is_all {
                path.pop();
                path.push(name.clone());
            }
            if path.len() < 2 || path.last() != Some(name) {
                continue;
            }
            let found = self.defines(module, &path, hops - 1);
            let holds =
                |at: &Vec<String>| self.files.get(at).is_some_and(|file| file.defines(name));
            if let Some(found) = found.filter(|at| !is_all || holds(at)) {
                return Some(found);
            }
        }
        Some(module.to_vec())
    }

    /// The files that each file imports.
    fn imports(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut imports = BTreeMap::new();
        for (module, file) in &self.files {
            let body = without_uses(&file.code);
            let uses = |name: &str| body.split(|c: char| !is_word(c)).any(|word| word == name);
            // A re-export that the file does not use itself is no import.
            let used = uses_of(&file.code)
                .into_iter()
                .filter(|used| !used.is_shown || used.path.last().is_some_and(|name| uses(name)));
            let paths: Vec<_> = used.map(|used| used.path).chain(paths_in_text(&body)).collect();
            let found = paths.iter().filter_map(|path| self.defines(module, path, 4));
            let others = found.filter_map(|at| self.files.get(&at)).map(|file| file.path.as_str());
            imports.insert(file.path.as_str(), others.filter(|path| *path != file.path).collect());
        }
        imports
    }
}

impl Source {
    /// Whether the file defines an item of that name.
    fn defines(&self, name: &str) -> bool {
        const KINDS: [&str; 10] = [
            "fn",
            "struct",
            "enum",
            "trait",
            "const",
            "static",
            "type",
            "mod",
            "union",
            "macro_rules!",
        ];
        let mut words = self.code.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let next = words.peek().copied().unwrap_or_default();
            let defined = next.split(|c: char| !is_word(c)).next().unwrap_or_default();
            if KINDS.contains(&word) && defined == name {
                return true;
            }
        }
        false
    }
}

/// The groups of files in which every file reaches every other.
fn circles<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (*file, reached_from(file, imports))).collect();
    let circle = |file: &&'a str| -> Vec<&'a str> {
        imports
            .keys()
            .copied()
            .filter(|other| reached[file].contains(other) && reached[other].contains(file))
            .collect()
    };
    imports.keys().map(circle).filter(|files| !files.is_empty()).collect()
}

fn reached_from<'a>(
    file: &str,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = imports[file].iter().copied().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&imports[next]);
        }
    }
    reached
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let tree = Tree::new(sources());
    let imports = tree.imports();
    let mut told = Vec::new();
    for circle in circles(&imports) {
        for file in &circle {
            let among: Vec<_> = imports[file].iter().filter(|at| circle.contains(at)).collect();
            told.push(format!("{file} -> {among:?}"));
        }
        told.push(String::new());
    }
    assert!(told.is_empty(), "\n{}", told.join("\n"));
}

#[test]
fn a_path_leads_through_re_exports_to_the_file_that_defines_it() {
    let file = |path: &str, code: &str| Source {
        path: path.to_owned(),
        text: String::new(),
        code: code.to_owned(),
        paths: paths_of(code),
    };
    let tree = Tree::new(vec![
        file("lib.rs", "pub mod a; pub mod d;"),
        file("a/mod.rs", "mod b; mod c; pub use b::B; pub use c::*; pub struct A;"),
        file("a/b.rs", "use super::{A, C}; pub struct B(A, C);"),
        file("a/c.rs", "pub struct C;"),
        file("d.rs", "use crate::a::{B, C}; fn d(_: B, _: C, _: crate::a::A) {}"),
    ]);
    let imports = tree.imports();
    assert_eq!(imports["a/mod.rs"], BTreeSet::from([]));
    assert_eq!(imports["a/b.rs"], BTreeSet::from(["a/c.rs", "a/mod.rs"]));
    assert_eq!(imports["d.rs"], BTreeSet::from(["a/b.rs", "a/c.rs", "a/mod.rs"]));
    assert!(circles(&imports).is_empty());
    let both = BTreeMap::from([("x", BTreeSet::from(["y"])), ("y", BTreeSet::from(["x"]))]);
    assert_eq!(circles(&both), BTreeSet::from([vec!["x", "y"]]));
}
