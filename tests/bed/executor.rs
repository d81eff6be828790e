//! A single-threaded executor with a virtual clock, which moves only when every task waits for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Runs the tasks of all instances and keeps the time.
#[derive(Default)]
pub struct Executor {
    now_ms: Cell<u64>,
    tasks: RefCell<BTreeMap<u64, (u64, Work)>>,
    /// The instances that have ended.
    ended: RefCell<BTreeSet<u64>>,
    ready: Arc<Ready>,
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    numbers: Cell<u64>,
    /// When set, ready tasks run in random order; otherwise first in, first out.
    shuffle: RefCell<Option<Random>>,
    /// A wait takes its time.
    waits: Cell<bool>,
}

/// Pseudo-random numbers that a seed makes repeatable (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

#[derive(Default)]
struct Ready(Mutex<VecDeque<u64>>);

struct TaskWaker {
    task: u64,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.0.lock().unwrap();
        if !ready.contains(&self.task) {
            ready.push_back(self.task);
        }
    }
}

impl Executor {
    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    pub fn set_now_ms(&self, now: u64) {
        self.now_ms.set(now);
    }

    /// Has the clock begin with the real time, and each wait take as long as it says, for a program that asks real
    /// services.
    #[expect(
        clippy::disallowed_methods,
        reason = "the bed runs natively, where the clock does not panic"
    )]
    pub fn keep_real_time(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.now_ms.set(now.as_millis() as u64);
        self.waits.set(true);
    }

    /// Makes ready tasks run in an order that the seed determines, from now on.
    pub fn shuffle(&self, seed: u64) {
        self.shuffle.replace(Some(Random(seed)));
    }

    pub fn spawn(&self, instance: u64, work: Work) {
        let task = self.number();
        self.tasks.borrow_mut().insert(task, (instance, work));
        self.ready.0.lock().unwrap().push_back(task);
    }

    /// Adds a task and polls it at once, as the runtime does with a new request.
    pub fn begin(&self, instance: u64, mut work: Work, alive: impl Fn() -> bool) {
        let task = self.number();
        if self.poll(task, &mut work).is_pending() && alive() {
            self.tasks.borrow_mut().insert(task, (instance, work));
        }
    }

    /// When the next timer is due, in milliseconds since the Unix epoch.
    pub fn next_timer(&self) -> Option<u64> {
        self.timers.borrow().keys().next().map(|(due, _)| *due)
    }

    /// Drops all tasks of an instance that ends.
    pub fn drop_tasks_of(&self, instance: u64) {
        self.ended.borrow_mut().insert(instance);
        let mut tasks = self.tasks.borrow_mut();
        let gone: Vec<u64> = tasks
            .iter()
            .filter(|(_, (owner, _))| *owner == instance)
            .map(|(task, _)| *task)
            .collect();
        let gone: Vec<_> = gone.iter().map(|task| tasks.remove(task)).collect();
        drop(tasks);
        // Destructors of the tasks may call the executor, so the borrow has ended by now.
        drop(gone);
    }

    /// Drops all tasks, and those that their destructors add.
    pub fn drop_tasks(&self) {
        loop {
            // Destructors of the tasks may call the executor, so the borrow has to end before they run.
            let tasks = self.tasks.take();
            if tasks.is_empty() {
                return;
            }
        }
    }

    /// Polls one ready task, or moves the clock to the next timer if `move_clock` permits it. False
    /// when neither was possible. `alive` says whether an instance is alive.
    pub fn step(&self, move_clock: bool, alive: impl Fn(u64) -> bool) -> bool {
        let next = {
            let mut ready = self.ready.0.lock().unwrap();
            let place = match self.shuffle.borrow_mut().as_mut() {
                Some(random) if !ready.is_empty() => random.below(ready.len() as u64) as usize,
                _ => 0,
            };
            ready.remove(place)
        };
        let Some(task) = next else {
            return move_clock && self.advance();
        };
        let Some((instance, mut work)) = self.tasks.borrow_mut().remove(&task) else {
            return true;
        };
        let is_pending = self.poll(task, &mut work).is_pending();
        if is_pending && alive(instance) && !self.ended.borrow().contains(&instance) {
            self.tasks.borrow_mut().insert(task, (instance, work));
        }
        true
    }

    fn poll(&self, task: u64, work: &mut Work) -> Poll<()> {
        let waker = Waker::from(Arc::new(TaskWaker { task, ready: Arc::clone(&self.ready) }));
        work.as_mut().poll(&mut Context::from_waker(&waker))
    }

    pub fn sleep(self: &Rc<Self>, ms: u64) -> Sleep {
        Sleep { executor: Rc::clone(self), ms, timer: None }
    }

    fn advance(&self) -> bool {
        let Some(((due, _), waker)) = self.timers.borrow_mut().pop_first() else {
            return false;
        };
        let now = self.now_ms.get();
        if self.waits.get() {
            thread::sleep(Duration::from_millis(due.saturating_sub(now)));
        }
        self.now_ms.set(due.max(now));
        waker.wake();
        true
    }

    /// A number that was never given before.
    pub fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }
}

/// Completes after `ms` milliseconds. A dropped `Sleep` never moves the clock.
pub struct Sleep {
    executor: Rc<Executor>,
    ms: u64,
    timer: Option<(u64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let now = self.executor.now_ms();
        let timer = match self.timer {
            Some(timer) => timer,
            None => (now + self.ms, self.executor.number()),
        };
        if now >= timer.0 {
            return Poll::Ready(());
        }
        self.timer = Some(timer);
        self.executor.timers.borrow_mut().insert(timer, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            self.executor.timers.borrow_mut().remove(timer);
        }
    }
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must be above 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True with a probability of `percent`.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
