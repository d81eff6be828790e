//! An object that has nothing but tasks, and a world outside that notes each attempt. Its instances end where a test says.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use aptix_edge::contract::Fault;
use aptix_edge::object::{
    Alarm, Attempt, Attempted, Next, Task, TaskHandler, TaskKind, TaskRunner, Tasks,
};
use aptix_edge::ports::{Database, Machine, ObjectClass, storage_failed};
use bed::{Crash, Disk, Instance, Random, SqliteDatabase, TestPlatform, World};

/// The wait before an alarm repeats what a lost instance has begun, in milliseconds.
pub(super) const EVERY_MS: u64 = 30_000;

/// The attempts after which a task is given up.
pub(super) const MOST_ATTEMPTS: u32 = 4;

/// An attempt as the world outside saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub life: u64,
    pub kind: TaskKind,
    pub id: String,
    pub at_ms: u64,
    /// Those that were stored before.
    pub attempts: u32,
}

/// What the world outside knows, over all instances.
#[derive(Default)]
pub(super) struct Outside {
    pub seen: RefCell<Vec<Seen>>,
    /// The kinds of which an attempt is under way, by instance.
    pub busy: RefCell<BTreeMap<(u64, &'static str), u32>>,
    /// What each attempt comes to, and how long it takes; one after the other, then at random.
    pub random: RefCell<Option<Random>>,
    pub most_at_once: Cell<u32>,
    pub met: RefCell<BTreeMap<String, usize>>,
}

impl Outside {
    pub(super) fn meet(&self, what: &str) {
        *self.met.borrow_mut().entry(what.to_owned()).or_default() += 1;
    }
}

/// One instance.
pub(super) struct Life {
    pub number: u64,
    pub instance: Rc<Instance>,
    pub platform: Rc<TestPlatform>,
    pub database: Rc<SqliteDatabase>,
    pub tasks: Rc<Tasks<SqliteDatabase>>,
    pub alarm: Rc<Alarm>,
    pub runner: Rc<TaskRunner<TestPlatform, SqliteDatabase>>,
    outside: Rc<Outside>,
}

struct Handler {
    life: u64,
    platform: Rc<TestPlatform>,
    outside: Rc<Outside>,
}

/// An attempt is under way as long as this value exists.
struct Busy(Rc<Outside>, (u64, &'static str));

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.busy.borrow_mut().get_mut(&self.1).unwrap() -= 1;
    }
}

impl TaskHandler for Handler {
    fn attempt<'a>(&'a self, task: &'a Task) -> Attempt<'a> {
        let outside = &self.outside;
        let key = (self.life, task.kind.as_str());
        *outside.busy.borrow_mut().entry(key).or_default() += 1;
        let at_once = outside.busy.borrow()[&key];
        outside.most_at_once.set(outside.most_at_once.get().max(at_once));
        let busy = Busy(Rc::clone(outside), key);
        outside.seen.borrow_mut().push(Seen {
            life: self.life,
            kind: task.kind,
            id: task.id.clone(),
            at_ms: self.platform.now_ms(),
            attempts: task.attempts,
        });
        Box::pin(async move {
            let _busy = busy;
            let (wait_ms, dice) = match outside.random.borrow_mut().as_mut() {
                Some(random) => (random.below(3) * random.below(400), random.below(100)),
                None => (0, 0),
            };
            if wait_ms > 0 {
                self.platform.sleep(wait_ms).await;
            }
            let later = self.platform.now_ms() + 1_000 + 500 * u64::from(dice as u32 % 7);
            let is_last = task.attempts + 1 >= MOST_ATTEMPTS;
            let (what, next) = match dice {
                0..60 => ("done", Next::Done),
                60..85 if !is_last => ("again", Next::Again(later)),
                60..85 => ("given up", Next::GivenUp),
                85..95 => ("a wait", Next::Wait(later)),
                _ => {
                    outside.meet("a fault");
                    return Err(storage_failed());
                }
            };
            outside.meet(what);
            Ok(Attempted { next, status: Some(200 + dice as u16) })
        })
    }
}

impl Life {
    pub(super) fn new(
        world: &Rc<World>,
        disk: &Rc<Disk>,
        outside: &Rc<Outside>,
        crash: Option<Crash>,
    ) -> Self {
        let number = world.executor.number();
        let instance = Instance::new(number, crash, Rc::clone(&world.executor));
        let database = Rc::new(SqliteDatabase::new(Rc::clone(disk), Rc::clone(&instance)));
        let platform = Rc::new(TestPlatform::new(
            Rc::clone(world),
            Rc::clone(&instance),
            (ObjectClass::Session, "local/s"),
            Rc::clone(&world.alarm_at),
        ));
        let tasks = Rc::new(Tasks::new(Rc::clone(&database)));
        let alarm = Rc::<Alarm>::default();
        let runner =
            TaskRunner::new(Rc::clone(&platform), Rc::clone(&tasks), Rc::clone(&alarm)).into();
        let outside = Rc::clone(outside);
        Self { number, instance, platform, database, tasks, alarm, runner, outside }
    }

    fn handler(&self) -> Rc<dyn TaskHandler> {
        Rc::new(Handler {
            life: self.number,
            platform: Rc::clone(&self.platform),
            outside: Rc::clone(&self.outside),
        })
    }

    /// A durable step that makes tasks owed, with the alarm, and begins them.
    pub(super) fn owe(&self, kind: TaskKind, ids: &[String]) -> Result<(), Fault> {
        let now_ms = self.platform.now_ms();
        self.alarm.set_in(self.platform.as_ref(), EVERY_MS)?;
        let added = self
            .database
            .transaction(|| ids.iter().try_for_each(|id| self.tasks.add(kind, id, "work", now_ms)));
        if added.is_err() {
            self.tasks.forget_table();
        }
        added?;
        self.runner.start(EVERY_MS, || self.handler())
    }

    /// The alarm rings.
    pub(super) fn ring(&self) -> Result<(), Fault> {
        self.alarm.forget();
        let resumed = self.runner.resume(EVERY_MS, || self.handler());
        if resumed.is_err() {
            self.alarm.set_in(self.platform.as_ref(), EVERY_MS)?;
        }
        Ok(())
    }
}
