//! Tasks that outlive the request that started them. A task runs on as soon as what it waits for has happened:
//! `wasm_bindgen_futures::spawn_local` would let the runtime call back for each step, once more than needed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

thread_local! {
    static TASKS: Tasks = const { Tasks {
        waiting: RefCell::new(BTreeMap::new()),
        ready: RefCell::new(VecDeque::new()),
        last_number: Cell::new(0),
        is_running: Cell::new(false),
    } };
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

struct Tasks {
    waiting: RefCell<BTreeMap<u64, Task>>,
    ready: RefCell<VecDeque<u64>>,
    last_number: Cell<u64>,
    is_running: Cell<bool>,
}

/// Wakes the task with this number.
struct Number(u64);

/// Runs a task up to its first wait, and the rest of it later.
pub(super) fn spawn(task: impl Future<Output = ()> + 'static) {
    TASKS.with(|tasks| {
        let number = tasks.last_number.get() + 1;
        tasks.last_number.set(number);
        tasks.waiting.borrow_mut().insert(number, Box::pin(task));
        tasks.wake(number);
    });
}

impl Wake for Number {
    fn wake(self: Arc<Self>) {
        TASKS.with(|tasks| tasks.wake(self.0));
    }
}

impl Tasks {
    fn wake(&self, number: u64) {
        self.ready.borrow_mut().push_back(number);
        // A task that another one wakes runs after it.
        if self.is_running.replace(true) {
            return;
        }
        loop {
            let Some(number) = self.ready.borrow_mut().pop_front() else { break };
            let Some(mut task) = self.waiting.borrow_mut().remove(&number) else { continue };
            let waker = Waker::from(Arc::new(Number(number)));
            if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                self.waiting.borrow_mut().insert(number, task);
            }
        }
        self.is_running.set(false);
    }
}
