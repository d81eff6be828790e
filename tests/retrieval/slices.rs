//! The effect of a request on others: no slice of it is long, none takes much memory, and changes between two slices
//! leave its result right.
//!
//! Work is bounded by counts; the one bound on time is a hundred times what an optimised slice takes, and
//! far below what such requests would take in one piece. The time is that of the thread on a processor, since a slice
//! on a busy machine waits for longer than it works.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use aptix_edge::contract::{Document, RagCondition, RagOperator, RagScope};
use aptix_edge::retrieval::{Chunk, ChunkIndex, Counts, Search, WorkBudget};
use cpu_time::ThreadTime;

use super::scope::scope;
use super::storage::Storage;
use super::{Index, document, done};

/// The slices of a request.
struct Slices<'s> {
    storage: &'s Storage,
    begun: Cell<(ThreadTime, u64)>,
    number: Cell<usize>,
    longest: Cell<Duration>,
    /// The most rows that a slice wrote.
    most_written: Cell<u64>,
}

impl<'s> Slices<'s> {
    fn of(storage: &'s Storage) -> Self {
        let begun = Cell::new((ThreadTime::now(), storage.cost().1));
        let (number, longest) = (Cell::new(0), Cell::new(Duration::ZERO));
        Self { storage, begun, number, longest, most_written: Cell::new(0) }
    }

    /// A slice ends, another begins.
    fn cut(&self) {
        let (begun, written) = self.begun.get();
        let now = (ThreadTime::now(), self.storage.cost().1);
        self.longest.set(self.longest.get().max(now.0.duration_since(begun)));
        self.most_written.set(self.most_written.get().max(now.1 - written));
        self.number.set(self.number.get() + 1);
        self.begun.set((ThreadTime::now(), now.1));
    }

    /// Asserts that there were at least `number` slices, none of them long.
    fn assert_short(&self, number: usize) {
        let (longest, written) = (self.longest.get(), self.most_written.get());
        assert!(longest < WORST, "{longest:?}");
        assert!(written < 6_000, "{written} rows");
        assert!(self.number.get() >= number, "{} slices", self.number.get());
    }
}

const WORST: Duration = Duration::from_secs(2);

fn all(scope: Option<&RagScope>) -> Search<'_> {
    Search {
        query: "alpha",
        scope,
        limit: 100,
        max_bytes: usize::MAX,
        shows_unfit: false,
        vector: None,
        explain: false,
    }
}

fn searched(index: &ChunkIndex<&Storage>, slices: &Slices<'_>, search: Search<'_>) -> Vec<Chunk> {
    let found = done(index.search(&mut WorkBudget::new(async || slices.cut()), search)).unwrap();
    slices.cut();
    found
}

fn lines(word: &str, count: usize) -> String {
    (0..count).map(|n| format!("fn {word}_{n}() {{\n    work();\n}}\n\n")).collect()
}

/// 32 conditions of 100 values that begin like `text` and are in no text.
fn widest(key: &str, operator: RagOperator, text: &str) -> RagScope {
    let values: Vec<String> = (0..100).map(|n| format!("{text}{n}!")).collect();
    let condition = RagCondition { key: key.to_owned(), operator, values };
    RagScope { conditions: vec![condition; 32] }
}

#[test]
fn the_widest_scope_over_the_longest_values_is_looked_up_in_short_slices() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let long: Vec<String> = (498..512).map(|length| "ab".repeat(length)).collect();
    let documents: Vec<Document> = (0..10)
        .map(|n| Document {
            properties: vec![("k".to_owned(), long.clone())],
            ..document(&format!("d/{n}"), "alpha\n")
        })
        .collect();
    index.upsert(&documents).unwrap();
    for (operator, slices_at_least) in
        [(RagOperator::DoesNotContain, 500), (RagOperator::NotEqual, 10)]
    {
        let scope = widest("k", operator, &"ab".repeat(250));
        let slices = Slices::of(&storage);
        assert_eq!(searched(&index.0, &slices, all(Some(&scope))).len(), 10);
        slices.assert_short(slices_at_least);
    }
}

