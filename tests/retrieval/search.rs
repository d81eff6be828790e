//! Search results: the best chunks within the scope, always in the same order, for any query.

use std::collections::BTreeSet;

use aptix_edge::contract::{Document, RagOperator};
use aptix_edge::retrieval::Chunk;
use proptest::prelude::*;

use super::scope::{permits, scope};
use super::storage::Storage;
use super::{Index, document};

fn index_of(documents: &[Document]) -> Index<Storage> {
    let index = Index::new(Storage::new());
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    index
}

fn paths(found: &[Chunk]) -> Vec<&str> {
    found.iter().map(|found| found.path.as_str()).collect()
}

#[test]
fn a_chunk_comes_with_its_place_language_and_text() {
    let blocks: String =
        (0..60).map(|n| format!("step {n}\n\n{}\n\n", "word ".repeat(20))).collect();
    let text = format!("{blocks}the needle\n");
    let index = index_of(&[document("notes.md", &text)]);
    let found = index.search("needle", None, 8, usize::MAX).unwrap();
    assert_eq!(found.len(), 1);
    let Chunk { path, start_line, end_line, language, text: chunk, .. } = &found[0];
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!((path.as_str(), language.as_str()), ("notes.md", "markdown"));
    assert_eq!(*chunk, lines[start_line - 1..*end_line].concat());
    assert_eq!(*end_line, lines.len());
}

#[test]
fn the_better_chunk_is_first_and_equals_stand_by_path_and_line() {
    let index = index_of(&[
        document("c", "alpha one\n"),
        document("b", "alpha one\n"),
        document("z", "alpha alpha beta\n"),
        document("a", "alpha one\n"),
        document("other", "gamma\n"),
    ]);
    let found = index.search("alpha beta", None, 8, usize::MAX).unwrap();
    assert_eq!(paths(&found), ["z", "a", "b", "c"]);
    assert_eq!(paths(&index.search("alpha beta", None, 2, usize::MAX).unwrap()), ["z", "a"]);
}

#[test]
fn chunks_that_exceed_the_bytes_are_skipped() {
    let index = index_of(&[
        document("a", "alpha alpha alpha\n"),
        document("b", "alpha alpha and rather many other words behind it\n"),
        document("c", "alpha or\n"),
        document("d", "none\n"),
    ]);
    let lengths = |max_bytes| -> Vec<usize> {
        let found = index.search("alpha", None, 8, max_bytes).unwrap();
        found.iter().map(|found| found.text.len()).collect()
    };
    assert_eq!(lengths(usize::MAX).iter().sum::<usize>(), 18 + 50 + 9);
    assert_eq!(lengths(27), [18, 9]);
    assert_eq!(lengths(9), [9]);
    assert_eq!(lengths(0), [0_usize; 0]);
}

#[test]
fn of_neighbours_that_do_not_fit_together_those_that_fit_are_returned() {
    let words = format!("{}\n", "word ".repeat(20)).repeat(6);
    let section = |title: &str| format!("# {title}\n\n{words}the needle\n{words}\n");
    let text = ["One", "Two"].map(section).concat();
    let small = format!("the needle needle needle\n{}\n", "other ".repeat(10));
    let lengths = |documents: &[Document], max_bytes| -> Vec<usize> {
        let found = index_of(documents).search("needle", None, 8, max_bytes).unwrap();
        found.iter().map(|found| found.text.len()).collect()
    };
    let (one, whole) = (section("One").len(), text.len());
    let long = document("long.md", &text);
    assert_eq!(lengths(std::slice::from_ref(&long), whole), [whole]);
    for max_bytes in [one, 1_500, 2_000, whole - 1] {
        assert_eq!(lengths(std::slice::from_ref(&long), max_bytes), [one]);
    }
    assert_eq!(lengths(std::slice::from_ref(&long), one - 1), [0_usize; 0]);
    // What is left behind a better document is too little for both, and enough for one.
    let both = [document("small.md", &small), long];
    assert_eq!(lengths(&both, small.len() + whole), [small.len(), whole]);
    assert_eq!(lengths(&both, small.len() + whole - 1), [small.len(), one]);
}

#[test]
fn the_limit_counts_within_the_scope() {
    let mut documents: Vec<Document> = (0..300)
        .map(|n| document(&format!("loud/{n:03}.rs"), "alpha alpha alpha alpha\n"))
        .collect();
    for n in 0..20 {
        let mut quiet = document(&format!("quiet/{n:02}.cs"), "alpha among several other words\n");
        quiet.properties = [("team".to_owned(), vec![format!("t{}", n % 4)])].into();
        documents.push(quiet);
    }
    let index = index_of(&documents);
    let found = |conditions: &[_], limit| {
        let found = index.search("alpha", Some(&scope(conditions)), limit, usize::MAX).unwrap();
        found.into_iter().map(|found| found.path).collect::<Vec<_>>()
    };
    let quiet = ("Path", RagOperator::Contains, &["quiet/"][..]);
    assert_eq!(found(&[quiet], 3), ["quiet/00.cs", "quiet/01.cs", "quiet/02.cs"]);
    assert_eq!(found(&[("Language", RagOperator::Equal, &["csharp"])], 100).len(), 20);
    assert_eq!(
        found(&[("team", RagOperator::Equal, &["t1", "t2"])], 3),
        ["quiet/01.cs", "quiet/02.cs", "quiet/05.cs"]
    );
    assert_eq!(found(&[("team", RagOperator::NotEqual, &["t1"])], 500).len(), 315);
    assert_eq!(found(&[quiet, ("Language", RagOperator::Equal, &["rust"])], 8), [""; 0]);
    assert_eq!(found(&[], 400).len(), 320);
}

