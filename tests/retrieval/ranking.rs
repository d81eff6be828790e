//! The order of results: by whole documents and the fields of their chunks, passages rather than chunks, and the parts
//! of each score.

use aptix_edge::contract::Document;
use aptix_edge::retrieval::{Chunk, HARD_LIMIT_BYTES, Search, WorkBudget};
use serde_json::Value;

use super::storage::Storage;
use super::{Index, document, done};

fn index_of(documents: &[Document]) -> Index<Storage> {
    let index = Index::new(Storage::new());
    index.upsert(documents).unwrap();
    index
}

fn found(index: &Index<Storage>, query: &str, limit: usize) -> Vec<Chunk> {
    index.search(query, None, limit, usize::MAX).unwrap()
}

fn paths(index: &Index<Storage>, query: &str) -> Vec<String> {
    found(index, query, 8).into_iter().map(|chunk| chunk.path).collect()
}

/// A chunk's worth of text that has the word in its middle.
fn section(word: &str) -> String {
    format!(
        "## Part\n\n{}{word} stands here.\n{}\n",
        "Some words. ".repeat(50),
        "Others. ".repeat(80)
    )
}

#[test]
fn a_document_is_found_by_all_its_chunks() {
    let often = document("often.md", &section("alpha").repeat(6));
    let once = document("a.md", &section("alpha"));
    let index = index_of(&[once, often, document("none.md", &section("beta"))]);
    assert_eq!(found(&index, "alpha", 1)[0].path, "often.md");
}

#[test]
fn no_document_takes_the_place_of_eight_others() {
    let mut documents: Vec<Document> =
        (0..7).map(|n| document(&format!("{n}.md"), &section("alpha"))).collect();
    documents.push(document("long.md", &section("alpha alpha").repeat(60)));
    let index = index_of(&documents);
    let mut all = paths(&index, "alpha");
    assert_eq!(all[0], "long.md");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 8);
    // Where there are no others, its next passages come.
    assert_eq!(found(&index, "alpha", 20).len(), 20);
}

#[test]
fn neighbours_are_one_passage_that_is_no_longer_than_a_chunk_may_be() {
    let text = section("alpha").repeat(2) + &section("beta").repeat(3) + &section("alpha");
    let index = index_of(&[document("a.md", &text)]);
    let mut passages = found(&index, "alpha", 8);
    passages.sort_by_key(|passage| passage.start_line);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(passages.len(), 2, "{passages:?}");
    for passage in &passages {
        assert_eq!(passage.text, lines[passage.start_line - 1..passage.end_line].concat());
        assert!(passage.text.len() <= HARD_LIMIT_BYTES);
    }
    assert_eq!((passages[0].start_line, passages[0].text.matches("alpha").count()), (1, 2));
    let all = found(&index_of(&[document("a.md", &section("alpha").repeat(9))]), "alpha", 8);
    assert!(all.len() > 3 && all.iter().all(|passage| passage.text.len() <= HARD_LIMIT_BYTES));
}

#[test]
fn words_of_comments_headings_and_paths_count_more() {
    let index = index_of(&[
        document("a.rs", "let alpha = beta;\nlet gamma = delta;\n"),
        document("b.rs", "let beta = delta;\n// It is alpha gamma.\n"),
        document("c.md", "# Epsilon\n\nzeta eta theta\n"),
        document("d.md", "# Zeta\n\nepsilon eta theta\n"),
        document("iota.md", "zeta kappa\n"),
        document("kappa.md", "zeta iota\n"),
    ]);
    assert_eq!(paths(&index, "alpha"), ["b.rs", "a.rs"]);
    assert_eq!(paths(&index, "epsilon"), ["c.md", "d.md"]);
    assert_eq!(paths(&index, "iota"), ["iota.md", "kappa.md"]);
}

#[test]
fn a_test_ranks_behind_the_code_that_it_tests_unless_the_query_is_about_tests() {
    let index = index_of(&[
        document("src/alpha.test.ts", "alpha works well\n"),
        document("src/alpha.main.ts", "alpha works well\n"),
    ]);
    assert_eq!(paths(&index, "how does alpha work?")[0], "src/alpha.main.ts");
    assert_eq!(paths(&index, "which tests does alpha have?")[0], "src/alpha.test.ts");
}

