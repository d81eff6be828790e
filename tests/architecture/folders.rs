//! Which folders each folder of `src` may name.

use std::collections::BTreeSet;

use super::sources::{Source, sources};

/// Each folder with the folders that its code may name. Nothing else is permitted.
const MAY_NAME: [(&str, &[&str]); 23] = [
    ("encoding", &[]),
    ("json", &[]),
    ("contract", &["encoding", "json"]),
    ("responses_api", &["encoding", "json"]),
    ("catalog", &["encoding", "json"]),
    ("ports", &["contract", "encoding"]),
    ("object", &["contract", "ports"]),
    ("live_text", &["contract", "ports"]),
    ("tracing", &["contract", "encoding", "ports"]),
    ("outbound", &["catalog", "encoding", "ports"]),
    ("identity", &["catalog", "contract", "encoding", "json", "object", "outbound", "ports"]),
    ("mcp", &["catalog", "contract", "encoding", "json", "object", "outbound", "ports"]),
    ("files", &["contract", "encoding", "json", "ports"]),
    (
        "retrieval",
        &["catalog", "contract", "encoding", "json", "object", "outbound", "ports", "tracing"],
    ),
    ("persistence", &["contract", "encoding", "files", "object", "ports"]),
    ("users", &["contract", "encoding", "object", "persistence", "ports"]),
    ("webhooks", &["catalog", "contract", "encoding", "outbound", "persistence", "ports"]),
    (
        "composition",
        &["catalog", "contract", "encoding", "json", "mcp", "responses_api", "retrieval"],
    ),
    ("llm_call", &["catalog", "contract", "outbound", "ports", "responses_api"]),
    (
        "server_tools",
        &["catalog", "contract", "encoding", "files", "json", "mcp", "outbound", "ports"],
    ),
    (
        "reasoner",
        &[
            "catalog",
            "composition",
            "contract",
            "encoding",
            "files",
            "identity",
            "json",
            "live_text",
            "llm_call",
            "mcp",
            "object",
            "persistence",
            "ports",
            "responses_api",
            "retrieval",
            "server_tools",
            "tracing",
            "users",
            "webhooks",
        ],
    ),
    (
        "entry",
        &[
            "catalog",
            "contract",
            "encoding",
            "files",
            "identity",
            "json",
            "live_text",
            "llm_call",
            "mcp",
            "object",
            "persistence",
            "ports",
            "reasoner",
            "responses_api",
            "retrieval",
            "tracing",
            "users",
            "webhooks",
        ],
    ),
    ("platform", &["contract", "encoding", "entry", "identity", "mcp", "ports"]),
];

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
        let wrong = named.iter().filter(|name| !may.contains(&name.as_str()));
        found.extend(wrong.map(|name| format!("{} names {name}", file.path)));
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_right_in_the_table_is_used() {
    let mut unused = Vec::new();
    for (folder, may) in MAY_NAME {
        let files = sources().iter().filter(|file| file.folder() == folder);
        let named: BTreeSet<String> = files.flat_map(Source::names).collect();
        let idle = may.iter().filter(|name| !named.contains(**name));
        unused.extend(idle.map(|name| format!("{folder} need not name {name}")));
    }
    assert_eq!(unused, Vec::<String>::new());
}

#[test]
fn the_head_of_a_folder_that_says_what_it_names_is_true() {
    let mut wrong = Vec::new();
    for file in sources() {
        let head = file.text.lines().map_while(|line| line.strip_prefix("//!"));
        let head = head.collect::<String>();
        let said =
            match (head.split_once("names only "), head.contains("names nobody else in the crate"))
            {
                (Some((_, after)), _) => after.split('.').next().unwrap_or_default(),
                (None, true) => "",
                (None, false) => continue,
            };
        let said: BTreeSet<&str> = said.split('`').skip(1).step_by(2).collect();
        let row = MAY_NAME.iter().find(|(folder, _)| file.path == format!("{folder}/mod.rs"));
        let may = row.map(|(_, may)| may.iter().copied().collect::<BTreeSet<_>>());
        if may.as_ref() != Some(&said) {
            wrong.push(format!("{} says {said:?}, the table {may:?}", file.path));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_table_of_folders_has_no_circle() {
    // Each folder names only folders that stand above it in the table.
    for (place, (folder, may)) in MAY_NAME.iter().enumerate() {
        let above = |name: &&str| MAY_NAME[..place].iter().any(|(known, _)| known == name);
        assert!(may.iter().all(above), "{folder}");
    }
}