#[test]
fn a_scope_looks_at_every_document_of_a_large_workspace() {
    let documents: Vec<Document> =
        (0..4500).map(|n| document(&format!("d/{n:04}"), "alpha\n")).collect();
    let index = index_of(&documents);
    let ends = scope(&[("Path", RagOperator::Contains, &["99"])]);
    let found = index.search("alpha", Some(&ends), 1000, usize::MAX).unwrap();
    let expected: Vec<&str> = documents
        .iter()
        .filter(|document| permits(&ends, document))
        .map(|document| document.path.as_str())
        .collect();
    assert_eq!(paths(&found), expected);
}

#[test]
fn ten_thousand_chunks_are_searched_as_ten_are() {
    let documents: Vec<Document> = (0..10_000)
        .map(|n| {
            document(
                &format!("src/{}/{n}.rs", n % 7),
                &format!("fn handler_{n}() {{ work{}(); }}\n", n % 10),
            )
        })
        .collect();
    let index = index_of(&documents);
    let counts = index.counts().unwrap();
    assert_eq!((counts.documents, counts.chunks), (10_000, 10_000));
    let found = index.search("who calls handler_4711?", None, 8, usize::MAX).unwrap();
    assert_eq!((found.len(), found[0].path.as_str()), (8, "src/0/4711.rs"));
    assert_eq!(index.remove("src/3/").unwrap().documents, 1429);
    assert_eq!(index.counts().unwrap().chunks, 8571);
    let left = index.search("work3", None, 10_000, usize::MAX).unwrap();
    let paths: BTreeSet<&str> = paths(&left).into_iter().collect();
    assert!(paths.len() > 800 && paths.iter().all(|path| !path.starts_with("src/3/")));
}

#[test]
fn a_query_is_never_a_syntax_error() {
    let index = index_of(&[document("a", "alpha NEAR beta AND gamma OR delta NOT\n")]);
    for query in [
        "\"alpha",
        "alpha\"\"",
        "'alpha'",
        "alpha*",
        "^alpha",
        "text:alpha",
        "path : alpha",
        "-alpha",
        "{text path} : alpha",
        "NEAR(alpha beta, 2)",
        "alpha NEAR beta",
        "alpha AND",
        "OR alpha",
        "NOT alpha",
        "(alpha",
        "alpha)",
        "alpha + beta",
        "alpha;DROP TABLE terms",
        "alpha -- x",
        "alpha\0beta",
        "🦀 alpha 🦀",
        "a\u{301}lpha alpha",
        "\u{feff}alpha",
        "alpha\u{202e}",
        "%alpha_",
        "[alpha]",
        "`alpha`",
        "$alpha ?1 :x @y",
        "\\alpha\\",
        "alpha\r\n\talpha",
    ] {
        let found = index.search(query, None, 8, usize::MAX).unwrap();
        assert_eq!(paths(&found), ["a"], "{query:?}");
    }
    for query in ["", "   ", "the and of", "***", "\"\"", "🦀🦀", "-", "NOT", "\0"] {
        assert_eq!(index.search(query, None, 8, usize::MAX).unwrap(), [], "{query:?}");
    }
}

#[test]
fn a_query_of_a_megabyte_is_read_at_its_head_and_its_end() {
    let index = index_of(&[document("a", "the_first_name\n"), document("b", "the_last_name\n")]);
    let log = "2024-01-01T00:00:00Z WARN something happened again and again é\n".repeat(16_000);
    let query = format!("Why does firstPlace fail?\n{log}\nlastPlace, please");
    assert!(query.len() > 1_000_000);
    let found = index.search(&query, None, 8, usize::MAX).unwrap();
    assert_eq!(paths(&found).into_iter().collect::<BTreeSet<_>>(), ["a", "b"].into());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_documents_and_any_query_give_a_result(
        contents in ".{0,300}",
        path in "[a-zA-Z0-9_./-]{1,30}",
        query in prop_oneof![".{0,200}", "[\"'*^:(){}+ A-Za-z-]{0,60}", "(NEAR|AND|OR|NOT|\"| ){0,9}"],
    ) {
        let index = index_of(&[document(&path, &contents)]);
        for found in index.search(&query, None, 8, usize::MAX).unwrap() {
            prop_assert!(found.path == path && contents.contains(&found.text));
        }
    }
}