#[test]
fn the_widest_scope_over_ten_thousand_documents_is_looked_up_in_short_slices() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let documents: Vec<Document> =
        (0..10_000).map(|n| document(&format!("src/folder/{n:05}.rs"), "alpha\n")).collect();
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let mut scope = widest("Path", RagOperator::DoesNotContain, "nowhere");
    scope.conditions.truncate(2);
    let ordinary = super::scope::scope(&[("Path", RagOperator::Contains, &["src/"])]);
    for (scope, slices_at_least) in [(None, 1), (Some(&scope), 200), (Some(&ordinary), 3)] {
        let slices = Slices::of(&storage);
        assert_eq!(searched(&index.0, &slices, all(scope)).len(), 100);
        slices.assert_short(slices_at_least);
    }
    let mut listed = super::comparison::listed(&documents);
    listed.insert("src/folder/05000.rs".to_owned(), "0".repeat(64));
    listed.remove("src/folder/00000.rs");
    let slices = Slices::of(&storage);
    let compared =
        done(index.0.compare(&mut WorkBudget::new(async || slices.cut()), &listed)).unwrap();
    assert_eq!(compared.needed, ["src/folder/05000.rs"]);
    assert_eq!(compared.extra, ["src/folder/00000.rs"]);
    slices.assert_short(20);
    let slices = Slices::of(&storage);
    let removed =
        done(index.0.remove(&mut WorkBudget::new(async || slices.cut()), "src/")).unwrap();
    assert_eq!((removed.documents, index.counts().unwrap()), (10_000, Counts::default()));
    slices.assert_short(100);
}

#[test]
fn a_scope_of_more_documents_than_one_value_of_the_storage_can_name_is_searched() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("a.py", "alpha\n")]).unwrap();
    // No two of them have neighbouring ids, and the ids are long: all together are more than 2 MB.
    storage.write(
        "CREATE TEMP TABLE added AS
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999)
            SELECT 9000000000000000 + 2 * i AS id, printf('d/%05d', i) AS path,
                IIF(i = 59999, 'rare', 'alpha') AS text FROM n;
        INSERT INTO documents SELECT path, 'go', '[]', '', 1, id, 1, 5, '', '' FROM added;
        INSERT INTO chunks SELECT id, path, 1, 1, text FROM added;
        INSERT INTO properties SELECT 'Language', 'go', id, id FROM added;
        INSERT INTO terms (rowid, text, comments, path) SELECT id, text, '', path FROM added;
        UPDATE index_state SET next_chunk = 9000000000200000;",
    );
    for (operator, value) in [(RagOperator::Equal, "go"), (RagOperator::NotEqual, "python")] {
        let scope = scope(&[("Language", operator, &[value])]);
        let slices = Slices::of(&storage);
        let search = Search { query: "rare", ..all(Some(&scope)) };
        let found = searched(&index.0, &slices, search);
        let paths: Vec<&str> = found.iter().map(|chunk| chunk.path.as_str()).collect();
        assert_eq!(paths, ["d/59999"]);
        slices.assert_short(1);
    }
    let scope = scope(&[("Language", RagOperator::NotEqual, &["go"])]);
    assert_eq!(index.search("rare", Some(&scope), 8, usize::MAX).unwrap().len(), 0);
    assert_eq!(index.search("alpha", Some(&scope), 8, usize::MAX).unwrap().len(), 1);
}

#[test]
fn texts_are_searched_only_in_documents_that_the_other_conditions_leave() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let documents: Vec<Document> = (0..5_000)
        .map(|n| Document {
            properties: vec![("team".to_owned(), vec![format!("t{}", n / 2)])],
            ..document(&format!("src/folder/{n:05}.rs"), "alpha\n")
        })
        .collect();
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let mut scope = widest("Path", RagOperator::DoesNotContain, "nowhere");
    scope.conditions.truncate(2);
    scope.conditions.extend(scope_of_team().conditions);
    let slices = Slices::of(&storage);
    assert_eq!(searched(&index.0, &slices, all(Some(&scope))).len(), 2);
    assert!(slices.number.get() < 5, "{} slices", slices.number.get());
}

fn scope_of_team() -> RagScope {
    scope(&[("team", RagOperator::Equal, &["t1234"]), ("Path", RagOperator::Contains, &["src/"])])
}

#[test]
fn a_query_whose_terms_are_everywhere_is_ranked_in_short_slices() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let words: Vec<String> =
        (0..32_u8).map(|n| format!("{0}{0}word", char::from(b'a' + n % 26))).collect();
    let everywhere = words.join(" ");
    let documents: Vec<Document> =
        (0..6_000).map(|n| document(&format!("d/{n:05}"), &format!("{everywhere}\n"))).collect();
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let slices = Slices::of(&storage);
    let search = Search { query: &everywhere, ..all(None) };
    let found = searched(&index.0, &slices, search);
    assert_eq!(
        found.iter().map(|found| &found.path).collect::<Vec<_>>(),
        documents.iter().take(100).map(|d| &d.path).collect::<Vec<_>>()
    );
    slices.assert_short(3);
}

