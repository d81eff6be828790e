//! One life of a session's Durable Object, and the point at which a test ends it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use super::executor::Executor;

/// The point at which an instance ends. Both counts start at 1 and run over the whole life of the
/// database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Right after a durable step: an outermost commit, or a writing statement outside a
    /// transaction.
    AfterStep(u64),
    /// Before a writing statement, which does not run; its transaction is rolled back.
    BeforeWrite(u64),
}

/// One life of a Durable Object.
pub struct Instance {
    pub number: u64,
    alive: Cell<bool>,
    crash: Option<Crash>,
    executor: Rc<Executor>,
    /// Whoever waits for what this life does.
    waiting: RefCell<Vec<Waker>>,
    /// Frees its storage.
    free: RefCell<Option<Box<dyn Fn()>>>,
}

impl Instance {
    pub fn new(number: u64, crash: Option<Crash>, executor: Rc<Executor>) -> Rc<Self> {
        let (alive, waiting, free) = (Cell::new(true), RefCell::default(), RefCell::default());
        Rc::new(Self { number, alive, crash, executor, waiting, free })
    }

    pub fn alive(&self) -> bool {
        self.alive.get()
    }

    /// Ends this life: its tasks are dropped and its storage fails from now on.
    pub fn end(&self) {
        self.alive.set(false);
        self.executor.drop_tasks_of(self.number);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Says how its storage is freed.
    pub fn has_storage(&self, free: impl Fn() + 'static) {
        self.free.replace(Some(Box::new(free)));
    }

    /// Frees its storage.
    pub fn free_storage(&self) {
        if let Some(free) = self.free.borrow().as_ref() {
            free();
        }
    }

    /// Has the waker called when this life ends.
    pub fn at_end(&self, waker: &Waker) {
        self.waiting.borrow_mut().push(waker.clone());
    }

    /// Ends this life if `point` is its crash point. True when the life has ended, now or earlier.
    pub fn reach(&self, point: Crash) -> bool {
        if self.alive() && self.crash == Some(point) {
            self.end();
        }
        !self.alive()
    }
}
