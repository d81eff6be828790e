//! The keeper of somebody else's document: whatever is asked when, however many ask, and wherever an instance or a request
//! ends, the source is asked by one at a time and no more often than it must be, and nothing older than what came last is
//! given.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use aptix_edge::contract::Result;
use aptix_edge::object::{DocumentKeeper, FetchedDocument, KeptDocument};
use aptix_edge::ports::Machine;
use bed::{Disk, LoneStep, Random, SqliteDatabase, run_seeds};
use futures_util::future::{join_all, select};
use serde_json::value::to_raw_value;

const RETRY_MS: u64 = 30;
const FRESH_MS: u64 = 100;
/// For so long the source takes for its answer, in milliseconds.
const TAKES_MS: u64 = 7;

/// The source, and those who ask it.
struct Story {
    step: LoneStep,
    disk: Rc<Disk>,
    keeper: DocumentKeeper<SqliteDatabase>,
    /// Whether an attempt is claimed before it is made.
    claims: bool,
    fails: Cell<bool>,
    is_asked: Cell<bool>,
    /// When the source was asked, each with whether it answered.
    attempts: RefCell<Vec<(u64, bool)>>,
}

/// Ends a request to the source, also one that is dropped.
struct Asking<'s>(&'s Cell<bool>);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Story {
    fn new(claims: bool) -> Self {
        let disk = Disk::new();
        Self {
            step: LoneStep::default(),
            keeper: DocumentKeeper::new(disk.database(), RETRY_MS),
            disk,
            claims,
            fails: Cell::new(false),
            is_asked: Cell::new(false),
            attempts: RefCell::default(),
        }
    }

    fn restart(&mut self) {
        self.keeper = DocumentKeeper::new(self.disk.database(), RETRY_MS);
    }

    /// The `number`th attempt's document, or none where the source fails.
    async fn fetch(&self) -> Result<Option<FetchedDocument>> {
        assert!(!self.is_asked.replace(true), "one at a time");
        let _asking = Asking(&self.is_asked);
        if self.claims {
            self.keeper.claim(self.step.now_ms())?;
        }
        let number = self.attempts.borrow().len();
        self.attempts.borrow_mut().push((self.step.now_ms(), false));
        self.step.platform.sleep(TAKES_MS).await;
        if self.fails.get() {
            return Ok(None);
        }
        self.attempts.borrow_mut()[number].1 = true;
        let document = to_raw_value(&number).unwrap();
        Ok(Some(FetchedDocument { document, fresh_ms: FRESH_MS }))
    }

    async fn ask(&self, source: &str, lacking: Option<u64>) -> KeptDocument {
        let lacks = |known: &KeptDocument| lacking.is_some() && lacking == known.fetched_at;
        let fetch = async || self.fetch().await;
        self.keeper.document(&self.step.platform, source, true, lacks, fetch).await.unwrap()
    }

    fn asked(&self, source: &str) -> KeptDocument {
        self.step.run(self.ask(source, None))
    }

    fn wait(&self, ms: u64) {
        self.step.run(self.step.platform.sleep(ms));
    }

    fn times(&self) -> usize {
        self.attempts.borrow().len()
    }
}

fn number_of(known: &KeptDocument) -> Option<usize> {
    known.document.as_ref().map(|document| document.get().parse().unwrap())
}