#[test]
fn many_tests_of_files_of_one_name_in_many_folders_are_ranked_in_short_slices() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let folders = |kind| (0..210).map(|n| format!("{kind}{n}/")).collect::<String>();
    let (tests, files) = (folders("t"), folders("f"));
    for n in 0..100 {
        let test = document(&format!("{tests}{n}/index.test.ts"), "alpha\n");
        let file = document(&format!("{files}{n}/index.ts"), "alpha\n");
        index.upsert(&[test, file]).unwrap();
    }
    let slices = Slices::of(&storage);
    assert_eq!(searched(&index.0, &slices, all(None)).len(), 100);
    slices.assert_short(1);
}

#[test]
fn a_scope_takes_no_memory_for_what_documents_hold() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    for n in 0..100 {
        let values = (0..256).map(|value| format!("{value:->1024}")).collect();
        let properties = vec![("k".to_owned(), values)];
        let document = Document { properties, ..document(&format!("d/{n}"), "alpha\n") };
        index.upsert(&[document]).unwrap();
    }
    let reader = Index::new(&storage);
    for operator in [RagOperator::Contains, RagOperator::Equal, RagOperator::DoesNotContain] {
        let value = format!("{:->1024}", 7);
        let scope = scope(&[("k", operator, &[&value]), ("absent", RagOperator::NotEqual, &["x"])]);
        let before = storage.most_bytes.get();
        storage.most_bytes.set(0);
        let found = reader.search("alpha", Some(&scope), 100, usize::MAX).unwrap();
        assert_eq!(found.len(), if operator == RagOperator::DoesNotContain { 0 } else { 100 });
        assert!(before > 0 && storage.most_bytes.get() < 64 * 1024, "{}", storage.most_bytes.get());
    }
}

/// Pauses until the next poll.
async fn one_pause() {
    let mut waited = false;
    poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending })
        .await;
}

/// A budget that calls `meanwhile` between any two slices, with their number.
macro_rules! while_others {
    ($meanwhile:expr) => {{
        let number = Cell::new(0_usize);
        let meanwhile = $meanwhile;
        WorkBudget::new(async move || {
            number.set(number.get() + 1);
            meanwhile(number.get());
        })
    }};
}

#[test]
fn a_long_document_is_replaced_in_short_slices_and_seen_whole_before_and_after() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("long.rs", &lines("alpha", 20_000)), document("b", "beta")]).unwrap();
    let counted =
        |index: &Index<&Storage>| (index.counts().unwrap().bytes, index.counts().unwrap().chunks);
    let (before, new) = (counted(&index), lines("gamma", 20_000));
    let slices = Slices::of(&storage);
    let seen = RefCell::new(Vec::new());
    let meanwhile = || {
        slices.cut();
        let number = |query| {
            let search = Search { query, limit: 3, ..all(None) };
            done(index.0.search(&mut WorkBudget::new(async || ()), search)).unwrap().len()
        };
        let now = (number("alpha_7"), number("gamma_7"), counted(&index));
        if seen.borrow().last() != Some(&now) {
            seen.borrow_mut().push(now);
        }
        slices.cut();
    };
    let budget = &mut while_others!(|_| meanwhile());
    let upserted = done(index.0.upsert(budget, &[document("long.rs", &new)])).unwrap();
    let after = (new.len() + 4, upserted[0].chunks + 1);
    assert_eq!(*seen.borrow(), [(3, 0, before), (0, 3, after)]);
    slices.assert_short(20);
    // The same request again writes nothing, and the replaced document has left nothing.
    assert!(!index.upsert(&[document("long.rs", &new)]).unwrap()[0].changed);
    assert_eq!(storage.number("SELECT COUNT(*) FROM chunks"), after.1 as i64);
    assert_eq!(storage.number("SELECT COUNT(*) FROM hidden"), 0);
    assert_eq!(index.remove("long.rs").unwrap().chunks, upserted[0].chunks);
    assert_eq!(storage.number("SELECT COUNT(*) + (SELECT COUNT(*) FROM hidden) FROM chunks"), 1);
}

