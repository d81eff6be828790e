//! Which crates the code names: every one of the manifests, and the runtime's in `platform` alone.

use std::collections::BTreeSet;

use super::assert_only;
use super::reading::Code;
use super::sources::{files_under, root, sources};

/// The crates of the Workers runtime.
const RUNTIME: [&str; 6] =
    ["worker", "wasm_bindgen", "wasm_bindgen_futures", "serde_wasm_bindgen", "js_sys", "web_sys"];

#[test]
fn every_crate_of_a_manifest_is_used() {
    let of_src = sources().iter().map(|file| file.code.roots());
    assert_eq!(unused("Cargo.toml", "dependencies", of_src), BTreeSet::new());
    for (manifest, table, folder) in [
        ("Cargo.toml", "dev-dependencies", "src"),
        ("tests/Cargo.toml", "dev-dependencies", "tests"),
        ("tests/bed/Cargo.toml", "dependencies", "tests/bed"),
        ("tests/replay/Cargo.toml", "dependencies", "tests/replay"),
    ] {
        let files = files_under(folder, &["rs"]);
        // Unit tests are read like other code.
        let texts = files.iter().map(|(_, text)| text.replace("#[cfg(test)]", ""));
        let named = texts.map(|text| Code::of(&text).unwrap().roots());
        assert_eq!(unused(manifest, table, named), BTreeSet::new());
    }
}

/// The crates of a manifest's table that the code does not name. `named`: what each file names; no more files are read
/// than it takes to find them all.
fn unused(
    manifest: &str,
    table: &str,
    named: impl Iterator<Item = BTreeSet<String>>,
) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(manifest)).unwrap();
    let lines = text.lines().skip_while(|line| *line != format!("[{table}]")).skip(1);
    let rows =
        lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    let names = rows.filter_map(|line| line.split_once([' ', '=', '.'])).map(|(name, _)| name);
    let mut left: BTreeSet<String> = names.map(|name| name.replace('-', "_")).collect();
    assert!(!left.is_empty(), "{manifest} has no {table}");
    for roots in named {
        left.retain(|name| !roots.contains(name));
        if left.is_empty() {
            break;
        }
    }
    left
}

#[test]
fn only_the_platform_names_the_workers_runtime() {
    assert!(sources().iter().any(|file| file.folder() == "platform" && file.code.says("worker")));
    assert_only(&[], |file| {
        file.folder() != "platform" && RUNTIME.iter().any(|name| file.code.says(name))
    });
}

#[test]
fn one_file_has_code_for_one_target_alone() {
    // Lints read what is compiled natively, so they miss the code behind another target.
    assert_only(&["retrieval/vectors/quantized_vector.rs"], |file| {
        ["target_arch", "target_family", "target_os", "target_pointer_width"]
            .iter()
            .any(|condition| file.text.contains(condition))
    });
}

#[test]
fn one_file_writes_to_the_console() {
    // Lints deny the macros that print; what is written there is the log.
    assert_only(&["platform/bindings/console.rs", "platform/console.rs"], |file| {
        file.code.words.iter().any(|word| word.starts_with("console_"))
    });
}

#[test]
fn clock_randomness_and_secrets_come_in_through_the_platform() {
    let machine = ["SystemTime", "Instant", "Date", "getrandom", "rand", "thread"];
    assert_only(&[], |file| {
        file.folder() != "platform"
            // What `env!` tells is the compiler's, and no variable of the machine.
            && (machine.iter().any(|name| file.code.says(name))
                || file.code.text.contains("env ::"))
    });
    assert_only(&[], |file| file.code.says("SystemTime") || file.code.says("Instant"));
}
