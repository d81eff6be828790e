//! The form of the files: their first line, their length, their names.

use std::process::Command;

use super::assert_only;
use super::scripts;
use super::sources::{Source, files_under, root, sources};

/// The length of a file in lines, be it code or test, beyond which it is not one thought. `make check` warns from half of
/// it on.
const FILE_LINES: usize = 1000;

/// The same of a function; unit tests may be longer.
const FUNCTION_LINES: usize = 160;

#[test]
fn every_file_says_first_what_it_owns() {
    assert_only(&[], |file| !file.text.starts_with("//! "));
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    for vague in ["utils", "helpers", "manager", "types", "handlers"] {
        assert_only(&[], |file| file.path.split(['/', '.']).any(|part| part == vague));
    }
}

#[test]
fn no_file_is_longer_than_1000_lines() {
    let endings = [&scripts::ENDINGS[..], &["rs", "css"]].concat();
    let files = scripts::FOLDERS.iter().flat_map(|folder| files_under(folder, &endings));
    let long = files.filter_map(|(path, text)| {
        let is_long = text.lines().count() > FILE_LINES && !is_generated(&text);
        is_long.then(|| format!("{path}: {}", text.lines().count()))
    });
    assert_eq!(long.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Whether a file says in its first lines that a program wrote it.
fn is_generated(text: &str) -> bool {
    text.lines().take(3).any(|line| line.to_lowercase().contains("generated"))
}

#[test]
fn no_function_is_longer_than_160_lines() {
    let of_one = |file: &Source| -> Vec<String> {
        let long = file.code.functions.iter().filter(|(_, lines)| *lines > FUNCTION_LINES);
        long.map(|(name, lines)| format!("{} {name}: {lines}", file.path)).collect()
    };
    assert_eq!(sources().iter().flat_map(of_one).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn the_platform_s_page_names_every_file_and_what_it_adapts() {
    let sources = sources();
    let pages = |file: &&Source| file.folder() == "platform" && file.path.ends_with("/mod.rs");
    let mut missing = Vec::new();
    for page in sources.iter().filter(pages) {
        let folder = page.path.trim_end_matches("mod.rs");
        for file in sources {
            let Some(inside) = file.path.strip_prefix(folder) else { continue };
            // A folder inside counts as one entry; it has a page of its own.
            let name = inside.split(['/', '.']).next().unwrap_or_default();
            if inside != "mod.rs" && !is_told(&page.text, name) {
                missing.push(format!("{}: {name}", page.path));
            }
        }
    }
    missing.dedup();
    assert_eq!(missing, Vec::<String>::new());
}

/// Whether a page has a line that names the file and says more than its name.
fn is_told(page: &str, name: &str) -> bool {
    let lines = page.lines().filter_map(|line| line.strip_prefix("//! "));
    let named = lines.filter_map(|line| line.split_once(&format!("`{name}`")));
    named.into_iter().any(|(_, what)| what.split_whitespace().count() > 2)
}

#[test]
fn no_file_speaks_of_the_machine_it_was_written_on() {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let listed = match listed {
        Ok(listed) if listed.status.success() => String::from_utf8(listed.stdout).unwrap(),
        _ => return println!("skipped: this is not a git checkout"),
    };
    // The spaces keep these paths out of this file.
    let machine = ["/wo rk/", "/ro ot/", "/ho me/", "/Us ers/", "/bash _jobs"]
        .map(|path| path.replace(' ', ""));
    let speaks = |path: &&str| {
        // Git also lists a file that was just deleted; it counts as empty.
        let text = std::fs::read(root().join(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        machine.iter().any(|path| text.contains(path.as_str()))
    };
    let found: Vec<_> = listed.split_terminator('\0').filter(speaks).collect();
    assert_eq!(found, Vec::<&str>::new());
}
