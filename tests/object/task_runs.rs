//! The runner of tasks: none is lost, doubled, out of order or attempted before its time, wherever the instance ends and
//! whatever the attempts come to.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use aptix_edge::object::TaskKind;
use bed::{Crash, Disk, Random, World, run_seeds};

use super::task_rig::{EVERY_MS, Life, Outside};

/// The kinds that the object of the test owes.
const KINDS: [TaskKind; 3] = [TaskKind::Cancel, TaskKind::Deletion, TaskKind::Webhook];

/// An object, its instances one after the other.
struct Story {
    world: Rc<World>,
    disk: Rc<Disk>,
    outside: Rc<Outside>,
    life: Life,
    loud: bool,
}

impl Story {
    fn new(crash: Option<Crash>, loud: bool) -> Self {
        let (world, disk, outside) = (World::new(), Disk::new(), Rc::<Outside>::default());
        let life = Life::new(&world, &disk, &outside, crash);
        Self { world, disk, outside, life, loud }
    }

    fn restart(&mut self, crash: Option<Crash>) {
        self.life.instance.end();
        self.life = Life::new(&self.world, &self.disk, &self.outside, crash);
    }

    /// Runs what is ready, and what becomes ready within so many milliseconds.
    fn run(&mut self, ms: u64) {
        let until = self.world.executor.now_ms() + ms;
        loop {
            let number = self.life.number;
            let instance = Rc::clone(&self.life.instance);
            let alive = |owner: u64| owner == number && instance.alive();
            if self.world.executor.step(false, alive) {
                continue;
            }
            let rings_at = self.world.alarm_at.get().filter(|at| *at <= until);
            let wakes_at = self.world.executor.next_timer().filter(|at| *at <= until);
            match (rings_at, wakes_at) {
                (Some(rings_at), wakes_at)
                    if wakes_at.is_none_or(|wakes_at| rings_at <= wakes_at) =>
                {
                    let now = self.world.executor.now_ms().max(rings_at);
                    self.world.executor.set_now_ms(now);
                    self.ring();
                }
                (_, Some(_)) => assert!(self.world.executor.step(true, alive)),
                (_, None) => break,
            }
        }
        let now = self.world.executor.now_ms().max(until);
        self.world.executor.set_now_ms(now);
    }

    /// The runtime rings the alarm; it repeats one that failed or whose instance was lost.
    fn ring(&mut self) {
        if !self.life.instance.alive() {
            self.restart(None);
        }
        if self.loud {
            println!("{} the alarm rings", self.world.executor.now_ms());
        }
        self.world.alarm_at.set(None);
        let rang = self.life.ring();
        if (rang.is_err() || !self.life.instance.alive()) && self.world.alarm_at.get().is_none() {
            self.world.alarm_at.set(Some(self.world.executor.now_ms() + 2_000));
        }
    }

    /// The ids of the tasks that wait, by kind.
    fn waiting(&self) -> BTreeSet<(String, String)> {
        let rows = self.disk.read("SELECT kind, id FROM tasks WHERE state = 'pending'");
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        rows.iter().map(|row| (text(&row["kind"]), text(&row["id"]))).collect()
    }
}

/// One history: tasks come, attempts end in every way, instances end at random places.
fn history(seed: u64, loud: bool) -> BTreeMap<String, usize> {
    let mut random = Random(seed);
    let mut story = Story::new(None, loud);
    story.world.shake(seed);
    story.outside.random.replace(Some(Random(seed ^ 0xa11)));
    let mut owed = BTreeSet::new();
    for act in 0..30_u32 {
        if !story.life.instance.alive() {
            story.outside.meet("a crash");
            story.restart(None);
        }
        match random.below(10) {
            0..6 => {
                let kind = *random.pick(&KINDS);
                let ids: Vec<String> =
                    (0..=random.below(3)).map(|number| format!("{act:02}-{number}")).collect();
                // What is stored is owed, whatever the step says of itself.
                let told = story.life.owe(kind, &ids);
                let is_stored = |id: &&String| {
                    story.waiting().contains(&(kind.as_str().to_owned(), (*id).clone()))
                };
                let stored: Vec<_> = ids.iter().filter(is_stored).cloned().collect();
                assert!(stored.len() == ids.len() || (stored.is_empty() && told.is_err()));
                owed.extend(stored.into_iter().map(|id| (kind.as_str().to_owned(), id)));
            }
            6 => {
                let at = random.below(4);
                let crash = match random.below(2) {
                    0 => Crash::AfterStep(story.disk.steps.get() + 1 + at),
                    _ => Crash::BeforeWrite(story.disk.writes.get() + 1 + at),
                };
                story.outside.meet("a restart");
                story.restart(Some(crash));
            }
            7 => {
                story.outside.meet("a write that fails");
                story.disk.failing_write.set(Some(story.disk.writes.get() + 1 + random.below(3)));
            }
            8 => {
                story.outside.meet("an alarm that fails");
                story.world.alarm_fails.set(true);
                let _ = story.life.ring();
                story.run(random.below(200));
                story.world.alarm_fails.set(false);
                if story.world.alarm_at.get().is_none() {
                    // The runtime repeats it.
                    story.world.alarm_at.set(Some(story.world.executor.now_ms() + 2_000));
                }
            }
            _ => {}
        }
        story.run(random.below(3) * random.below(4_000));
    }
    story.disk.failing_write.set(None);
    for _ in 0..200 {
        if story.waiting().is_empty() {
            break;
        }
        story.run(EVERY_MS);
    }
    assert_eq!(story.waiting(), BTreeSet::new(), "owed for ever");
    check(&story, &owed);
    story.outside.met.borrow().clone()
}

