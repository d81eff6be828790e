//! A session under test: its instances, one after the other, and its client.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;
use std::thread;

use aptix_edge::encoding::sha256_hex;
use aptix_edge::entry::{Body, FrontDoor, FrontResponse, IsolateSettings, ObjectHost, RequestHead};
use aptix_edge::live_text::Position;
use aptix_edge::ports::OperatorCatalog;
use serde_json::Value;

use super::catalog;
use super::database::{Disk, SqliteDatabase};
use super::gateway::{Host, TestGateway};
use super::heard::Heard;
use super::instance::{Crash, Instance};
use super::object::{FIRST_INSTANCE, TestObject, while_alive};
use super::platform::TestPlatform;
use super::reply::Reply;
use super::scripted_service::Piece;
use super::world::{Workspace, World};

/// Where clients reach the deployment, unless they send another `Host`.
pub const HOST: &str = "edge.localhost";

/// A session, its storage, and the world around it.
pub struct Bed {
    pub world: Rc<World>,
    pub disk: Rc<Disk>,
    /// The settings that an isolate has read; dropped when a test changes them.
    settings: RefCell<(Option<Rc<FrontDoor>>, Rc<IsolateSettings>)>,
    life: RefCell<(Rc<Instance>, Rc<Host>)>,
    lives: Cell<u64>,
}

/// A request that was sent.
pub struct Pending {
    instance: Rc<Instance>,
    heard: Rc<RefCell<Option<Heard>>>,
}

impl Bed {
    pub fn new() -> Self {
        Self::with_crash(None)
    }

    /// A session whose first instance ends at `crash`.
    pub fn with_crash(crash: Option<Crash>) -> Self {
        let world = World::new();
        let disk = Disk::new();
        let life = begin_life(&world, &disk, 1, crash);
        let bed = Self {
            world,
            disk,
            settings: RefCell::default(),
            life: RefCell::new(life),
            lives: Cell::new(1),
        };
        bed.configure(|_| ());
        bed
    }

    /// Sets a variable or a secret of the deployment.
    pub fn deploy(&self, name: &'static str, value: &str) {
        self.world.secrets.borrow_mut().insert(name, value.to_owned());
        self.settings.take();
    }

    /// Changes the catalog.
    pub fn configure(&self, change: impl FnOnce(&mut Value)) {
        let mut document = catalog::document();
        change(&mut document);
        self.keep_catalog(document.to_string());
    }

    /// What names the present catalog in the records of turns.
    pub fn catalog_hash(&self) -> String {
        let catalog = self.world.catalog.borrow();
        let OperatorCatalog::Document(text) = &*catalog else { panic!("there is no catalog") };
        sha256_hex(text.as_bytes()).chars().take(16).collect()
    }

    /// Replaces the catalog with one that is invalid.
    pub fn spoil_catalog(&self) {
        self.keep_catalog("It is spoilt.".to_owned());
    }

    /// Replaces the catalog.
    pub fn keep_catalog(&self, document: String) {
        self.world.catalog.replace(OperatorCatalog::Document(document));
        self.settings.take();
    }

    /// Ends the current instance and starts another over the same storage.
    pub fn restart(&self) {
        self.restart_to_crash(None);
    }

    /// Does the same, and the new instance ends at `crash`.
    pub fn restart_to_crash(&self, crash: Option<Crash>) {
        self.life.borrow().0.end();
        self.lives.set(self.lives.get() + 1);
        let life = begin_life(&self.world, &self.disk, self.lives.get(), crash);
        self.life.replace(life);
    }

    /// Whether no instance has ended yet.
    pub fn lives_since_the_first(&self) -> bool {
        self.lives.get() == 1
    }

    /// Whether the present instance lives.
    pub fn alive(&self) -> bool {
        self.life.borrow().0.alive()
    }

    /// Sends any request to the front door without waiting for the response.
    pub fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Pending {
        self.ask_in_pieces(method, target, headers, vec![Piece::text(body)])
    }

