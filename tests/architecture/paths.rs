//! The paths that code names: those of every `use`, with its braces expanded, and those in the rest
//! of the code.

use super::code::is_word;

/// One path of a `use`.
#[derive(Debug, PartialEq)]
pub(crate) struct Use {
    /// Its segments, a `*` included; an `as` and its new name are left out.
    pub(crate) path: Vec<String>,
    /// A re-export, which the file need not use itself.
    pub(crate) is_shown: bool,
}

/// Every path that code names: those of each `use`, and every other path of two or more segments.
pub(crate) fn paths_of(code: &str) -> Vec<Vec<String>> {
    let used = uses_of(code).into_iter().map(|used| used.path);
    used.chain(paths_in_text(&without_uses(code))).collect()
}

pub(crate) fn uses_of(code: &str) -> Vec<Use> {
    let of_one = |(start, end): (usize, usize)| {
        let before = code[..start].trim_end();
        let is_shown = before.ends_with("pub") || before.ends_with(')');
        opened(&code[start + 4..end]).into_iter().map(move |path| Use { path, is_shown })
    };
    uses(code).into_iter().flat_map(of_one).collect()
}

/// Code without any `use`.
pub(crate) fn without_uses(code: &str) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for (start, end) in uses(code) {
        rest.push_str(&code[at..start]);
        at = end;
    }
    rest + &code[at..]
}

/// The start of each `use …` and the place of its `;`.
fn uses(code: &str) -> Vec<(usize, usize)> {
    let begins = |at: usize| code[..at].chars().next_back().is_none_or(|c| c.is_whitespace());
    let found = code.match_indices("use ").filter(|(at, _)| begins(*at));
    found.filter_map(|(at, _)| Some((at, at + code[at..].find(';')?))).collect()
}

/// Expands the braces of a `use` tree into paths.
fn opened(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((start, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let segments = path.split("::").map(|segment| segment.trim().to_owned());
        return vec![segments.filter(|segment| !segment.is_empty()).collect()];
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let start: Vec<String> =
        start.split("::").map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
    let branches = branches(inner);
    let paths = branches.into_iter().filter(|branch| !branch.trim().is_empty()).flat_map(opened);
    paths.map(|path| [start.clone(), path].concat()).collect()
}

/// Splits a list at the commas that stand outside braces.
fn branches(list: &str) -> Vec<&str> {
    let mut depth = 0;
    list.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

pub(crate) fn paths_in_text(code: &str) -> Vec<Vec<String>> {
    let texts = code.split(|c: char| !is_word(c) && c != ':').filter(|text| text.contains("::"));
    let segments = |text: &str| -> Vec<String> {
        text.split("::").map(|segment| segment.trim_matches(':').to_owned()).collect()
    };
    let paths = texts.map(segments).map(|mut path| {
        path.retain(|segment| !segment.is_empty());
        path
    });
    paths.filter(|path| path.len() > 1).collect()
}

#[test]
fn the_braces_of_a_use_are_opened() {
    let code = "pub use crate::a::{B, c::{self, D as E}};\nfn f() { crate::g::h::<u8>(i::J) }";
    let paths: Vec<String> = paths_of(code).iter().map(|path| path.join("::")).collect();
    assert_eq!(
        paths,
        ["crate::a::B", "crate::a::c::self", "crate::a::c::D", "crate::g::h", "i::J"]
    );
    assert_eq!(without_uses("use a;\nb use_c").replace(';', ""), "\nb use_c");
}
