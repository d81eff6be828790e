//! An object of a deployment: its instances, one after the other, over one storage, and its alarm.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use aptix_edge::entry::{Body, IsolateSettings, ObjectHost, RequestHead, Response};
use aptix_edge::ports::{CALLER, HttpFault};

use super::database::{Disk, SqliteDatabase};
use super::instance::{Crash, Instance};
use super::platform::TestPlatform;
use super::world::World;

/// The instances of these objects have numbers from this one on, those of a bed's own session lower ones.
pub const FIRST_INSTANCE: u64 = 1 << 32;

/// The wait before the runtime repeats an alarm that failed, in milliseconds.
const REPEATED_AFTER_MS: u64 = 2_000;

/// The reply in an object's response to a question.
pub fn reply_in<S>(response: Response<S>) -> Result<String, HttpFault> {
    HttpFault::unless_reply(response.status)?;
    match response.body {
        Body::Json(text) => Ok(text.to_string()),
        Body::Empty | Body::Stream(_) => Err(HttpFault::Lost("nothing is said".to_owned())),
    }
}

/// An object.
pub struct TestObject<H> {
    name: String,
    /// `H::new`. By its address, since what calls a generic function is compiled with everything that the function leads
    /// to, here the whole service, once more in each crate.
    begin: fn(Rc<TestPlatform>, SqliteDatabase) -> H,
    pub disk: Rc<Disk>,
    /// The time of its next alarm.
    pub alarm_at: Rc<Cell<Option<u64>>>,
    /// The instances that it has had.
    pub lives: Cell<u64>,
    /// Its alarm has rung, and the work of that has not ended.
    rings: Cell<bool>,
    life: RefCell<Option<Life<H>>>,
}

/// One instance.
struct Life<H> {
    instance: Rc<Instance>,
    host: Rc<H>,
}

impl<H> Clone for Life<H> {
    fn clone(&self) -> Self {
        Self { instance: Rc::clone(&self.instance), host: Rc::clone(&self.host) }
    }
}