#[test]
fn many_documents_of_many_chunks_or_values_are_replaced_in_short_slices() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let of = |values: usize, contents: &str| -> Vec<Document> {
        let values: Vec<String> = (0..values).map(|n| format!("value {n}")).collect();
        let document = |n| Document {
            properties: vec![("k".to_owned(), values.clone())],
            ..document(&format!("d/{n}"), contents)
        };
        (0..64).map(document).collect()
    };
    for documents in [of(1, &lines("alpha", 4_000)), of(256, "alpha"), of(255, "beta")] {
        let slices = Slices::of(&storage);
        done(index.0.upsert(&mut WorkBudget::new(async || slices.cut()), &documents)).unwrap();
        slices.cut();
        slices.assert_short(8);
    }
}

#[test]
fn a_half_written_document_is_never_seen_and_goes_with_the_next_write_of_any_instance() {
    for is_lost in [false, true] {
        half_written(is_lost);
    }
}

fn half_written(is_lost: bool) {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("a", "alpha")]).unwrap();
    storage.fail_after(300);
    assert!(index.upsert(&[document("long.rs", &lines("alpha", 20_000))]).is_err());
    assert!(storage.number("SELECT COUNT(*) FROM chunks") > 100);
    for index in [&index, &Index::new(&storage)] {
        assert_eq!(index.search("alpha", None, 8, usize::MAX).unwrap().len(), 1);
        assert_eq!(index.counts().unwrap().documents, 1);
    }
    let next = if is_lost { Index::new(&storage) } else { index };
    next.upsert(&[document("b", "beta")]).unwrap();
    assert_eq!(storage.number("SELECT COUNT(*) + (SELECT COUNT(*) FROM hidden) FROM chunks"), 2);
}

#[test]
fn a_removal_that_is_repeated_after_a_failure_leaves_no_text() {
    for is_lost in [false, true] {
        let storage = Storage::new();
        let index = Index::new(&storage);
        index.upsert(&[document("long.rs", &lines("alpha", 20_000))]).unwrap();
        storage.fail_after(20);
        assert!(index.remove("long.rs").is_err());
        assert_eq!(index.counts().unwrap(), Counts::default());
        assert!(storage.number("SELECT COUNT(*) FROM chunks") > 100);
        let next = if is_lost { Index::new(&storage) } else { index };
        next.remove("long.rs").unwrap();
        let left = "SELECT COUNT(*) + (SELECT COUNT(*) FROM hidden) FROM chunks";
        assert_eq!(storage.number(left), 0);
    }
}

#[test]
fn a_search_ends_while_documents_come_without_a_pause() {
    let of_team = |n: usize| Document {
        properties: vec![("team".to_owned(), vec![format!("a{n}")])],
        ..document(&format!("src/{n:05}"), "alpha\n")
    };
    // With these, some slices compare one document.
    let mut many: Vec<String> = (0..15).map(|n| format!("{n}{}", "-".repeat(990))).collect();
    many.push("a".to_owned());
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (key, operator, values, slices) in [
        ("Path", RagOperator::Contains, &["src/"][..], 1),
        ("Path", RagOperator::DoesNotContain, &["nowhere"], 1),
        ("team", RagOperator::Contains, &["a"], 1),
        ("team", RagOperator::DoesNotContain, &["b"], 1),
        ("team", RagOperator::Contains, &many, 4),
    ] {
        let storage = Storage::new();
        let index = Index::new(&storage);
        let documents: Vec<Document> = (0..9_000).map(of_team).collect();
        for batch in documents.chunks(100) {
            index.upsert(batch).unwrap();
        }
        let come = Cell::new(0);
        let budget = &mut while_others!(|number| {
            assert!(come.get() < 200, "the search goes on for ever");
            if number % slices == 0 {
                come.set(come.get() + 1);
                index.upsert(&[of_team(10_000 + number)]).unwrap();
            }
        });
        let scope = scope(&[(key, operator, values)]);
        let search = Search { limit: 50_000, ..all(Some(&scope)) };
        let found = done(index.0.search(budget, search)).unwrap();
        assert_eq!(found.len(), 9_000 + come.get(), "{key}");
    }
}

