//! The build of a fork that runs in this instance, and whoever waits for its end.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::contract::Fault;

/// The build of this instance, if one runs.
#[derive(Debug, Default)]
pub(in super::super) struct Building {
    present: RefCell<Option<Rc<BuildTask>>>,
}

/// A build that runs.
#[derive(Debug, Default)]
pub(super) struct BuildTask {
    outcome: RefCell<Option<Result<(), Fault>>>,
    waiting: RefCell<Vec<Waker>>,
}

impl Building {
    /// Whether a build runs in this instance.
    pub(in super::super) fn is_busy(&self) -> bool {
        self.present.borrow().is_some()
    }

    /// The build that runs.
    pub(super) fn present(&self) -> Option<Rc<BuildTask>> {
        self.present.borrow().clone()
    }

    /// Notes that a build begins to run.
    pub(super) fn begin(&self) -> Rc<BuildTask> {
        let task = Rc::<BuildTask>::default();
        self.present.replace(Some(Rc::clone(&task)));
        task
    }

    /// Notes that it has ended, and tells whoever waits for it.
    pub(super) fn end(&self, task: &BuildTask, outcome: Result<(), Fault>) {
        self.present.take();
        task.outcome.replace(Some(outcome));
        task.waiting.take().into_iter().for_each(Waker::wake);
    }
}

impl BuildTask {
    /// Completes when the fork is whole and durable, or is none.
    pub(super) fn ended(&self) -> impl Future<Output = Result<(), Fault>> + '_ {
        poll_fn(|context| match self.outcome.borrow().clone() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                self.waiting.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
        })
    }
}
