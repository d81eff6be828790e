//! No two files import each other in a circle, be it by a type alone: neither in Rust nor in JavaScript.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Imports, imports};
use super::scripts::imports_of_scripts;
use super::sources::sources;

#[test]
fn no_rust_files_import_each_other_in_a_circle() {
    assert_eq!(circles(&imports(sources())), Vec::<String>::new());
}

#[test]
fn no_scripts_import_each_other_in_a_circle() {
    assert_eq!(circles(&imports_of_scripts()), Vec::<String>::new());
}

/// For each file of a circle: what it imports of the circle.
fn circles(imports: &Imports) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached_from(file, imports))).collect();
    let reach_each_other =
        |one: &str, other: &str| reached[one].contains(other) && reached[other].contains(one);
    let of_one = |(file, imported): (&String, &BTreeSet<String>)| {
        let circle: Vec<_> =
            imported.iter().filter(|other| reach_each_other(file, other)).collect();
        (!circle.is_empty()).then(|| format!("{file} -> {circle:?}"))
    };
    imports.iter().filter_map(of_one).collect()
}

fn reached_from<'a>(file: &'a str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::from([file]);
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        let further = imports.get(next).into_iter().flatten().map(String::as_str);
        open.extend(further.filter(|file| reached.insert(file)));
    }
    reached
}

#[test]
fn a_circle_is_every_file_that_reaches_itself() {
    let file = |name: &str, imported: &[&str]| {
        (name.to_owned(), imported.iter().map(|name| (*name).to_owned()).collect())
    };
    let imports = [file("a", &["b", "d"]), file("b", &["c"]), file("c", &["a"]), file("d", &[])];
    assert_eq!(
        circles(&imports.into_iter().collect()),
        ["a -> [\"b\"]", "b -> [\"c\"]", "c -> [\"a\"]"]
    );
}