#[test]
fn a_record_ranks_behind_what_it_repeats_unless_the_query_asks_for_it() {
    let index = index_of(&[
        document("CHANGELOG.md", "alpha works well since alpha 2\n"),
        document("src/beta.rs", "alpha works well, gamma too\n"),
        document("tests/__snapshots__/b.snap", "alpha works well since alpha 2\n"),
    ]);
    assert_eq!(paths(&index, "how does alpha work?")[0], "src/beta.rs");
    assert_eq!(paths(&index, "alpha in the changelog")[0], "CHANGELOG.md");
    assert_eq!(paths(&index, "the snapshot of alpha")[0], "tests/__snapshots__/b.snap");
    // A word of its own, and no goldens.
    assert_ne!(paths(&index, "golden alpha since 2")[0], "tests/__snapshots__/b.snap");
}

#[test]
fn a_test_lends_the_file_that_it_tests_a_part_of_its_score() {
    let files = [
        document("src/beta.rs", "alpha\n"),
        document("src/error.rs", "alpha\n"),
        document("src/gamma.rs", "alpha\n"),
    ];
    let test = document("tests/error_test.rs", "alpha delta\n");
    let index = index_of(&files);
    assert_eq!(paths(&index, "alpha delta"), ["src/beta.rs", "src/error.rs", "src/gamma.rs"]);
    index.upsert(&[test]).unwrap();
    let ranked = paths(&index, "alpha delta");
    let place = |path: &str| ranked.iter().position(|known| known == path).unwrap();
    assert!(place("src/error.rs") < place("src/beta.rs"), "{ranked:?}");
    let asking = paths(&index, "tests of alpha delta");
    assert_eq!(asking[0], "tests/error_test.rs");
    assert!(
        asking.iter().position(|path| path == "src/beta.rs")
            < asking.iter().position(|path| path == "src/error.rs")
    );
}

#[test]
fn a_score_is_the_sum_of_its_parts_each_with_the_fields_that_made_it() {
    let index = index_of(&[
        document("retry_policy.rs", "// Waits between attempts.\nfn retry_policy() { wait(); }\n"),
        document("tests/waiting.rs", &(section("retry") + &section("policy"))),
        document("other.md", "nothing\n"),
    ]);
    let search = Search {
        query: "Which retry policy waits?",
        scope: None,
        limit: 8,
        max_bytes: usize::MAX,
        shows_unfit: false,
        vector: None,
        explain: true,
    };
    let explained = done(index.0.search(&mut WorkBudget::new(async || ()), search)).unwrap();
    let plain = found(&index, search.query, 8);
    assert!(plain.iter().all(|chunk| chunk.explain.is_none()));
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap();
    let mut before = f64::MAX;
    for (chunk, plain) in explained.iter().zip(&plain) {
        let (score, explain) = (chunk.score.unwrap(), chunk.explain.as_ref().unwrap());
        assert_eq!((Some(score), &chunk.text), (plain.score, &plain.text));
        assert!(score > 0.0 && score <= before);
        before = score;
        let sum = number(explain, "Chunk") + number(explain, "Document");
        let shrunk = sum / 4_f64.powf(number(explain, "Place"));
        assert!((score - shrunk).abs() < 1e-5, "{explain}");
        let terms = explain["Terms"].as_array().unwrap();
        let sum: f64 = terms.iter().map(|term| number(term, "Score")).sum();
        assert!((number(explain, "Chunk") - sum).abs() < 1e-4, "{explain}");
    }
    let terms = explained[0].explain.as_ref().unwrap()["Terms"].as_array().unwrap();
    let fields = |name: &str| &terms.iter().find(|term| term["Term"] == name).unwrap()["Fields"];
    assert_eq!(*fields("retry policy"), serde_json::json!(["Text", "Path"]));
    assert_eq!(*fields("waits"), serde_json::json!(["Text", "Comments"]));
}
