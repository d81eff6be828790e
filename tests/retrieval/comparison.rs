//! What a comparison lists: documents that the client has to send, and documents that only the index has.

use std::cell::Cell;

use aptix_edge::contract::{Document, ListedDocuments, limits};
use aptix_edge::encoding::sha256_hex;
use aptix_edge::retrieval::{Comparison, WorkBudget};
use proptest::prelude::*;

use super::storage::Storage;
use super::{Index, document, done};

/// A client's list of its documents.
pub(crate) fn listed(documents: &[Document]) -> ListedDocuments {
    let entry =
        |document: &Document| (document.path.clone(), sha256_hex(document.contents.as_bytes()));
    documents.iter().map(entry).collect()
}

/// The comparison with an index, without other requests in between.
fn told<'l>(indexed: &[Document], listed: &'l ListedDocuments) -> Comparison<'l> {
    let storage = Storage::new();
    let index = Index::new(&storage);
    for batch in indexed.chunks(100) {
        index.upsert(batch).unwrap();
    }
    index.compare(listed).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_client_that_sends_and_removes_what_is_listed_has_an_equal_index(
        indexed in prop::collection::btree_map("[aAé😀/.0]{1,3}x", 0..3_u8, 0..300),
        owned in prop::collection::btree_map("[aAé😀/.0]{1,3}x", 0..3_u8, 0..300),
    ) {
        let documents = |of: &std::collections::BTreeMap<String, u8>| -> Vec<Document> {
            of.iter().map(|(path, text)| document(path, &"x\n".repeat((*text).into()))).collect()
        };
        let listed = listed(&documents(&owned));
        let comparison = told(&documents(&indexed), &listed);
        let needed: Vec<&String> =
            owned.iter().filter(|(path, text)| indexed.get(*path) != Some(text)).map(|(path, _)| path).collect();
        let extra: Vec<&String> = indexed.keys().filter(|path| !owned.contains_key(*path)).collect();
        prop_assert_eq!(&comparison.needed, &needed);
        prop_assert_eq!(comparison.extra.iter().collect::<Vec<_>>(), extra);
        prop_assert!(!comparison.more_extra);
    }
}

#[test]
fn an_unknown_workspace_needs_all_and_a_comparison_writes_nothing() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let list = listed(&[document("b", "x"), document("a", "y")]);
    assert_eq!(index.compare(&list).unwrap().needed, ["a", "b"]);
    assert_eq!(storage.number("SELECT COUNT(*) FROM sqlite_master"), 0);
    index.upsert(&[document("a", "y"), document("c", "z")]).unwrap();
    let before = storage.cost();
    let comparison = index.compare(&list).unwrap();
    assert_eq!((comparison.needed, comparison.extra), (vec!["b"], vec!["c".to_owned()]));
    assert_eq!((storage.cost().0, storage.cost().1), (before.0, before.1));
}

#[test]
fn other_line_endings_are_needed_once_and_change_no_chunk() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("a", "x\ny\n")]).unwrap();
    let other = [document("a", "x\r\ny\r\n")];
    let list = listed(&other);
    assert_eq!(index.compare(&list).unwrap().needed, ["a"]);
    let sent = index.upsert(&other).unwrap();
    assert_eq!((sent[0].changed, &sent[0].sha256), (false, &list["a"]));
    assert_eq!(index.compare(&list).unwrap(), Comparison::default());
    assert_eq!(index.counts().unwrap().bytes, 6);
}

#[test]
fn a_document_cut_by_other_rules_is_needed() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let documents = [document("a", "x"), document("b", "y")];
    index.upsert(&documents).unwrap();
    storage.write("UPDATE documents SET rules = 0 WHERE path = 'b'");
    let list = listed(&documents);
    assert_eq!(index.compare(&list).unwrap().needed, ["b"]);
    assert!(index.upsert(&documents).unwrap()[1].changed);
    assert_eq!(index.compare(&list).unwrap(), Comparison::default());
}

#[test]
fn extra_documents_are_listed_up_to_a_bound_in_number_and_in_bytes() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("a", "x"), document("z", "x")]).unwrap();
    let many = |count: usize, length: usize| {
        storage.write(&format!(
            "DELETE FROM documents WHERE path LIKE 'm%';
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
            INSERT INTO documents
                (path, language, properties, content_hash, whole_hash, sha256, rules, first_chunk, chunks, bytes)
            SELECT 'm' || printf('%0{length}d', n), '', '[]', '', '', '', 1, 1, 0, 0 FROM n"
        ));
    };
    let list = listed(&[document("a", "x"), document("z", "y"), document("zz", "x")]);
    for (count, length, told) in [
        (limits::COMPARED_DOCUMENTS, 10, limits::COMPARED_DOCUMENTS),
        (limits::COMPARED_DOCUMENTS + 1, 10, limits::COMPARED_DOCUMENTS),
        (4_097, 1_023, 4_096),
    ] {
        many(count, length);
        let comparison = index.compare(&list).unwrap();
        assert_eq!(comparison.needed, ["z", "zz"], "what is behind the bound is compared");
        assert_eq!((comparison.extra.len(), comparison.more_extra), (told, told < count));
    }
}

#[test]
fn documents_erased_during_the_comparison_are_needed() {
    let documents: Vec<Document> = (0..1_000).map(|n| document(&format!("{n:04}"), "x")).collect();
    let storage = Storage::new();
    let index = Index::new(&storage);
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let slices = Cell::new(0);
    let list = listed(&documents);
    let erasing = async || {
        slices.set(slices.get() + 1);
        if slices.get() == 2 {
            index.erase().unwrap();
            index.upsert(&documents[999..]).unwrap();
        }
    };
    let comparison = done(index.0.compare(&mut WorkBudget::new(erasing), &list)).unwrap();
    assert_eq!(comparison.needed.len(), 999);
    assert_eq!(comparison.extra, Vec::<String>::new());
}