#[test]
fn a_search_reads_the_index_once_while_a_long_document_is_replaced() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    index.upsert(&[document("long.rs", &lines("beta", 20_000))]).unwrap();
    let documents: Vec<Document> =
        (0..3_000).map(|n| document(&format!("d/{n:04}"), "alpha\n")).collect();
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let (mut budget, new) =
        (WorkBudget::new(one_pause), [document("long.rs", &lines("gamma", 20_000))]);
    let replacing = RefCell::new(Box::pin(index.0.upsert(&mut budget, &new)));
    let go_on = || replacing.borrow_mut().as_mut().poll(&mut Context::from_waker(Waker::noop()));
    // The first chunks of all are hidden where the new ones are shown.
    while storage.number("SELECT COUNT(*) FROM hidden WHERE first_chunk = 1") == 0 {
        assert!(go_on().is_pending());
    }
    let unwanted: Vec<String> = (0..10).map(|n| format!("{n}{}", "-".repeat(990))).collect();
    let unwanted: Vec<&str> = unwanted.iter().map(String::as_str).collect();
    let is_replaced = Cell::new(false);
    let slices = Cell::new(0);
    let search = || {
        let budget = &mut while_others!(|number| {
            slices.set(number);
            while !is_replaced.get() {
                is_replaced.set(go_on().is_ready());
            }
        });
        let scope = scope(&[("Path", RagOperator::DoesNotContain, &unwanted)]);
        let found = done(index.0.search(budget, Search { limit: 5_000, ..all(Some(&scope)) }));
        (found.unwrap().len(), slices.take())
    };
    let (found, meanwhile) = search();
    let (_, quiet) = search();
    assert!(quiet > 20 && meanwhile < quiet + quiet / 2, "{meanwhile} slices, {quiet} without");
    assert_eq!(found, 3_000);
}

#[test]
fn a_search_shows_the_documents_as_they_are_when_it_ends() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let of_team = |n: usize, team: &str, text: &str| Document {
        properties: vec![("team".to_owned(), vec![team.to_owned()])],
        ..document(&format!("d/{n:04}"), text)
    };
    let documents: Vec<Document> = (0..4_000).map(|n| of_team(n, "a", "alpha\n")).collect();
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let unwanted: Vec<String> = (0..100).map(|n| format!("nowhere{n}")).collect();
    let unwanted: Vec<&str> = unwanted.iter().map(String::as_str).collect();
    let positive = [
        ("team", RagOperator::Equal, &["a"][..]),
        ("Path", RagOperator::DoesNotContain, &unwanted),
    ];
    let negative = [
        ("team", RagOperator::NotEqual, &["b", "c"][..]),
        ("Path", RagOperator::DoesNotContain, &unwanted),
    ];
    for conditions in [positive, negative] {
        for moment in [1, 5, 20] {
            let changed = Cell::new(false);
            let budget = &mut while_others!(|number| {
                if number == moment {
                    changed.set(true);
                    // One document leaves the scope, one other text, one goes, one comes.
                    index
                        .upsert(&[of_team(1, "b", "alpha\n"), of_team(2, "a", "omega alpha\n")])
                        .unwrap();
                    index.remove("d/0003").unwrap();
                    index
                        .upsert(&[of_team(9_999, "a", "alpha\n"), of_team(9_998, "c", "alpha\n")])
                        .unwrap();
                }
            });
            let scope = scope(&conditions);
            let search = Search { limit: 5_000, ..all(Some(&scope)) };
            let found = done(index.0.search(budget, search)).unwrap();
            assert!(changed.get());
            let text = |path: &str| {
                found.iter().find(|found| found.path == path).map(|found| found.text.as_str())
            };
            assert_eq!(text("d/0000"), Some("alpha\n"));
            assert_eq!(text("d/0001"), None, "{moment}");
            assert_eq!(text("d/0002"), Some("omega alpha\n"), "{moment}");
            assert_eq!(text("d/0003"), None, "{moment}");
            assert_eq!(text("d/9999"), Some("alpha\n"), "{moment}");
            assert_eq!(text("d/9998"), None, "{moment}");
            assert_eq!(found.len(), 3_999);
            index.upsert(&documents[..4]).unwrap();
            index.remove("d/9999").unwrap();
            index.remove("d/9998").unwrap();
        }
    }
}

