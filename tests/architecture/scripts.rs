//! Which JavaScript and TypeScript files import which, types included.

use std::collections::BTreeSet;

use super::modules::Imports;
use super::sources::files_under;

/// Where JavaScript and TypeScript stand.
pub(crate) const FOLDERS: [&str; 5] = ["src", "tests", "tools", "clients", "server"];

/// The endings of their files.
pub(crate) const ENDINGS: [&str; 4] = ["mjs", "js", "ts", "tsx"];

/// The files of this repository that each of its scripts imports.
pub(crate) fn imports_of_scripts() -> Imports {
    let files: Vec<_> = FOLDERS.iter().flat_map(|folder| files_under(folder, &ENDINGS)).collect();
    let known: BTreeSet<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let found = |from: &str, target: &str| {
        let path = resolved(from, target);
        // TypeScript may import `x.ts` as `x.js`.
        let typed = path.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        [Some(path), typed].into_iter().flatten().find(|path| known.contains(path.as_str()))
    };
    let of_one = |(path, text): &(String, String)| {
        let imported = targets(text).into_iter().filter_map(|target| found(path, target));
        (path.clone(), imported.collect())
    };
    files.iter().map(of_one).collect()
}

/// The relative paths that a script imports or re-exports.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for opening in ["from ", "import ", "import("] {
        for (at, _) in text.match_indices(opening) {
            let rest = &text[at + opening.len()..];
            let Some(quote) = rest.chars().next().filter(|c| ['\'', '"'].contains(c)) else {
                continue;
            };
            let target = rest[1..].split(quote).next().unwrap_or_default();
            if target.starts_with('.') {
                found.push(target);
            }
        }
    }
    found
}

/// The path of the repository that a relative path of a file means.
fn resolved(from: &str, target: &str) -> String {
    let mut at: Vec<&str> = from.split('/').collect();
    at.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => drop(at.pop()),
            name => at.push(name),
        }
    }
    at.join("/")
}

#[test]
fn the_imports_of_a_script_are_found_in_each_of_their_forms() {
    let text = "import a from './a.js';\nimport { type B,\n  C } from \"../b.ts\";\nexport * from './c.mjs';\n\
                import './d.js';\nconst e = await import('./e.mjs');\nimport f from 'f';";
    let mut found = targets(text);
    found.sort_unstable();
    assert_eq!(found, ["../b.ts", "./a.js", "./c.mjs", "./d.js", "./e.mjs"]);
    assert_eq!(resolved("clients/x/y.ts", "../z/./w.ts"), "clients/z/w.ts");
}
