//! A workspace's object: its instances, one after the other, over one storage, and its alarm.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use aptix_edge::entry::{ContextSource, PlainResponse, RequestHead, WorkspaceHost};
use aptix_edge::ports::{HttpFault, ObjectClass, ObjectIdentity};

use super::database::{Disk, SqliteDatabase};
use super::instance::{Crash, Instance};
use super::platform::TestPlatform;
use super::world::World;

/// The instances of workspaces have numbers from this one on, those of sessions lower ones.
pub const FIRST_INSTANCE: u64 = 1 << 32;

/// The wait before the runtime repeats an alarm that failed, in milliseconds.
const REPEATED_AFTER_MS: u64 = 2_000;

/// A workspace's object.
pub struct Workspace {
    /// `{tenant}/{WorkspaceId}`
    name: String,
    pub disk: Rc<Disk>,
    /// The time of its next alarm.
    pub alarm_at: Rc<Cell<Option<u64>>>,
    /// Its alarm has rung, and the work of that has not ended.
    rings: Cell<bool>,
    life: RefCell<Option<Life>>,
}

/// One instance.
#[derive(Clone)]
struct Life {
    instance: Rc<Instance>,
    platform: Rc<TestPlatform>,
    host: Rc<WorkspaceHost<SqliteDatabase>>,
}

impl Workspace {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            disk: Disk::new(),
            alarm_at: Rc::default(),
            rings: Cell::new(false),
            life: RefCell::default(),
        }
    }

    /// Ends the present instance; another one, which ends at `crash`, comes with the next request.
    pub fn restart_to_crash(&self, world: &Rc<World>, crash: Option<Crash>) {
        if let Some(life) = self.life.take() {
            life.instance.end();
        }
        let number = FIRST_INSTANCE + world.executor.number();
        let instance = Instance::new(number, crash, Rc::clone(&world.executor));
        let database = SqliteDatabase::new(Rc::clone(&self.disk), Rc::clone(&instance));
        let alarm_at = Rc::clone(&self.alarm_at);
        let identity = ObjectIdentity::new(ObjectClass::Workspace, Some(self.name.clone()));
        let platform =
            TestPlatform::new(Rc::clone(world), Rc::clone(&instance), identity, alarm_at).into();
        let host = Rc::new(WorkspaceHost::new(database));
        self.life.replace(Some(Life { instance, platform, host }));
        // The runtime repeats an alarm whose instance was lost.
        if self.rings.take() {
            self.alarm_at.set(Some(world.executor.now_ms()));
        }
    }

    /// The present instance, or another one when it has ended.
    fn life(&self, world: &Rc<World>) -> Life {
        let present = self.life.borrow().clone();
        if let Some(life) = present.filter(|life| life.instance.alive()) {
            return life;
        }
        self.restart_to_crash(world, None);
        self.life(world)
    }

    /// The response to a request, or a fault when the instance ends first.
    pub async fn response(
        &self,
        world: &Rc<World>,
        source: &ContextSource,
        head: &RequestHead<'_>,
        body: impl Future<Output = Result<Vec<u8>, HttpFault>>,
    ) -> Result<PlainResponse, HttpFault> {
        let Life { instance, platform, host } = self.life(world);
        let response = host.response(&*platform, source, head, body);
        let lost = || HttpFault("the object was lost".to_owned());
        while_alive(&instance, response).await.ok_or_else(lost)
    }

    /// When the alarm rings next; not while its work goes on.
    pub fn rings_at(&self, world: &Rc<World>) -> Option<u64> {
        _ = self.life(world);
        self.alarm_at.get().filter(|_| !self.rings.get())
    }

    /// Begins the work of the alarm.
    pub fn ring(self: &Rc<Self>, world: &Rc<World>, source: Rc<ContextSource>) {
        let Life { instance, platform, host } = self.life(world);
        self.alarm_at.set(None);
        self.rings.set(true);
        let (workspace, world) = (Rc::clone(self), Rc::clone(world));
        let (number, executor) = (instance.number, Rc::clone(&world.executor));
        let task = async move {
            let rang = while_alive(&instance, host.alarm_rang(&*platform, &source)).await;
            let Some(rang) = rang else { return };
            workspace.rings.set(false);
            if rang.is_err() && workspace.alarm_at.get().is_none() {
                let again = world.executor.now_ms() + REPEATED_AFTER_MS;
                workspace.alarm_at.set(Some(again));
            }
        };
        executor.spawn(number, Box::pin(task));
    }
}

/// What an instance does; `None` when it ends first.
async fn while_alive<T>(instance: &Instance, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if !instance.alive() {
            return Poll::Ready(None);
        }
        let polled = work.as_mut().poll(context);
        if instance.alive() { polled.map(Some) } else { Poll::Ready(None) }
    })
    .await
}