#[test]
fn a_long_document_that_comes_while_a_search_runs_is_held_to_its_scope() {
    let unwanted: Vec<String> = (0..100).map(|n| format!("{n}{}", "-".repeat(990))).collect();
    let unwanted: Vec<&str> = unwanted.iter().map(String::as_str).collect();
    let slow = ("Path", RagOperator::DoesNotContain, &unwanted[..]);
    let (is_b, is_not_b) =
        (("team", RagOperator::Equal, &["b"][..]), ("team", RagOperator::NotEqual, &["b"][..]));
    for (conditions, team, number) in
        [(is_not_b, "b", 1_999), (is_not_b, "a", 2_000), (is_b, "b", 2), (is_b, "a", 1)]
    {
        let storage = Storage::new();
        let index = Index::new(&storage);
        let mut documents: Vec<Document> =
            (0..2_000).map(|n| document(&format!("d/{n:04}"), "alpha\n")).collect();
        documents[7].properties = vec![("team".to_owned(), vec!["b".to_owned()])];
        for batch in documents.chunks(100) {
            index.upsert(batch).unwrap();
        }
        // One chunk of a long document has the word; it is written by half when the search begins.
        let mut long = document("long.rs", &format!("{}alpha\n", lines("beta", 10_000)));
        long.properties = vec![("team".to_owned(), vec![team.to_owned()])];
        let long = [long];
        let mut budget = WorkBudget::new(one_pause);
        let coming = RefCell::new(Box::pin(index.0.upsert(&mut budget, &long)));
        let go_on = || coming.borrow_mut().as_mut().poll(&mut Context::from_waker(Waker::noop()));
        while storage.number("SELECT COUNT(*) FROM hidden") == 0 {
            assert!(go_on().is_pending());
        }
        // However few documents are left, there is a pause before the last of these.
        let scope = scope(&[conditions, slow, slow, slow, slow]);
        let search = Search { limit: 5_000, ..all(Some(&scope)) };
        let has_come = Cell::new(false);
        let meanwhile = |at: usize| {
            while at == 1 && !has_come.get() {
                has_come.set(go_on().is_ready());
            }
        };
        let found = done(index.0.search(&mut while_others!(meanwhile), search)).unwrap();
        assert!(has_come.get());
        assert_eq!(found.len(), number, "{conditions:?} {team}");
    }
}

#[test]
fn after_an_erasure_during_a_request_only_the_documents_of_that_request_exist() {
    let documents = [document("long.rs", &lines("alpha", 5_000)), document("b", "alpha")];
    for moment in [1, 3] {
        let storage = Storage::new();
        let index = Index::new(&storage);
        index
            .upsert(&[document("old", "alpha"), document("old.rs", &lines("alpha", 5_000))])
            .unwrap();
        let erasing = |number: usize| {
            if number == moment {
                index.erase().unwrap();
            }
        };
        let upserted = done(index.0.upsert(&mut while_others!(erasing), &documents)).unwrap();
        let bytes = documents.iter().map(|document| document.contents.len()).sum();
        let chunks = upserted.iter().map(|upserted| upserted.chunks).sum();
        assert_eq!(
            index.counts().unwrap(),
            Counts { documents: 2, chunks, bytes, embedded_chunks: None }
        );
        assert_eq!(storage.number("SELECT COUNT(*) FROM chunks"), chunks as i64);
        assert_eq!(storage.number("SELECT COUNT(*) FROM hidden"), 0);
        let removed = done(index.0.remove(&mut while_others!(erasing), "long.rs")).unwrap();
        assert_eq!((removed, index.counts().unwrap()), (Counts::default(), Counts::default()));
        index.upsert(&documents).unwrap();
        let wide = widest("Path", RagOperator::DoesNotContain, "nowhere");
        let found = done(index.0.search(&mut while_others!(erasing), all(Some(&wide)))).unwrap();
        assert_eq!(found, []);
    }
}

#[test]
fn a_search_takes_no_document_that_comes_after_an_erasure_for_one_before() {
    let storage = Storage::new();
    let index = Index::new(&storage);
    let documents: Vec<Document> =
        (0..4_000).map(|n| document(&format!("{n:04}"), "alpha\n")).collect();
    for batch in documents.chunks(100) {
        index.upsert(batch).unwrap();
    }
    let meanwhile = |number: usize| {
        if number == 1 {
            index.erase().unwrap();
            index.upsert(&[document("other", "omega\n"), document("new", "alpha\n")]).unwrap();
        }
    };
    // With so many terms the chunks are ranked in two slices.
    let query = "alpha beta gamma delta epsilon zeta eta theta iota kappa";
    let search = Search { query, ..all(None) };
    let found = done(index.0.search(&mut while_others!(meanwhile), search)).unwrap();
    let paths: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
    assert_eq!((paths, index.counts().unwrap().documents), (vec!["new"], 2));
}