fn check(story: &Story, owed: &BTreeSet<(String, String)>) {
    let seen = story.outside.seen.borrow();
    let attempted: BTreeSet<_> =
        seen.iter().map(|seen| (seen.kind.as_str().to_owned(), seen.id.clone())).collect();
    assert_eq!(&attempted, owed, "each is attempted, and nothing else is");
    assert!(story.outside.most_at_once.get() <= 1, "two of a kind at once");
    let mut stored: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for one in seen.iter() {
        let known = stored.entry((one.kind.as_str(), &one.id)).or_insert(one.attempts);
        assert!(one.attempts >= *known, "an attempt that was stored is forgotten: {one:?}");
        *known = one.attempts;
    }
}

#[test]
fn whatever_happens_each_task_is_attempted_until_it_has_ended_and_none_beside_another_of_its_kind()
{
    let expected = [
        "a crash",
        "a restart",
        "a write that fails",
        "an alarm that fails",
        "a fault",
        "a wait",
        "again",
        "done",
        "given up",
    ];
    run_seeds(150, 5_000, &expected, history);
}

#[test]
fn wherever_an_instance_ends_its_tasks_are_attempted_once_more_at_most_and_none_is_lost() {
    let whole = told(None);
    let (steps, writes) = (whole.disk.steps.get(), whole.disk.writes.get());
    assert_eq!(whole.outside.seen.borrow().len(), 4);
    let after = (1..=steps).map(Crash::AfterStep);
    let before = (1..=writes).map(Crash::BeforeWrite);
    for crash in after.chain(before) {
        let mut story = told(Some(crash));
        story.run(2 * EVERY_MS);
        assert_eq!(story.waiting(), BTreeSet::new(), "{crash:?}");
        let seen = story.outside.seen.borrow();
        let count = |id: &str| seen.iter().filter(|seen| seen.id == id).count();
        let counts = ["a", "b", "c", "d"].map(count);
        // A step that was not kept owes nothing.
        let is_owed = counts.iter().any(|count| *count > 0);
        assert!(
            !is_owed || counts.iter().all(|count| (1..=2).contains(count)),
            "{crash:?} {counts:?}"
        );
        assert!(counts.iter().sum::<usize>() <= 5, "one attempt is repeated: {crash:?} {counts:?}");
        let order: Vec<_> = seen.iter().map(|seen| &seen.id).collect();
        assert!(order.is_sorted(), "{crash:?} {order:?}");
    }
}

/// Four messages in one step, and the end of what is ready.
fn told(crash: Option<Crash>) -> Story {
    let mut story = Story::new(crash, false);
    let _ = story.life.owe(TaskKind::Webhook, &["b", "a", "d", "c"].map(str::to_owned));
    story.run(10);
    story
}

#[test]
fn a_slow_task_of_one_kind_holds_no_other_kind_up_and_whoever_waits_for_a_kind_is_woken_at_its_end()
{
    let mut story = Story::new(None, false);
    // The dice of this seed have the first attempt take time.
    let slow = (0..).find(|seed| {
        let mut random = Random(*seed);
        random.below(3) * random.below(400) > 200
    });
    story.outside.random.replace(slow.map(Random));
    story.life.owe(TaskKind::Webhook, &["slow".to_owned()]).unwrap();
    story.run(0);
    story.outside.random.replace(None);
    story.life.owe(TaskKind::Cancel, &["quick".to_owned()]).unwrap();
    story.run(0);
    assert_eq!(story.waiting(), [("webhook".to_owned(), "slow".to_owned())].into());
    let woken = Rc::new(Cell::new(false));
    let (told, runner) = (Rc::clone(&woken), Rc::clone(&story.life.runner));
    story.world.executor.spawn(
        story.life.number,
        Box::pin(async move {
            runner.idle(TaskKind::Webhook).await;
            told.set(true);
        }),
    );
    story.run(0);
    assert!(!woken.get());
    story.run(2_000);
    assert!(woken.get());
}
