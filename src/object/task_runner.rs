//! Attempts the tasks of an object: at once after the step that added them, later by the alarm.
//!
//! Tasks of one kind are attempted one after the other, those of different kinds beside each other, and all of them apart
//! from what clients wait for: a slow receiver costs one connection. A task is attempted again until what became of the
//! attempt is stored, so a crash repeats an attempt and loses none.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use super::alarm::Alarm;
use super::tasks::{Attempted, Task, TaskKind, Tasks};
use crate::contract::Result;
use crate::ports::{Database, Platform, failure_line};

/// Does the tasks of an object, under the settings and the catalog of one request or alarm.
pub trait TaskHandler {
    /// Attempts a task.
    ///
    /// # Errors
    /// The storage fails. The task stays as it is, and the alarm attempts it again. Whatever would fail each time has to be
    /// given up instead, since those behind it wait for it.
    fn attempt<'a>(&'a self, task: &'a Task) -> Attempt<'a>;
}

/// An attempt that is under way.
pub type Attempt<'a> = Pin<Box<dyn Future<Output = Result<Attempted>> + 'a>>;

/// The runner of an object's tasks.
pub struct TaskRunner<P, D> {
    platform: Rc<P>,
    tasks: Rc<Tasks<D>>,
    alarm: Rc<Alarm>,
    /// The kinds whose tasks are being attempted.
    under_way: RefCell<Vec<TaskKind>>,
    /// The newest one. It is kept only while tasks are attempted.
    handler: RefCell<Option<Rc<dyn TaskHandler>>>,
    /// Those who wait until a kind is no longer under way.
    waiting: RefCell<Vec<Waker>>,
}

impl<P: Platform, D: Database + 'static> TaskRunner<P, D> {
    /// A runner that has begun nothing.
    pub fn new(platform: Rc<P>, tasks: Rc<Tasks<D>>, alarm: Rc<Alarm>) -> Self {
        let (under_way, handler, waiting) = Default::default();
        Self { platform, tasks, alarm, under_way, handler, waiting }
    }

    /// Begins to attempt what is due. The alarm is set before any work, `alarm_interval_ms` milliseconds from now, so an
    /// object that is lost meanwhile finds its tasks again. `handler` is made only where something is due.
    ///
    /// # Errors
    /// The storage fails, or the alarm cannot be set.
    pub fn start(
        self: &Rc<Self>,
        alarm_interval_ms: u64,
        handler: impl FnOnce() -> Rc<dyn TaskHandler>,
    ) -> Result<()> {
        if !self.tasks.is_there()? {
            return Ok(());
        }
        let due = self.tasks.due_kinds(self.platform.now_ms())?;
        if due.is_empty() {
            return Ok(());
        }
        self.alarm.set_in(self.platform.as_ref(), alarm_interval_ms)?;
        self.handler.replace(Some(handler()));
        for kind in due {
            if self.under_way.borrow().contains(&kind) {
                continue;
            }
            self.under_way.borrow_mut().push(kind);
            let runner = Rc::clone(self);
            self.platform.spawn(Box::pin(async move {
                let attempted = runner.attempt_all(kind).await;
                runner.end(kind);
                if let Err(fault) = attempted.and_then(|()| runner.set_for_next()) {
                    let mut line = failure_line("tasks_stopped", "error", &fault);
                    if let Some(members) = line.as_object_mut() {
                        members.insert("kind".to_owned(), kind.as_str().into());
                    }
                    runner.platform.log(line);
                }
            }));
        }
        Ok(())
    }

    /// The same when the alarm has rung. Where nothing is due yet, the alarm is set for what is due next.
    ///
    /// # Errors
    /// Those of [`TaskRunner::start`].
    pub fn resume(
        self: &Rc<Self>,
        alarm_interval_ms: u64,
        handler: impl FnOnce() -> Rc<dyn TaskHandler>,
    ) -> Result<()> {
        let now_ms = self.platform.now_ms();
        match self.tasks.next_at(now_ms)? {
            Some(next_at) if next_at > now_ms => self.alarm.set_by(self.platform.as_ref(), next_at),
            Some(_) => self.start(alarm_interval_ms, handler),
            None => Ok(()),
        }
    }

    /// Completes when no task of the kind is being attempted.
    pub fn idle(&self, kind: TaskKind) -> impl Future<Output = ()> + '_ {
        poll_fn(move |context| match self.under_way.borrow().contains(&kind) {
            false => Poll::Ready(()),
            true => {
                self.waiting.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
        })
    }

    /// Attempts tasks of a kind until none is due.
    async fn attempt_all(&self, kind: TaskKind) -> Result<()> {
        self.platform.durable().await;
        loop {
            // Nothing is awaited between this read and the attempt, so nothing is attempted that was erased.
            let Some(task) = self.tasks.due(kind, self.platform.now_ms())? else { return Ok(()) };
            let Some(handler) = self.handler.borrow().clone() else { return Ok(()) };
            let attempted = handler.attempt(&task).await?;
            self.tasks.settle(&task, attempted)?;
        }
    }

    fn end(&self, kind: TaskKind) {
        self.under_way.borrow_mut().retain(|known| *known != kind);
        if self.under_way.borrow().is_empty() {
            // A handler holds the object that holds this runner.
            self.handler.take();
        }
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Sets the alarm for the next attempt.
    fn set_for_next(&self) -> Result<()> {
        match self.tasks.next_at(self.platform.now_ms())? {
            Some(at_ms) => self.alarm.set_by(self.platform.as_ref(), at_ms),
            None => Ok(()),
        }
    }
}