/// One history: times pass, instances and requests end, the source fails and comes back.
fn history(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let mut random = Random(seed);
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut story = Story::new(random.below(2) == 0);
    for _ in 0..40 {
        match random.below(6) {
            0 => story.wait(random.below(60)),
            1 => story.fails.set(random.below(2) == 0),
            2 => story.restart(),
            3 => {
                let asking = pin!(story.ask("a", None));
                let dropped = pin!(story.step.platform.sleep(random.below(TAKES_MS)));
                story.step.run(select(asking, dropped));
            }
            _ => {
                let before = story.attempts.borrow().clone();
                let now = story.step.now_ms();
                let came = before.iter().rev().find(|(_, came)| *came);
                let fetched_at = came.map(|(at, _)| at + TAKES_MS);
                let lacking = fetched_at.filter(|_| random.below(3) == 0);
                let asking = (0..=random.below(4)).map(|_| story.ask("a", lacking));
                let replies = story.step.run(join_all(asking));
                let after = story.attempts.borrow();
                if loud {
                    println!("{now} {lacking:?} {after:?}");
                }
                let newest = after.iter().rposition(|(_, came)| *came);
                assert!(replies.iter().all(|reply| number_of(reply) == newest), "{after:?}");
                let is_fresh = fetched_at.is_some_and(|at| now < at + FRESH_MS);
                let failed = before.last().filter(|(_, came)| !came);
                let is_claimed = before.last().is_some_and(|(at, _)| now < at + RETRY_MS);
                let more = after.len() - before.len();
                let says = if is_fresh && lacking.is_none() {
                    assert_eq!(more, 0, "{now} {after:?}");
                    "fresh"
                } else if story.claims && is_claimed {
                    assert_eq!(more, 0, "{now} {after:?}");
                    "claimed"
                } else if failed.is_none_or(|(at, _)| now >= at + TAKES_MS + RETRY_MS) {
                    assert_eq!(more, 1, "{now} {after:?}");
                    if after.last().is_some_and(|(_, came)| *came) { "came" } else { "failed" }
                } else {
                    assert!(more <= 1, "{now} {after:?}");
                    "after a failure"
                };
                *met.entry(says.to_owned()).or_default() += 1;
            }
        }
    }
    met
}

#[test]
fn a_document_is_asked_for_no_more_often_than_it_must_be_and_none_that_is_older_is_given() {
    let expected = ["fresh", "claimed", "came", "failed", "after a failure"];
    run_seeds(400, 20_000, &expected, history);
}

#[test]
fn a_source_that_failed_is_asked_again_when_its_time_has_come_and_its_last_document_serves_until_then()
 {
    let story = Story::new(false);
    assert_eq!(number_of(&story.asked("a")), Some(0));
    story.wait(FRESH_MS);
    story.fails.set(true);
    let stale = story.asked("a");
    assert_eq!(
        (number_of(&stale), stale.fresh_ms(story.step.now_ms()), story.times()),
        (Some(0), 0, 2)
    );
    assert_eq!(story.keeper.asks_again_ms(story.step.now_ms()), RETRY_MS);
    story.fails.set(false);
    story.wait(RETRY_MS - 1);
    assert_eq!((number_of(&story.asked("a")), story.times()), (Some(0), 2));
    story.wait(1);
    assert_eq!((number_of(&story.asked("a")), story.times()), (Some(2), 3));
}

#[test]
fn a_clock_that_is_set_back_makes_no_document_last_longer_and_keeps_no_source_from_being_asked() {
    let story = Story::new(true);
    story.wait(500);
    let known = story.asked("a");
    let now = story.step.now_ms();
    let (fetched_at, attempted_at) = (now, now - TAKES_MS);
    assert_eq!((known.fresh_ms(fetched_at), known.fresh_ms(fetched_at - 1)), (FRESH_MS, 0));
    let asks_again_ms = |now| story.keeper.asks_again_ms(now);
    assert_eq!(
        (asks_again_ms(attempted_at), asks_again_ms(attempted_at - RETRY_MS)),
        (RETRY_MS, 0)
    );
}

#[test]
fn of_another_source_nothing_is_known_and_its_failures_are_its_own() {
    let story = Story::new(true);
    story.fails.set(true);
    assert_eq!(number_of(&story.asked("a")), None);
    story.fails.set(false);
    assert_eq!((number_of(&story.asked("b")), story.times()), (Some(1), 2));
    assert_eq!((number_of(&story.asked("a")), story.times()), (Some(2), 3));
}

#[test]
fn what_must_not_outlive_the_instance_is_neither_stored_nor_read() {
    let mut story = Story::new(false);
    let unstored = |story: &Story| {
        let fetch = async || story.fetch().await;
        let asking = story.keeper.document(&story.step.platform, "a", false, |_| false, fetch);
        number_of(&story.step.run(asking).unwrap())
    };
    assert_eq!((unstored(&story), unstored(&story)), (Some(0), Some(0)));
    assert_eq!(story.disk.read("SELECT * FROM sqlite_master").len(), 0);
    story.restart();
    assert_eq!(unstored(&story), Some(1));
}

#[test]
fn the_tables_of_earlier_versions_go() {
    let story = Story::new(false);
    story.disk.write("CREATE TABLE tool_list (id INTEGER); CREATE TABLE keys (id INTEGER)");
    story.asked("a");
    let tables = story.disk.read("SELECT name FROM sqlite_master WHERE type = 'table'");
    assert_eq!(
        tables.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["kept_document"]
    );
}
