//! Which folders each folder of `src` may name.

use super::assert_only;
use super::sources::sources;

/// Each folder with the folders that its code may name. Nothing else is permitted.
const MAY_NAME: [(&str, &[&str]); 18] = [
    ("encoding", &[]),
    ("json", &[]),
    ("contract", &["encoding", "json"]),
    ("responses_api", &["encoding", "json"]),
    ("catalog", &["encoding", "json"]),
    ("ports", &["contract"]),
    ("live_text", &["contract", "ports"]),
    ("outbound", &["catalog", "encoding", "ports"]),
    ("mcp", &["catalog", "contract", "encoding", "json", "outbound", "ports"]),
    ("files", &["contract", "encoding", "json", "ports"]),
    ("retrieval", &["catalog", "contract", "encoding", "json", "outbound", "ports"]),
    ("persistence", &["contract", "encoding", "files", "json", "ports"]),
    (
        "composition",
        &["catalog", "contract", "encoding", "json", "mcp", "responses_api", "retrieval"],
    ),
    ("llm_call", &["catalog", "contract", "encoding", "outbound", "ports", "responses_api"]),
    ("server_tools", &["catalog", "contract", "files", "json", "mcp", "outbound", "ports"]),
    (
        "reasoner",
        &[
            "catalog",
            "composition",
            "contract",
            "encoding",
            "files",
            "json",
            "live_text",
            "llm_call",
            "mcp",
            "outbound",
            "persistence",
            "ports",
            "responses_api",
            "retrieval",
            "server_tools",
        ],
    ),
    (
        "entry",
        &[
            "catalog",
            "contract",
            "encoding",
            "files",
            "json",
            "live_text",
            "llm_call",
            "mcp",
            "outbound",
            "persistence",
            "ports",
            "reasoner",
            "responses_api",
            "retrieval",
        ],
    ),
    (
        "platform",
        &["catalog", "contract", "entry", "mcp", "persistence", "ports", "reasoner", "retrieval"],
    ),
];

/// The only items of `persistence` and `retrieval` that `platform` may name: the types it
/// constructs.
const CONSTRUCTED: [&str; 3] = ["SessionStore", "ChunkIndex", "WorkspaceIndex"];

#[test]
fn a_folder_names_only_those_that_it_may() {
    let mut found = Vec::new();
    for file in sources().iter().filter(|file| file.path != "lib.rs") {
        let row = MAY_NAME.iter().find(|(folder, _)| *folder == file.folder());
        let Some((_, may)) = row else {
            found.push(format!("{} stands in no folder of the table", file.path));
            continue;
        };
        let named = file.names();
        let wrong = named.iter().filter(|name| !may.contains(name));
        found.extend(wrong.map(|name| format!("{} names {name}", file.path)));
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_table_of_folders_has_no_circle() {
    // Each folder names only folders that stand above it in the table.
    for (place, (folder, may)) in MAY_NAME.iter().enumerate() {
        let above = |name: &&str| MAY_NAME[..place].iter().any(|(known, _)| known == name);
        assert!(may.iter().all(above), "{folder}");
    }
}

#[test]
fn the_platform_names_the_storage_s_owners_only_to_construct_them() {
    assert_only(&[], |file| {
        let named = |folder| file.items_of(folder).iter().any(|item| !CONSTRUCTED.contains(item));
        file.folder() == "platform" && (named("persistence") || named("retrieval"))
    });
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
fn clock_randomness_and_secrets_come_in_through_the_platform() {
    let machine = ["SystemTime", "Instant", "Date", "getrandom", "rand", "thread"];
    // `env!` is read by the compiler.
    let reads_environment = |path: &Vec<String>| path.starts_with(&["std".into(), "env".into()]);
    assert_only(&[], |file| {
        file.folder() != "platform"
            && (machine.iter().any(|name| file.says(name))
                || file.paths.iter().any(reads_environment))
    });
    assert_only(&[], |file| file.says("SystemTime") || file.says("Instant"));
}

#[test]
fn every_path_into_the_crate_can_be_found_by_reading() {
    // The other rules would miss a path that climbs to the crate's root with `super`, or that
    // groups folders.
    assert_only(&[], |file| {
        let climbs = |path: &Vec<String>| path.iter().filter(|part| *part == "super").count();
        let most =
            usize::from(!file.path.ends_with("/mod.rs") || file.path.matches('/').count() > 1);
        let reaches_root = file.paths.iter().any(|path| climbs(path) > most);
        reaches_root || file.code.contains("crate::{") || file.code.contains("use crate;")
    });
}
