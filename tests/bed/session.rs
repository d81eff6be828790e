//! A session under test: its instances one after the other, and the client that asks them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use aptix_edge::catalog::Catalog;
use aptix_edge::contract::{self, ErrorCode, Fault, InvokeResult, SessionId, TurnId};
use aptix_edge::entry::{Delivery, Environment, SessionHost};
use aptix_edge::ports::Deployment;
use aptix_edge::reasoner::Position;
use aptix_edge::retrieval::Retrieved;
use serde::Serialize;
use serde_json::Value;

use super::catalog;
use super::database::{Disk, SqliteDatabase};
use super::instance::{Crash, Instance};
use super::platform::{TestPlatform, World};
use super::reply::Reply;

type Host = SessionHost<TestPlatform, SqliteDatabase>;

/// A session, its storage, and the world around it.
pub struct Bed {
    pub world: Rc<World>,
    pub disk: Rc<Disk>,
    pub environment: RefCell<Environment>,
    life: RefCell<(Rc<Instance>, Rc<Host>)>,
    lives: Cell<u64>,
}

/// What a client got for a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    pub status: u16,
    /// The `InvokeResult`.
    pub body: Value,
    /// The same, byte for byte.
    pub text: String,
    pub replayed: bool,
    /// The server-sent events of a streamed answer, the last one being `result`.
    pub frames: Option<String>,
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

    /// A session whose first instance ends at a given place.
    pub fn with_crash(crash: Option<Crash>) -> Self {
        let world = World::new();
        let disk = Disk::new();
        let environment = Environment {
            catalog: Ok(catalog_of(&catalog::document())),
            deployment: Rc::new(Deployment {
                base_url: "https://model.example/v1".to_owned(),
                ..Deployment::default()
            }),
            origin: "https://edge.example".to_owned(),
        };
        let life = begin_life(&world, &disk, 1, crash);
        Self {
            world,
            disk,
            environment: RefCell::new(environment),
            life: RefCell::new(life),
            lives: Cell::new(1),
        }
    }

    /// Changes the deployment's settings.
    pub fn deploy(&self, change: impl FnOnce(&mut Deployment)) {
        let mut environment = self.environment.borrow_mut();
        let mut deployment = environment.deployment.as_ref().clone();
        change(&mut deployment);
        environment.deployment = Rc::new(deployment);
    }

    /// Changes the catalog.
    pub fn configure(&self, change: impl FnOnce(&mut Value)) {
        let mut document = catalog::document();
        change(&mut document);
        self.environment.borrow_mut().catalog = Ok(catalog_of(&document));
    }

    /// Puts a catalog in place that is refused.
    pub fn spoil_catalog(&self) {
        let fault = Fault::new(ErrorCode::CatalogInvalid, "It is spoilt.");
        self.environment.borrow_mut().catalog = Err(fault);
    }

    /// Ends the present instance and begins another over the same storage.
    pub fn restart(&self) {
        self.restart_to_crash(None);
    }

    /// The same, and the new instance ends at a given place.
    pub fn restart_to_crash(&self, crash: Option<Crash>) {
        self.life.borrow().0.end();
        self.lives.set(self.lives.get() + 1);
        let life = begin_life(&self.world, &self.disk, self.lives.get(), crash);
        self.life.replace(life);
    }

    /// The present instance still lives.
    pub fn alive(&self) -> bool {
        self.life.borrow().0.alive()
    }

    /// Sends a request to `/execute` and leaves the answer for later.
    pub fn send(&self, request: &Value) -> Pending {
        self.send_from(request, None)
    }

    /// The same with `Last-Event-ID`.
    pub fn send_from(&self, request: &Value, position: Option<Position>) -> Pending {
        let (_, host) = self.life.borrow().clone();
        self.deliver(position, |environment| {
            let body = request.to_string();
            let request = contract::parse(body.as_bytes())?;
            let order = contract::MemberOrder::of(&request, body.as_bytes());
            let delivery = host.execute(environment, &request, &Retrieved::default());
            delivery.map_err(|faults| order.sorted(faults))
        })
    }

    /// Sends a request for which the model service is called and never answers.
    pub fn send_to_silence(&self, request: &Value) -> Pending {
        let calls = self.world.model.requests() + 1;
        self.world.model.script([Reply::Silence]);
        let pending = self.send(request);
        self.run_until(|bed| bed.world.model.requests() == calls, "the model is called");
        pending
    }

    /// Sends a request and waits for its answer; `None` when the instance ends before.
    pub fn try_post(&self, request: &Value) -> Option<Heard> {
        self.wait(&self.send(request))
    }

    /// Sends a request and waits for its answer.
    pub fn post(&self, request: &Value) -> Heard {
        self.try_post(request).expect("the instance lives")
    }

    /// Attaches to a turn's stream.
    pub fn attach(&self, turn: &str, position: Option<Position>) -> Pending {
        let (_, host) = self.life.borrow().clone();
        self.deliver(position, |environment| {
            host.watch(environment, &session_id(), &turn_id(turn)).map_err(Vec::from)
        })
    }

    /// Asks for a turn to be cancelled.
    pub fn send_cancel(&self, turn: &str) -> Pending {
        let turn = turn_id(turn);
        self.ask(|host, environment| async move {
            shown(host.cancel(&environment, &session_id(), &turn).await)
        })
    }

    /// Asks for the session to be erased.
    pub fn send_erase(&self) -> Pending {
        self.ask(
            |host, environment| async move { shown(host.erase(&environment, &session_id()).await) },
        )
    }

    /// Erases the session; `None` when the instance ends before.
    pub fn try_erase(&self) -> Option<Heard> {
        self.wait(&self.send_erase())
    }

    /// The alarm rings while an erasure may be under way.
    pub fn try_resume_erasure(&self) -> Option<Heard> {
        self.wait(
            &self.ask(
                |host, environment| async move { shown(host.resume_erasure(&environment).await) },
            ),
        )
    }

    /// Asks the object for something that takes a while.
    fn ask<F: Future<Output = Heard>>(
        &self,
        what: impl FnOnce(Rc<Host>, Environment) -> F + 'static,
    ) -> Pending {
        let (instance, host) = self.life.borrow().clone();
        let environment = self.environment.borrow().clone();
        let pending = Pending { instance, heard: Rc::default() };
        let (slot, alive) = (Rc::clone(&pending.heard), Rc::clone(&pending.instance));
        self.world.executor.spawn(
            pending.instance.number,
            Box::pin(async move {
                let heard = what(host, environment).await;
                if alive.alive() {
                    slot.replace(Some(heard));
                }
            }),
        );
        pending
    }

    /// Cancels a turn and waits until that is done; `None` when the instance ends before.
    pub fn try_cancel(&self, turn: &str) -> Option<Heard> {
        self.wait(&self.send_cancel(turn))
    }

    /// The alarm rings. False when the instance does not live through it.
    pub fn alarm(&self) -> bool {
        let (instance, host) = self.life.borrow().clone();
        let _ = host.recover(&self.environment.borrow());
        instance.alive()
    }

    /// `GET …/turns/{TurnId}`
    pub fn turn(&self, turn: &str) -> Heard {
        let (_, host) = self.life.borrow().clone();
        shown(host.turn_view(&self.environment.borrow(), &session_id(), &turn_id(turn)))
    }

    /// The stored status of a turn.
    pub fn status(&self, turn: &str) -> String {
        self.turn(turn).result()["Status"].as_str().unwrap().to_owned()
    }

    /// `GET /sessions/{SessionId}`
    pub fn session(&self) -> Heard {
        let (_, host) = self.life.borrow().clone();
        shown(host.session_view(&self.environment.borrow(), &session_id()))
    }

    /// `GET …/modes`
    pub fn modes(&self) -> Heard {
        let (_, host) = self.life.borrow().clone();
        shown(host.modes_view(&self.environment.borrow(), &session_id()))
    }

    /// `GET …/export`
    pub fn export(&self) -> Value {
        let (_, host) = self.life.borrow().clone();
        let mut export = host.export(&self.environment.borrow(), &session_id()).unwrap();
        let pieces = std::iter::from_fn(|| export.piece().unwrap());
        serde_json::from_str(&pieces.collect::<String>()).unwrap()
    }

    /// Runs the world until a request is answered; `None` when its instance ends before.
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

    /// Runs the world until something is so.
    pub fn run_until(&self, so: impl Fn(&Self) -> bool, what: &str) {
        while !so(self) {
            assert!(self.step(), "it never happens that {what}");
        }
    }

    /// Runs the world until nothing is left to happen.
    pub fn settle(&self) {
        while self.step() {}
    }

    /// Lets one thing happen. False when nothing is left.
    pub fn step(&self) -> bool {
        self.step_once(true)
    }

    /// Lets everything happen that takes no time.
    pub fn run_at_once(&self) {
        while self.step_once(false) {}
    }

    fn step_once(&self, move_clock: bool) -> bool {
        let (number, alive) = {
            let life = self.life.borrow();
            (life.0.number, life.0.alive())
        };
        self.world.executor.step(move_clock, |instance| instance == number && alive && self.alive())
    }

    /// The model service never refused a request for what it said.
    pub fn assert_chain_held(&self) {
        assert_eq!(self.world.model.refusals(), Vec::<String>::new());
    }

    fn deliver(
        &self,
        position: Option<Position>,
        take: impl FnOnce(&Environment) -> Result<Delivery, Vec<Fault>>,
    ) -> Pending {
        let instance = Rc::clone(&self.life.borrow().0);
        let taken = take(&self.environment.borrow());
        let heard = Rc::new(RefCell::new(None));
        let pending = Pending { instance, heard };
        if !pending.instance.alive() {
            return pending;
        }
        match taken {
            Err(faults) => {
                let refusal = InvokeResult::failure(faults);
                pending.heard.replace(Some(Heard::of(refusal.http_status(), &refusal.to_json())));
            }
            Ok(delivery) => {
                let slot = Rc::clone(&pending.heard);
                let listen = listen(delivery, position, slot);
                self.world.executor.spawn(pending.instance.number, Box::pin(listen));
            }
        }
        pending
    }
}

