//! The contents of the index after documents were put, put again, removed and erased, and the cost.

use aptix_edge::contract::{Document, ErrorCode, RagOperator};
use aptix_edge::encoding::sha256_hex;
use aptix_edge::ports::{Database, Row};
use aptix_edge::retrieval::{Counts, Upserted, pieces};

use super::storage::Storage;
use super::{Index, document};

fn paths(index: &Index<&Storage>, query: &str) -> Vec<String> {
    let found = index.search(query, None, 100, usize::MAX).unwrap();
    found.into_iter().map(|found| found.path).collect()
}

fn many_chunks(word: &str) -> String {
    (0..100).map(|n| format!("fn {word}_{n}() {{\n    work();\n}}\n\n")).collect::<String>()
}

#[test]
fn documents_are_counted_and_found_and_replaced_when_they_are_put_again() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let long = many_chunks("alpha");
    let chunks = pieces(&long).count();
    assert!(chunks > 2);
    assert_eq!(
        index.upsert(&[document("src/a.rs", &long), document("b.md", "beta\n")]).unwrap(),
        [
            Upserted {
                path: "src/a.rs".into(),
                chunks,
                content_hash: sha256_hex(format!("{long}\n").as_bytes()),
                sha256: sha256_hex(long.as_bytes()),
                changed: true
            },
            Upserted {
                path: "b.md".into(),
                chunks: 1,
                content_hash: sha256_hex(b"beta\n\n"),
                sha256: sha256_hex(b"beta\n"),
                changed: true
            },
        ]
    );
    let bytes = long.len() + 5;
    assert_eq!(
        index.counts().unwrap(),
        Counts { documents: 2, chunks: chunks + 1, bytes, embedded_chunks: None }
    );
    assert_eq!(paths(&index, "alpha").len(), chunks);

    let changed = index.upsert(&[document("src/a.rs", "gamma")]).unwrap();
    assert_eq!((changed[0].chunks, changed[0].changed), (1, true));
    assert_eq!(
        index.counts().unwrap(),
        Counts { documents: 2, chunks: 2, bytes: 10, embedded_chunks: None }
    );
    assert_eq!(paths(&index, "alpha"), Vec::<String>::new());
    assert_eq!(paths(&index, "gamma"), ["src/a.rs"]);
    assert_eq!(paths(&index, "beta"), ["b.md"]);
    // And again with the first contents, over chunk ids that became free.
    index.upsert(&[document("src/a.rs", &long)]).unwrap();
    assert_eq!(paths(&index, "alpha").len(), chunks);
    assert_eq!(paths(&index, "gamma"), Vec::<String>::new());
}

#[test]
fn what_a_long_line_holds_at_its_end_is_indexed_again_when_it_changes() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let with_end = |end: &str| document("min.json", &format!("{} {end}\nb\n", "word ".repeat(200)));
    let first = index.upsert(&[with_end("oldtoken")]).unwrap();
    let other = index.upsert(&[with_end("newtoken")]).unwrap();
    assert_eq!(first[0].content_hash, other[0].content_hash);
    assert!(other[0].changed);
    assert_eq!(paths(&index, "oldtoken"), Vec::<String>::new());
    assert_eq!(paths(&index, "newtoken"), ["min.json"]);
    let mut again = with_end("newtoken");
    again.contents = again.contents.replace('\n', "\r\n");
    assert!(!index.upsert(&[again]).unwrap()[0].changed);
}

/// An index in the present form, as the version of the product that made the form wrote it.
const PINNED: &str = include_str!("../fixtures/storage/index_version_7.sql");

/// Every column of every table.
fn columns(storage: &Storage) -> Vec<Row> {
    let statement = "SELECT t.name AS t, c.name AS c, c.type, c.\"notnull\", c.pk
        FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' ORDER BY 1, 2";
    storage.query(statement, &[]).unwrap()
}

/// Which document holds which property.
fn properties(storage: &Storage) -> Vec<Row> {
    let statement = "SELECT d.path, p.key, p.value, p.last_chunk - p.first_chunk AS more
        FROM properties AS p LEFT JOIN documents AS d USING (first_chunk) ORDER BY 1, 2, 3";
    storage.query(statement, &[]).unwrap()
}