    /// Does the same with a body that comes in pieces.
    pub fn ask_in_pieces(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Vec<Piece>,
    ) -> Pending {
        let (instance, host) = self.life.borrow().clone();
        let world = Rc::clone(&self.world);
        let gateway = TestGateway {
            platform: TestPlatform::of_session(Rc::clone(&world), Rc::clone(&instance)),
            world,
            host,
            source: Rc::clone(&self.settings.borrow().1),
            body,
            answered_by: RefCell::default(),
        };
        let door = self.settings.borrow().0.clone();
        let door = door.unwrap_or_else(|| Rc::new(FrontDoor::new(&gateway, "0.0.0")));
        self.settings.borrow_mut().0 = Some(Rc::clone(&door));
        // The runtime takes the URL's authority from `Host`.
        let host = headers.iter().find(|(name, _)| *name == "Host").map_or(HOST, |(_, host)| host);
        let giver = Rc::clone(&instance);
        let (method, url) = (method.to_owned(), format!("https://{host}{target}"));
        let headers: BTreeMap<String, String> = headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), (*value).to_owned()))
            .collect();
        self.begin(instance, async move {
            let header = |name: &str| headers.get(&name.to_ascii_lowercase()).cloned();
            let head = RequestHead { method: &method, url: &url, header: &header };
            match door.response(&head, &gateway).await {
                FrontResponse::Own(response) => {
                    let contents = match response.body {
                        Body::Empty => Vec::new(),
                        Body::Json(text) => text.as_bytes().to_vec(),
                        Body::Stream(contents) => contents,
                    };
                    let text = String::from_utf8_lossy(&contents).into_owned();
                    Heard::of(response.status, response.headers, text)
                }
                FrontResponse::OfObject(response, more) => {
                    let (status, mut headers) = (response.status, response.headers);
                    headers.extend(more);
                    let mut text = String::new();
                    match response.body {
                        Body::Empty => {}
                        Body::Json(json) => text.push_str(&json),
                        Body::Stream(mut stream) => {
                            let giver = gateway.answered_by.take().unwrap_or(giver);
                            loop {
                                let chunk = while_alive(&giver, stream.next_chunk()).await;
                                match chunk.map(Result::unwrap) {
                                    Some(Some(chunk)) => text.push_str(&chunk),
                                    Some(None) => break,
                                    None => return Heard::of(500, Vec::new(), String::new()),
                                }
                            }
                        }
                    }
                    Heard::of(status, headers, text)
                }
            }
        })
    }

    /// Sends any request and waits for its response.
    pub fn asked(&self, method: &str, target: &str, body: &str) -> Heard {
        self.wait(&self.ask(method, target, &[], body)).expect("the instance lives")
    }

    /// Sends a request to `/execute` without waiting for the response.
    pub fn send(&self, request: &Value) -> Pending {
        self.send_from(request, None)
    }

    /// Does the same with `Last-Event-ID`.
    pub fn send_from(&self, request: &Value, position: Option<Position>) -> Pending {
        self.ask_from("POST", "/execute", position, &request.to_string())
    }

    /// Sends a request whose model call stays silent, and waits until that call has begun.
    pub fn send_to_silence(&self, request: &Value) -> Pending {
        let calls = self.world.model.requests() + 1;
        self.world.model.script([Reply::Silence]);
        let pending = self.send(request);
        self.run_until(|bed| bed.world.model.requests() == calls, "the model is called");
        pending
    }

    /// Sends a request and waits for its response; `None` when the instance ends first.
    pub fn try_post(&self, request: &Value) -> Option<Heard> {
        self.wait(&self.send(request))
    }

    /// Sends a request and waits for its response.
    pub fn post(&self, request: &Value) -> Heard {
        self.try_post(request).expect("the instance lives")
    }

    /// Attaches to a turn's stream.
    pub fn attach(&self, turn: &str, position: Option<Position>) -> Pending {
        self.ask_from("GET", &format!("/sessions/s/turns/{turn}/stream"), position, "")
    }

    /// Requests that a turn be cancelled.
    pub fn send_cancel(&self, turn: &str) -> Pending {
        self.ask("POST", &format!("/sessions/s/turns/{turn}/cancel"), &[], "")
    }

    /// Adds words to a turn.
    pub fn send_steer(&self, turn: &str, steer: &Value) -> Pending {
        self.ask("POST", &format!("/sessions/s/turns/{turn}/steer"), &[], &steer.to_string())
    }

    /// Does the same and waits for the response.
    pub fn steer(&self, turn: &str, steer: &Value) -> Heard {
        self.wait(&self.send_steer(turn, steer)).expect("the instance lives")
    }

    /// Requests that the session be erased.
    pub fn send_erase(&self) -> Pending {
        self.ask("DELETE", "/sessions/s", &[], "")
    }

    /// Erases the session; `None` when the instance ends first.
    pub fn try_erase(&self) -> Option<Heard> {
        self.wait(&self.send_erase())
    }

    /// Cancels a turn and waits for the response; `None` when the instance ends first.
    pub fn try_cancel(&self, turn: &str) -> Option<Heard> {
        self.wait(&self.send_cancel(turn))
    }

    /// Rings the alarm and starts its work. False when the instance ended by then.
    pub fn alarm(&self) -> bool {
        let (instance, host) = self.life.borrow().clone();
        let source = Rc::clone(&self.settings.borrow().1);
        self.world.alarm_at.set(None);
        let rang = self.begin(Rc::clone(&instance), async move {
            let rang = host.alarm_rang(&source).await;
            Heard::of(if rang.is_ok() { 200 } else { 500 }, Vec::new(), String::new())
        });
        // Work that takes time goes on without a waiting client.
        drop(rang);
        instance.alive()
    }

    /// Rings the alarm and waits until its work is done; `None` when the instance ends first.
    pub fn try_alarm(&self) -> Option<Heard> {
        let (instance, host) = self.life.borrow().clone();
        let source = Rc::clone(&self.settings.borrow().1);
        self.wait(&self.begin(instance, async move {
            let rang = host.alarm_rang(&source).await;
            Heard::of(if rang.is_ok() { 200 } else { 500 }, Vec::new(), String::new())
        }))
    }

    /// The object of a workspace.
    pub fn workspace(&self, id: &str) -> Rc<Workspace> {
        self.world.workspace(&format!("{}/{id}", self.world.tenant.get()))
    }

    /// Ends a workspace's instance; the next one ends at `crash`.
    pub fn restart_workspace(&self, id: &str, crash: Option<Crash>) {
        self.workspace(id).restart_to_crash(&self.world, crash);
    }

    /// The milliseconds until a workspace's alarm rings.
    pub fn rings_in(&self, id: &str) -> Option<u64> {
        let at = self.workspace(id).rings_at(&self.world);
        at.map(|at| at.saturating_sub(self.world.executor.now_ms()))
    }

    /// Rings the alarms of workspaces, users and other sessions that are due, and starts their work.
    pub fn ring_due(&self) {
        let world = &self.world;
        self.ring_those(world.workspaces.borrow().values().cloned().collect());
        self.ring_those(world.users.borrow().values().cloned().collect());
        self.ring_those(world.sessions.borrow().values().cloned().collect());
    }

    fn ring_those<H: ObjectHost<TestPlatform, SqliteDatabase> + 'static>(
        &self,
        objects: Vec<Rc<TestObject<H>>>,
    ) {
        for object in objects {
            let at = object.rings_at(&self.world);
            if at.is_some_and(|at| at <= self.world.executor.now_ms()) {
                object.ring(&self.world, Rc::clone(&self.settings.borrow().1));
            }
        }
    }

    /// Lets time pass until the next alarm of a user or of another session, and rings it; false when none is set.
    pub fn ring_next(&self) -> bool {
        let world = &self.world;
        let users: Vec<_> = world.users.borrow().values().cloned().collect();
        let sessions: Vec<_> = world.sessions.borrow().values().cloned().collect();
        let of_users = users.iter().filter_map(|user| user.rings_at(world));
        let of_sessions = sessions.iter().filter_map(|session| session.rings_at(world));
        let Some(at) = of_users.chain(of_sessions).min() else { return false };
        world.executor.set_now_ms(world.executor.now_ms().max(at));
        self.ring_due();
        self.settle();
        true
    }

    /// Waits for a workspace's alarm, and until its work is done; false when none is set.
    pub fn ring(&self, id: &str) -> bool {
        let Some(wait_ms) = self.rings_in(id) else { return false };
        self.world.executor.set_now_ms(self.world.executor.now_ms() + wait_ms);
        self.ring_due();
        self.settle();
        true
    }

    /// Does everything that the alarms of a workspace are for.
    pub fn ring_all(&self, id: &str) {
        for _ in 0..1_000 {
            if !self.ring(id) {
                return;
            }
        }
        panic!("the alarm rings for ever");
    }

    /// `GET …/turns/{TurnId}`
    pub fn turn(&self, turn: &str) -> Heard {
        self.asked("GET", &format!("/sessions/s/turns/{turn}"), "")
    }

    /// The stored status of a turn.
    pub fn status(&self, turn: &str) -> String {
        self.turn(turn).result()["Status"].as_str().unwrap().to_owned()
    }

    /// `GET /sessions/{SessionId}`
    pub fn session(&self) -> Heard {
        self.asked("GET", "/sessions/s", "")
    }

    /// `GET …/modes`
    pub fn modes(&self) -> Heard {
        self.asked("GET", "/sessions/s/modes", "")
    }

    /// `Result` of `GET …/export`
    pub fn export(&self) -> Value {
        self.asked("GET", "/sessions/s/export", "").body
    }

    fn ask_from(
        &self,
        method: &str,
        target: &str,
        position: Option<Position>,
        body: &str,
    ) -> Pending {
        let position = position.map(|at| format!("{}.{}", at.segment, at.offset));
        let headers: Vec<(&str, &str)> =
            position.iter().map(|position| ("Last-Event-ID", position.as_str())).collect();
        self.ask(method, target, &headers, body)
    }

    /// Starts an instance's work for a client.
    fn begin(
        &self,
        instance: Rc<Instance>,
        what: impl Future<Output = Heard> + 'static,
    ) -> Pending {
        let pending = Pending { instance, heard: Rc::default() };
        let (slot, alive) = (Rc::clone(&pending.heard), Rc::clone(&pending.instance));
        let task = Box::pin(async move {
            let heard = what.await;
            if alive.alive() {
                slot.replace(Some(heard));
            }
        });
        let lives = Rc::clone(&pending.instance);
        if lives.alive() {
            self.world.executor.begin(lives.number, task, || lives.alive());
        }
        pending
    }

    /// Runs the world until a request has its response; `None` when its instance ends first.
    pub fn wait(&self, pending: &Pending) -> Option<Heard> {
        loop {
            if let Some(heard) = pending.heard.borrow().clone() {
                return Some(heard);
            }
            if !pending.instance.alive() {
                return None;
            }
            assert!(self.step(), "a request is never answered");
        }
    }

    /// Runs the world until a condition holds.
    pub fn run_until(&self, so: impl Fn(&Self) -> bool, what: &str) {
        while !so(self) {
            assert!(self.step(), "it never happens that {what}");
        }
    }

    /// Runs the world until no task or timer is left.
    pub fn settle(&self) {
        while self.step() {}
    }

    /// Runs one task or timer. False when none is left.
    pub fn step(&self) -> bool {
        self.step_once(true)
    }

    /// Runs every task that needs no time to pass.
    pub fn run_at_once(&self) {
        while self.step_once(false) {}
    }

    fn step_once(&self, move_clock: bool) -> bool {
        let (number, alive) = {
            let life = self.life.borrow();
            (life.0.number, life.0.alive())
        };
        self.world.executor.step(move_clock, |instance| {
            instance >= FIRST_INSTANCE || instance == number && alive && self.alive()
        })
    }

    /// Asserts that the model service refused no request as invalid.
    pub fn assert_chain_held(&self) {
        assert_eq!(self.world.model.refusals(), Vec::<String>::new());
    }
}

impl Pending {
    /// Whether the instance that received the request lives.
    pub fn lives(&self) -> bool {
        self.instance.alive()
    }

    /// The response, once it is there.
    pub fn heard(&self) -> Option<Heard> {
        self.heard.borrow().clone()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // Where a test fails, a second panic would hide the first.
        if !thread::panicking() {
            self.life.borrow().0.end();
            self.world.end();
        }
    }
}

fn begin_life(
    world: &Rc<World>,
    disk: &Rc<Disk>,
    number: u64,
    crash: Option<Crash>,
) -> (Rc<Instance>, Rc<Host>) {
    let instance = Instance::new(number, crash, Rc::clone(&world.executor));
    let platform = TestPlatform::of_session(Rc::clone(world), Rc::clone(&instance));
    let database = SqliteDatabase::new(Rc::clone(disk), Rc::clone(&instance));
    (instance, Rc::new(Host::new(Rc::new(platform), database)))
}
