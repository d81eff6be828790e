//! One life of the object that owns a session, and where it ends.

use std::cell::Cell;
use std::rc::Rc;

use super::executor::Executor;

/// Where an instance ends. Both count from 1 over the whole life of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Right after a durable step: an outermost commit, or a writing statement of its own.
    AfterStep(u64),
    /// Instead of a writing statement; a transaction that it belongs to is rolled back.
    BeforeWrite(u64),
}

/// One life.
pub struct Instance {
    pub number: u64,
    alive: Cell<bool>,
    crash: Option<Crash>,
    executor: Rc<Executor>,
}

impl Instance {
    pub fn new(number: u64, crash: Option<Crash>, executor: Rc<Executor>) -> Rc<Self> {
        Rc::new(Self { number, alive: Cell::new(true), crash, executor })
    }

    pub fn alive(&self) -> bool {
        self.alive.get()
    }

    /// Ends this life: its tasks are dropped, and its storage fails.
    pub fn end(&self) {
        self.alive.set(false);
        self.executor.drop_tasks_of(self.number);
    }

    /// Ends this life if `Crash` names this place. True when it has ended.
    pub fn reach(&self, point: Crash) -> bool {
        if self.alive() && self.crash == Some(point) {
            self.end();
        }
        !self.alive()
    }
}