#[test]
fn a_pinned_index_is_the_same_index() {
    let mut ddr = document("docs/ddr.md", "# Invoices\n\nThe InvoiceManager bills a customer.\n");
    ddr.properties = vec![("Kind".to_owned(), vec!["ddr".to_owned()])];
    let long = document("long.txt", &format!("{}needle\n", "x".repeat(600)));
    let code = "fn bill() { charge(customer); send(invoice); }\n\n".repeat(45);
    let documents = [document("src/bill.rs", &code), ddr, long];

    let new = Storage::new();
    let counts = {
        let index = Index::new(&new);
        index.upsert(&documents).unwrap();
        index.counts().unwrap()
    };
    let form = "SELECT schema_version FROM index_state";
    let pinned = Storage::new();
    pinned.write(PINNED);
    assert_eq!(new.number(form), pinned.number(form), "pin the new form");
    let index = Index::new(&pinned);
    assert_eq!(index.counts().unwrap(), counts);
    assert_eq!(paths(&index, "invoice manager"), ["docs/ddr.md", "src/bill.rs", "src/bill.rs"]);
    assert_eq!(columns(&pinned), columns(&new));
    let all = |storage| Index::new(storage).search("an invoice bills", None, 8, usize::MAX);
    assert_eq!(all(&pinned).unwrap(), all(&new).unwrap());
    let of_kind = super::scope::scope(&[("Kind", RagOperator::Equal, &["ddr"])]);
    assert_eq!(index.search("invoice", Some(&of_kind), 8, usize::MAX).unwrap().len(), 1);
    assert_eq!(properties(&pinned), properties(&new));
    let list = super::comparison::listed(&documents);
    // The rules by which words are split have changed since.
    assert_eq!(index.compare(&list).unwrap().needed.len(), documents.len());
    let upserted = index.upsert(&documents).unwrap();
    assert!(upserted.iter().all(|upserted| upserted.changed));
    assert_eq!(index.compare(&list).unwrap().needed.len(), 0);
}

#[test]
fn an_unchanged_document_costs_one_row_read_and_no_write() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let mut put = document("a.rs", &many_chunks("alpha"));
    put.properties = [("team".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into();
    let first = index.upsert(&[put.clone()]).unwrap();
    let before = storage.cost();
    let again = index.upsert(&[put.clone()]).unwrap();
    assert_eq!(again, [Upserted { changed: false, ..first[0].clone() }]);
    let after = storage.cost();
    assert_eq!((after.0, after.1), (before.0, before.1), "writes");
    assert_eq!(after.2 - before.2, 1, "rows read");
    // Other line ends, and the language that the path implies, change nothing.
    put.contents = put.contents.replace('\n', "\r\n");
    put.language = Some("rust".to_owned());
    assert!(!index.upsert(&[put.clone()]).unwrap()[0].changed);
    // Other contents, another language or other properties do.
    for change in [
        Document { contents: "other".to_owned(), ..put.clone() },
        Document { language: Some("csharp".to_owned()), ..put.clone() },
        Document { properties: Vec::new(), ..put.clone() },
    ] {
        assert!(index.upsert(&[change]).unwrap()[0].changed);
        assert!(index.upsert(&[put.clone()]).unwrap()[0].changed);
    }
}

#[test]
fn a_chunk_costs_few_rows() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("first", "x")]).unwrap();
    let documents: Vec<Document> =
        (0..100).map(|n| document(&format!("src/{n}.rs"), &many_chunks("alpha"))).collect();
    let before = storage.cost().1;
    let put = index.upsert(&documents).unwrap();
    let chunks: u64 = put.iter().map(|put| put.chunks as u64).sum();
    let rows = storage.cost().1 - before;
    // One in `chunks`, one for its length and a share of the segment in FTS5's own tables. A document
    // has one, and one each for its path and its language.
    assert!(rows <= chunks * 7 / 2 + 300, "{rows} rows for {chunks} chunks");
}

