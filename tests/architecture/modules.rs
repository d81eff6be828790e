//! Which file imports which: each path is resolved to the file that defines the item.
//!
//! A re-export is followed, and is no import, so a `mod.rs` that only declares and re-exports imports nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{Source, absolute};

/// The files that each file imports.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

pub(crate) fn imports(sources: &[Source]) -> Imports {
    // A program in `bin` is a crate of its own.
    let sources = sources.iter().filter(|file| file.folder() != "bin");
    let tree = Tree { files: sources.map(|file| (file.module(), file)).collect() };
    let modules = tree.files.iter();
    modules.map(|(module, file)| (file.path.clone(), tree.imported(module, file))).collect()
}

/// The source files, by their modules.
struct Tree<'a> {
    files: BTreeMap<Vec<String>, &'a Source>,
}

impl Tree<'_> {
    fn imported(&self, module: &[String], file: &Source) -> BTreeSet<String> {
        // A re-export that the file does not use itself is no import.
        let is_used = |name: &String| file.code.words_outside_uses.contains(name);
        let uses = file.code.uses.iter();
        let used = uses.filter(|used| !used.is_shown || used.path.last().is_some_and(is_used));
        let paths = used.map(|used| &used.path).chain(&file.code.paths);
        let found = paths.filter_map(|path| self.file_of(module, path, 4));
        let others = found.filter_map(|at| self.files.get(&at)).map(|file| file.path.clone());
        others.filter(|path| *path != file.path).collect()
    }

    /// The module that defines the item which `module` names by `path`; `None` for a path outside the crate.
    fn file_of(&self, module: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let path = match absolute(module, path) {
            Some(path) => path,
            // A path may also begin with a module of this one.
            None => {
                let path = [module, path].concat();
                self.files.contains_key(&path[..=module.len()]).then_some(path)?
            }
        };
        let is_module = |end: &usize| self.files.contains_key(&path[..*end]);
        let end = (0..=path.len()).rev().find(is_module)?;
        let (at, rest) = path.split_at(end);
        Some(self.behind(at, rest, hops))
    }

    /// Follows re-exports from `module` to the module that defines the item.
    fn behind(&self, module: &[String], path: &[String], hops: usize) -> Vec<String> {
        let here = || module.to_vec();
        let (Some(file), Some(name)) = (self.files.get(module), path.first()) else {
            return here();
        };
        if hops == 0 || file.code.items.contains(name) {
            return here();
        }
        let defines = |at: &Vec<String>| self.files[at].code.items.contains(name);
        let behind_one = |path: &Vec<String>| match path.split_last()? {
            (last, before) if last == "*" => {
                let path = [before, std::slice::from_ref(name)].concat();
                self.file_of(module, &path, hops - 1).filter(defines)
            }
            (last, before) if last == name && !before.is_empty() => {
                self.file_of(module, path, hops - 1)
            }
            _ => None,
        };
        let found = file.code.uses.iter().find_map(|used| behind_one(&used.path));
        found.unwrap_or_else(here)
    }
}

#[test]
fn a_path_leads_through_re_exports_to_the_file_that_defines_it() {
    let file = |path: &str, code: &str| Source::new(path, code.to_owned());
    let imports = imports(&[
        file("lib.rs", "pub mod a; pub mod d;"),
        file("a/mod.rs", "mod b; mod c; pub use b::B; pub use c::*; pub struct A;"),
        file("a/b.rs", "use super::{A, C}; pub struct B(A, C);"),
        file("a/c.rs", "pub struct C;"),
        file("d.rs", "use crate::a::{B, C}; fn d(_: B, _: C) { e!(crate::a::A) }"),
    ]);
    let of = |path: &str| imports[path].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("a/mod.rs"), Vec::<&str>::new());
    assert_eq!(of("a/b.rs"), ["a/c.rs", "a/mod.rs"]);
    assert_eq!(of("d.rs"), ["a/b.rs", "a/c.rs", "a/mod.rs"]);
}