async fn listen(delivery: Delivery, position: Option<Position>, slot: Rc<RefCell<Option<Heard>>>) {
    let (stream, replayed) = (Rc::clone(&delivery.stream), delivery.replayed);
    let mut frames = None;
    if delivery.streaming {
        let mut cursor = delivery.cursor(position);
        let mut text = String::new();
        loop {
            text.push_str(&cursor.frames(&stream));
            if cursor.finished() {
                break;
            }
            cursor.growth(&stream).await;
        }
        frames = Some(text);
    }
    let outcome = stream.ended_with().await;
    slot.replace(Some(Heard { replayed, frames, ..Heard::of(outcome.http_status, &outcome.body) }));
}

impl Pending {
    /// The instance that it was sent to has not ended.
    pub fn lives(&self) -> bool {
        self.instance.alive()
    }

    /// The answer, when it is there.
    pub fn heard(&self) -> Option<Heard> {
        self.heard.borrow().clone()
    }
}

impl Heard {
    fn of(status: u16, text: &str) -> Self {
        let body = serde_json::from_str(text).unwrap();
        Self { status, body, text: text.to_owned(), replayed: false, frames: None }
    }

    /// `Result` of a success.
    pub fn result(&self) -> &Value {
        assert_eq!(self.body["Successful"], true, "{}", self.text);
        &self.body["Result"]
    }

