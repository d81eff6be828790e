//! Runs one step of a turn alone: with scripted replies to its requests, a clock that begins at 0
//! and moves only when everything waits for it, and a record of the requests.
//!
//! A step that starts a task, stores, erases or logs something panics; one that is [`LoneStep::logging`] may log.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use aptix_edge::ports::{FileFault, HttpFault, HttpRequest, Machine};

use super::instance::Instance;
use super::platform::TestPlatform;
use super::scripted_service::{HttpReply, ScriptedService};
use super::world::World;

/// The machine that a step runs on. A request without a scripted reply fails.
pub struct LoneStep {
    /// The `Platform` to pass to the step.
    pub platform: TestPlatform,
    world: Rc<World>,
}

impl LoneStep {
    pub fn replying(replies: impl IntoIterator<Item = HttpReply>) -> Self {
        let world = World::of_one_step(ScriptedService::replying(replies));
        let instance = Instance::new(1, None, Rc::clone(&world.executor));
        Self { platform: TestPlatform::of_session(Rc::clone(&world), instance), world }
    }

    /// Has a player give the replies, which can depend on their requests.
    pub fn played_by(
        player: impl Fn(&HttpRequest) -> Option<Result<HttpReply, HttpFault>> + 'static,
    ) -> Self {
        let step = Self::default();
        step.world.player.replace(Some(Rc::new(player)));
        step
    }

    pub fn with_secret(self, name: &'static str, value: &'static str) -> Self {
        self.world.secrets.borrow_mut().insert(name, value.to_owned());
        self
    }

    pub fn with_file_fault(self, fault: FileFault) -> Self {
        self.world.file_fault.set(Some(fault));
        self
    }

    /// The clock is the machine's own.
    pub fn in_real_time(self) -> Self {
        self.world.executor.keep_real_time();
        self
    }

    /// The step may log.
    pub fn logging(self) -> Self {
        self.world.steps_log.set(true);
        self
    }

    /// The lines of the log.
    pub fn logged(&self) -> Vec<serde_json::Value> {
        self.world.log.borrow().clone()
    }

    /// The stored files, by key.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.world.files.borrow().clone()
    }

    pub fn sent(&self) -> Vec<HttpRequest> {
        self.world.scripted_service.as_ref().expect("the step is alone").sent()
    }

    /// How often the step has let the other requests of its isolate run.
    pub fn yields(&self) -> u32 {
        self.world.yields.get()
    }

    pub fn now_ms(&self) -> u64 {
        self.platform.now_ms()
    }

    /// Runs a future to its end, and polls it again whenever the clock moves.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) =
                future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                return value;
            }
            let moved = self.world.executor.step(true, |_| true);
            assert!(moved, "it waits for something that never comes");
        }
    }
}

impl Default for LoneStep {
    fn default() -> Self {
        Self::replying([])
    }
}