impl<H: ObjectHost<TestPlatform, SqliteDatabase> + 'static> TestObject<H> {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            begin: H::new,
            disk: Disk::new(),
            alarm_at: Rc::default(),
            lives: Cell::default(),
            rings: Cell::new(false),
            life: RefCell::default(),
        }
    }

    /// Ends the present instance; another one comes with the next request.
    pub fn restart(&self, world: &Rc<World>) {
        self.restart_to_crash(world, None);
    }

    /// Does the same, and the next instance ends at `crash`.
    pub fn restart_to_crash(&self, world: &Rc<World>, crash: Option<Crash>) {
        if let Some(life) = self.life.take() {
            life.instance.end();
        }
        self.lives.set(self.lives.get() + 1);
        let number = FIRST_INSTANCE + world.executor.number();
        let instance = Instance::new(number, crash, Rc::clone(&world.executor));
        let database = SqliteDatabase::new(Rc::clone(&self.disk), Rc::clone(&instance));
        let alarm_at = Rc::clone(&self.alarm_at);
        let own = (H::CLASS, self.name.as_str());
        let platform: Rc<_> =
            TestPlatform::new(Rc::clone(world), Rc::clone(&instance), own, alarm_at).into();
        let host = Rc::new((self.begin)(platform, database));
        self.life.replace(Some(Life { instance, host }));
        // The runtime repeats an alarm whose instance was lost.
        if self.rings.take() {
            self.alarm_at.set(Some(world.executor.now_ms()));
        }
    }

    /// Whether the present instance has ended.
    pub fn has_ended(&self) -> bool {
        self.life.borrow().as_ref().is_some_and(|life| !life.instance.alive())
    }

    /// The present instance, or another one when it has ended.
    fn life(&self, world: &Rc<World>) -> Life<H> {
        let present = self.life.borrow().clone();
        if let Some(life) = present.filter(|life| life.instance.alive()) {
            return life;
        }
        self.restart_to_crash(world, None);
        self.life(world)
    }

    /// The present instance.
    pub(super) fn instance(&self, world: &Rc<World>) -> Rc<Instance> {
        self.life(world).instance
    }

    /// The response to a request, or a fault when the instance ends first.
    pub async fn response(
        &self,
        world: &Rc<World>,
        source: &IsolateSettings,
        head: &RequestHead<'_>,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
    ) -> Result<Response<H::Stream>, HttpFault> {
        let Life { instance, host } = self.life(world);
        let response = host.response(source, head, body);
        let lost = || HttpFault::Lost("the object was lost".to_owned());
        while_alive(&instance, response).await.ok_or_else(lost)
    }

    /// The reply to a question of another object. The work goes on when the instance that asks ends.
    pub async fn reply(
        self: &Rc<Self>,
        world: &Rc<World>,
        path: &str,
        body: String,
    ) -> Result<String, HttpFault> {
        let (answer, number) = (Answer::new(), self.life(world).instance.number);
        let (object, task_world) = (Rc::clone(self), Rc::clone(world));
        let (url, giver) = (format!("https://object{path}"), Giver(Rc::clone(&answer)));
        let task = async move {
            let header = |name: &str| asked_by(&task_world, name);
            let head = RequestHead { method: "POST", url: &url, header: &header };
            let body = std::future::ready(Ok(body.into_bytes()));
            let source = IsolateSettings::default();
            let response = object.response(&task_world, &source, &head, body).await;
            giver.0.give(response.and_then(reply_in));
        };
        world.executor.spawn(number, Box::pin(task));
        answer.taken().await
    }

    /// When the alarm rings next; not while its work goes on.
    pub fn rings_at(&self, world: &Rc<World>) -> Option<u64> {
        _ = self.life(world);
        self.alarm_at.get().filter(|_| !self.rings.get())
    }

    /// Begins the work of the alarm.
    pub fn ring(self: &Rc<Self>, world: &Rc<World>, source: Rc<IsolateSettings>) {
        let Life { instance, host } = self.life(world);
        self.alarm_at.set(None);
        self.rings.set(true);
        let (object, world) = (Rc::clone(self), Rc::clone(world));
        let (number, executor) = (instance.number, Rc::clone(&world.executor));
        let task = async move {
            let rang = while_alive(&instance, host.alarm_rang(&source)).await;
            let Some(rang) = rang else { return };
            object.rings.set(false);
            if rang.is_err() && object.alarm_at.get().is_none() {
                let again = world.executor.now_ms() + REPEATED_AFTER_MS;
                object.alarm_at.set(Some(again));
            }
        };
        executor.spawn(number, Box::pin(task));
    }
}

/// The header of a question by which an object knows the version of the other one.
pub fn asked_by(world: &World, name: &str) -> Option<String> {
    (name == CALLER).then(|| format!("{} ", world.objects_protocol.get()))
}

/// An answer that comes from another task.
struct Answer {
    given: RefCell<Option<Result<String, HttpFault>>>,
    waker: RefCell<Option<Waker>>,
}

/// Gives an answer; where it is dropped before, there is none.
struct Giver(Rc<Answer>);

impl Answer {
    fn new() -> Rc<Self> {
        Rc::new(Self { given: RefCell::default(), waker: RefCell::default() })
    }

    fn give(&self, answer: Result<String, HttpFault>) {
        if self.given.borrow().is_none() {
            self.given.replace(Some(answer));
        }
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    async fn taken(&self) -> Result<String, HttpFault> {
        poll_fn(|context| match self.given.borrow().clone() {
            Some(answer) => Poll::Ready(answer),
            None => {
                self.waker.replace(Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

impl Drop for Giver {
    fn drop(&mut self) {
        self.0.give(Err(HttpFault::Lost("the object was lost".to_owned())));
    }
}

/// What an instance does; `None` when it ends first.
pub(super) async fn while_alive<T>(
    instance: &Instance,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if !instance.alive() {
            return Poll::Ready(None);
        }
        let polled = work.as_mut().poll(context);
        if !instance.alive() {
            return Poll::Ready(None);
        }
        if polled.is_pending() {
            instance.at_end(context.waker());
        }
        polled.map(Some)
    })
    .await
}