    /// Status and code of a failure; 200 and nothing else.
    pub fn failure(&self) -> (u16, &str) {
        (self.status, self.body["Errors"][0]["ErrorCode"].as_str().unwrap_or_default())
    }

    /// `Details` of a failure.
    pub fn details(&self) -> &Value {
        &self.body["Errors"][0]["Details"]
    }

    /// The text of a final response.
    pub fn final_text(&self) -> &str {
        assert_eq!(self.result()["Kind"], "final", "{}", self.text);
        self.result()["PrimaryOutputText"].as_str().unwrap()
    }

    /// The ids of the calls that a continuation asks for.
    pub fn calls(&self) -> Vec<String> {
        assert_eq!(self.result()["Kind"], "client_tool_continuation", "{}", self.text);
        let calls = self.result()["ToolCalls"].as_array().unwrap();
        calls.iter().map(|call| call["ToolCallId"].as_str().unwrap().to_owned()).collect()
    }
}

fn begin_life(
    world: &Rc<World>,
    disk: &Rc<Disk>,
    number: u64,
    crash: Option<Crash>,
) -> (Rc<Instance>, Rc<Host>) {
    let instance = Instance::new(number, crash, Rc::clone(&world.executor));
    let platform = TestPlatform::new(Rc::clone(world), Rc::clone(&instance));
    let database = SqliteDatabase::new(Rc::clone(disk), Rc::clone(&instance));
    (instance, SessionHost::new(Rc::new(platform), database))
}

fn catalog_of(document: &Value) -> Rc<Catalog> {
    Rc::new(Catalog::parse(&document.to_string()).expect("the bed's catalog is right"))
}

fn shown(view: Result<impl Serialize, Fault>) -> Heard {
    let result = match view {
        Ok(view) => InvokeResult::success(view, Vec::new()),
        Err(fault) => fault.into(),
    };
    Heard::of(result.http_status(), &result.to_json())
}

fn session_id() -> SessionId {
    SessionId::parse("s").unwrap()
}

fn turn_id(turn: &str) -> TurnId {
    TurnId::parse(turn).unwrap()
}
