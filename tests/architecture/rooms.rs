//! Which rooms of a folder import which. A room is a folder inside a folder of `src`.

use std::collections::BTreeSet;

use super::modules::imports;
use super::sources::sources;

/// Each room with what its files may import of the same folder, apart from themselves. A folder's own name stands for
/// the files that lie in it, and a file that stands here is a room by itself.
const MAY_IMPORT: [(&str, &[&str]); 22] = [
    // A request's typed form is declared where it is read; its fingerprint hashes that form.
    ("contract", &["contract/validation"]),
    ("contract/validation", &["contract"]),
    // The front door and the kinds of objects stand side by side.
    ("entry", &[]),
    ("entry/door", &["entry"]),
    ("entry/session", &["entry"]),
    ("entry/workspace", &["entry"]),
    ("entry/user", &["entry"]),
    ("mcp/client", &[]),
    ("mcp/lists", &["mcp/client"]),
    ("persistence/fork", &["persistence"]),
    ("persistence", &["persistence/fork"]),
    ("platform/bindings", &[]),
    ("platform", &["platform/bindings"]),
    // The model call has a wall: of the loop it knows the running turn alone.
    ("reasoner/run_summary.rs", &[]),
    ("reasoner/running_turn.rs", &["reasoner/model_call", "reasoner/run_summary.rs"]),
    ("reasoner/model_call", &["reasoner/compaction", "reasoner/running_turn.rs"]),
    ("reasoner/compaction", &["reasoner/model_call", "reasoner/running_turn.rs"]),
    ("reasoner", &["reasoner/compaction", "reasoner/model_call", "reasoner/running_turn.rs"]),
    ("retrieval/work_budget.rs", &[]),
    ("retrieval/index", &["retrieval/work_budget.rs"]),
    ("retrieval/vectors", &["retrieval/index", "retrieval/work_budget.rs"]),
    ("retrieval", &["retrieval/index", "retrieval/work_budget.rs", "retrieval/vectors"]),
];

/// The room of a file: the longest name in the table that its path begins with.
fn room_of(path: &str) -> Option<&'static str> {
    let holds = |room: &&str| {
        path.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    MAY_IMPORT.iter().map(|(room, _)| *room).filter(holds).max_by_key(|room| room.len())
}

/// The imports from room to room within a folder, each with one file that has it.
fn crossings() -> Vec<(&'static str, &'static str, String)> {
    let folder = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for (file, imported) in imports(sources()) {
        for other in imported.iter().filter(|other| folder(other) == folder(&file)) {
            if let (Some(from), Some(to)) = (room_of(&file), room_of(other)) {
                found.push((from, to, format!("{file} imports {other}")));
            }
        }
    }
    found.retain(|(from, to, _)| from != to);
    found
}

#[test]
fn every_room_stands_in_the_table() {
    let nested = sources().iter().filter(|file| file.path.matches('/').count() > 1);
    let unknown = nested.filter(|file| room_of(&file.path).is_none_or(|room| !room.contains('/')));
    assert_eq!(unknown.map(|file| &file.path).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_room_imports_only_what_it_may_of_its_folder() {
    let may = |from: &str, to: &str| {
        MAY_IMPORT.iter().any(|(room, may)| *room == from && may.contains(&to))
    };
    let wrong = crossings().into_iter().filter(|(from, to, _)| !may(from, to));
    assert_eq!(wrong.map(|(_, _, files)| files).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn every_right_of_a_room_is_used() {
    let used: BTreeSet<_> = crossings().into_iter().map(|(from, to, _)| (from, to)).collect();
    let rights = MAY_IMPORT.iter().flat_map(|(room, may)| may.iter().map(move |to| (*room, *to)));
    let unused = rights.filter(|right| !used.contains(right));
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<(&str, &str)>::new());
}