#[test]
fn one_document_is_removed_by_its_path_and_a_folder_by_its_slash() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let put = ["src/a", "src/a/b", "src/a/c/d", "src/ab", "src/a0", "src/a.rs", "src"];
    let documents: Vec<Document> = put.iter().map(|path| document(path, "alpha\n")).collect();
    index.upsert(&documents).unwrap();
    let nothing = Counts::default();
    let of = |documents| Counts {
        documents,
        chunks: documents,
        bytes: documents * 6,
        embedded_chunks: None,
    };
    for (path, removed, left) in [
        ("nowhere", nothing, 7),
        ("src/a/b/", nothing, 7),
        ("SRC/", nothing, 7),
        ("src/a/", of(2), 5),
        ("src/a", of(1), 4),
        ("src/a", nothing, 4),
        ("src/", of(3), 1),
        ("src", of(1), 0),
    ] {
        assert_eq!(index.remove(path).unwrap(), removed, "{path}");
        assert_eq!(index.counts().unwrap(), of(left), "{path}");
        assert_eq!(paths(&index, "alpha").len(), left, "{path}");
    }
    assert_eq!(storage.number("SELECT COUNT(*) FROM chunks"), 0);
}

#[test]
fn an_erased_workspace_leaves_no_table_and_can_be_used_again() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("a", "alpha")]).unwrap();
    index.erase().unwrap();
    assert_eq!(storage.number("SELECT COUNT(*) FROM sqlite_master"), 0);
    assert_eq!(index.counts().unwrap(), Counts::default());
    assert_eq!(paths(&index, "alpha"), Vec::<String>::new());
    index.erase().unwrap();
    index.upsert(&[document("a", "beta")]).unwrap();
    assert_eq!((paths(&index, "alpha"), paths(&index, "beta")), (vec![], vec!["a".to_owned()]));
}

#[test]
fn a_workspace_that_was_never_written_is_empty_and_reading_it_writes_nothing() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    assert_eq!(index.counts().unwrap(), Counts::default());
    assert_eq!(index.remove("src/").unwrap(), Counts::default());
    assert_eq!(paths(&index, "alpha"), Vec::<String>::new());
    assert_eq!(storage.cost().0, 0);
}

#[test]
fn another_instance_finds_what_one_has_put() {
    let storage = Storage::new();
    Index::new(&storage).upsert(&[document("a", "alpha")]).unwrap();
    assert_eq!(paths(&Index::new(&storage), "alpha"), ["a"]);
    let again = Index::new(&storage).upsert(&[document("a", "alpha")]).unwrap();
    assert!(!again[0].changed);
}

#[test]
fn documents_are_put_all_or_none_wherever_the_storage_fails() {
    let old = [document("a", &many_chunks("alpha")), document("b", "beta")];
    let new =
        [document("a", "gamma"), document("b", &many_chunks("delta")), document("c", "epsilon")];
    for others in 0.. {
        let storage = Storage::new();
        let index = Index::new(&storage);
        index.upsert(&old).unwrap();
        let counts = index.counts().unwrap();
        storage.fail_after(others);
        let put = index.upsert(&new);
        if put.is_ok() {
            assert!(others > 10);
            break;
        }
        assert_eq!(put.unwrap_err().code, ErrorCode::Internal);
        assert_eq!(index.counts().unwrap(), counts, "{others}");
        assert_eq!(paths(&index, "gamma delta epsilon"), Vec::<String>::new(), "{others}");
        assert_eq!(paths(&index, "beta"), ["b"], "{others}");
        // The storage works again.
        assert_eq!(index.upsert(&new).unwrap().len(), 3);
        assert_eq!(paths(&index, "gamma"), ["a"]);
    }
    // And at the very first write, which also creates the tables.
    let storage = Storage::new();
    let index = Index::new(&storage);
    storage.fail_after(5);
    assert!(index.upsert(&old).is_err());
    assert_eq!(index.counts().unwrap(), Counts::default());
    assert_eq!(index.upsert(&old).unwrap().len(), 2);
}

#[test]
fn rows_that_cannot_be_read_are_a_fault_and_not_a_default() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("a", "alpha")]).unwrap();
    storage.write("UPDATE index_state SET next_chunk = 'x'");
    let scope = super::scope::scope(&[("x", RagOperator::NotEqual, &["y"])]);
    let found = index.search("alpha", Some(&scope), 8, usize::MAX);
    assert_eq!(found.unwrap_err().code, ErrorCode::Internal);
    storage.write("UPDATE index_state SET schema_version = 99");
    let fault = Index::new(&storage).counts().unwrap_err();
    assert!(fault.message.contains("newer version"), "{fault:?}");
}
