//! The invariants on the crate's first page (`src/lib.rs`), checked by reading the sources.
//!
//! What a rule looks at is code: comments and unit tests may name anything, unless the rule says
//! otherwise. Paths into the crate are written `crate::folder::…`, one folder to a
//! `use`, so that they can be found by reading.

// A test fails by panicking, in its helper functions too.
#![allow(clippy::unwrap_used)]
// A note that there was nothing to read is part of the result.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Layers 1, 2 and 3.
const STEPS: [&str; 3] = ["composition", "llm_call", "server_tools"];

struct Source {
    /// Relative to `src`, with forward slashes.
    path: String,
    /// As it stands in the file.
    text: String,
    /// Without comments and unit tests.
    code: String,
}

impl Source {
    /// The folder of `src` that holds it; empty for `lib.rs`.
    fn folder(&self) -> &str {
        self.path.split_once('/').map_or("", |(folder, _)| folder)
    }

    /// The folders of the crate that its code names, its own left out.
    fn names(&self) -> BTreeSet<&str> {
        let after = self.code.split("crate::").skip(1);
        let named = after.map(|rest| rest.split(|c: char| !is_word(c)).next().unwrap_or_default());
        named.filter(|name| *name != self.folder()).collect()
    }

    /// Whether a word stands in its code.
    fn says(&self, word: &str) -> bool {
        self.code.split(|c: char| !is_word(c)).any(|known| known == word)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files =
        files_under(&root).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        Source { code: code_of(&text), path, text }
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

/// Code without comments, up to the unit tests.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap_or(line).to_owned() + "\n").collect()
}

/// The files whose code `breaks` a rule, which must be those of `known` and no other.
fn assert_only(known: &[&str], breaks: impl Fn(&Source) -> bool) {
    let sources = sources();
    let found: Vec<_> =
        sources.iter().filter(|file| breaks(file)).map(|file| file.path.as_str()).collect();
    assert_eq!(found, known);
}

#[test]
fn only_the_platform_names_the_workers_runtime() {
    let runtime = [
        "worker",
        "wasm_bindgen",
        "wasm_bindgen_futures",
        "serde_wasm_bindgen",
        "js_sys",
        "web_sys",
    ];
    assert!(sources().iter().any(|file| file.folder() == "platform" && file.says("worker")));
    assert_only(&[], |file| {
        file.folder() != "platform" && runtime.iter().any(|name| file.says(name))
    });
}

#[test]
fn the_contract_the_wire_format_and_the_catalog_name_nobody_in_the_crate() {
    assert_only(&[], |file| {
        ["contract", "responses_api", "catalog"].contains(&file.folder())
            && !file.names().is_empty()
    });
}

#[test]
fn the_first_three_layers_never_name_each_other_nor_a_layer_behind_them() {
    let behind = ["reasoner", "persistence", "entry", "platform"];
    assert_only(&[], |file| {
        STEPS.contains(&file.folder())
            && file.names().iter().any(|name| STEPS.contains(name) || behind.contains(name))
    });
}

#[test]
fn only_the_reasoner_names_the_first_three_layers() {
    // Admission composes the user's words and freezes the tool list, because both are stored in the
    // same durable step that accepts the turn. Retrieval, before it, traces what it leaves out and
    // posts to a service as a tool does. Neither calls the model or runs a tool.
    assert_only(&["entry/admission.rs", "entry/turn_retrieval.rs"], |file| {
        file.folder() != "reasoner" && file.names().iter().any(|name| STEPS.contains(name))
    });
    assert_only(&[], |file| {
        file.folder() == "entry"
            && (file.names().contains("llm_call") || file.code.contains("server_tools::run"))
    });
}

#[test]
fn persistence_and_what_the_layers_share_name_no_layer() {
    let layers = ["composition", "llm_call", "server_tools", "reasoner", "entry", "platform"];
    assert_only(&[], |file| {
        ["persistence", "pipeline"].contains(&file.folder())
            && file.names().iter().any(|name| layers.contains(name))
    });
    assert_only(&[], |file| file.folder() == "pipeline" && file.names().contains("persistence"));
}

#[test]
fn retrieval_stands_on_the_storage_alone_and_only_the_entry_asks_it() {
    let known = ["contract", "persistence", "pipeline"];
    assert_only(&[], |file| {
        file.folder() == "retrieval" && file.names().iter().any(|name| !known.contains(name))
    });
    // Of persistence it names the seam to SQLite, never a session.
    assert_only(&[], |file| {
        file.folder() == "retrieval"
            && ["SessionStore", "Session", "Turn", "texts"].iter().any(|name| file.says(name))
    });
    assert_only(&[], |file| {
        !["retrieval", "entry", "platform"].contains(&file.folder())
            && file.names().contains("retrieval")
    });
    // A scope is read and compared without any storage; so are chunks and terms.
    assert_only(&["retrieval/workspace_index.rs"], |file| {
        file.folder() == "retrieval" && file.names().contains("persistence")
    });
}

#[test]
fn every_path_into_the_crate_can_be_found_by_reading() {
    // A path that climbs with `super` to the crate's root, or groups its folders, would be missed.
    assert_only(&[], |file| {
        let depth = file.path.matches('/').count() + usize::from(!file.path.ends_with("mod.rs"));
        let climbs = file.folder() != "" && file.code.contains(&"super::".repeat(depth));
        climbs || file.code.contains("crate::{") || file.code.contains("use crate;")
    });
}

#[test]
fn only_layer_2_calls_the_model_service_and_only_the_reasoner_calls_layer_2() {
    assert_only(&["llm_call/mod.rs"], |file| file.text.contains("/responses\""));
    assert_only(&["llm_call/mod.rs", "server_tools/http_tool.rs"], |file| {
        file.folder() != "platform" && file.code.contains(".send(")
    });
    assert_only(&["reasoner/exchange.rs"], |file| file.code.contains("llm_call::call("));
}

#[test]
fn an_invoke_result_is_built_in_one_place() {
    assert_only(&["contract/invoke_result.rs"], |file| {
        file.code.contains("struct InvokeResult ") || file.text.contains("\"Successful")
    });
}

#[test]
fn clock_randomness_and_secrets_come_in_through_the_platform() {
    let machine = ["SystemTime", "Instant", "Date", "getrandom", "rand", "env", "thread"];
    assert_only(&[], |file| {
        file.folder() != "platform" && machine.iter().any(|name| file.says(name))
    });
    assert_only(&[], |file| file.says("SystemTime") || file.says("Instant"));
}

#[test]
fn a_read_error_in_the_storage_is_never_turned_into_a_default() {
    let reads = ["persistence/", "retrieval/workspace_index.rs"];
    assert_only(&[], |file| {
        reads.iter().any(|place| file.path.starts_with(place))
            && ["unwrap_or_default", "ok()", "if let Ok("]
                .iter()
                .any(|shape| file.code.contains(shape))
    });
}

#[test]
fn every_file_says_first_what_it_owns_and_stays_short() {
    assert_only(&[], |file| !file.text.starts_with("//! "));
    assert_only(&[], |file| file.text.lines().count() > 600);
    for vague in ["utils", "helpers", "manager", "types", "handlers"] {
        assert_only(&[], |file| file.path.split(['/', '.']).any(|part| part == vague));
    }
}

#[test]
fn no_file_speaks_of_the_machine_it_was_written_on() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let listed = match listed {
        Ok(listed) if listed.status.success() => String::from_utf8(listed.stdout).unwrap(),
        _ => return println!("skipped: this is not a git checkout"),
    };
    // Parted, so that this file does not name them either.
    let machine = ["/wo rk/", "/ro ot/", "/ho me/", "/Us ers/", "/bash _jobs"]
        .map(|path| path.replace(' ', ""));
    let speaks = |path: &&str| {
        // A file that is listed and gone says nothing.
        let text = std::fs::read(root.join(path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        machine.iter().any(|path| text.contains(path.as_str()))
    };
    let found: Vec<_> = listed.split_terminator('\0').filter(speaks).collect();
    assert_eq!(found, Vec::<&str>::new());
}
