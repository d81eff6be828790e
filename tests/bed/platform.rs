//! `Platform` over the executor, with the model service and the tools behind `send`.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use aptix_edge::entry::{Body, ContextSource, PlainResponse, RequestHead};
use aptix_edge::ports::{
    FileFault, HttpFault, HttpMethod, HttpRequest, HttpResponse, KeptCatalog, ObjectClass,
    ObjectIdentity, ObjectQuestion, Platform, RequestBody, ResponseBody, storage_failed,
};

use super::embeddings_service::EmbeddingsService;
use super::executor::{Executor, Random};
use super::instance::Instance;
use super::mcp_lists::McpListsObject;
use super::mcp_service::McpService;
use super::model_service::ModelService;
use super::planned_model::planned;
use super::reply::{Connection, Reply};
use super::scripted_service::{HttpReply, Piece, ScriptedService};
use super::told::Told;
use super::tool_service::{ToolAnswer, ToolService};
use super::workspace::Workspace;

/// Gives the reply to a request to any service; `None` when there is none, for as long as the caller waits.
pub type Player = dyn Fn(&HttpRequest) -> Option<Result<HttpReply, HttpFault>>;

/// A request without its body.
pub struct RequestLine {
    pub url: String,
    pub headers: Vec<(String, String)>,
}

/// The surroundings that outlive every instance.
pub struct World {
    pub executor: Rc<Executor>,
    pub model: ModelService,
    /// Each request to the model service, deletions included.
    pub model_calls: RefCell<Vec<RequestLine>>,
    pub tools: ToolService,
    /// The server behind every URL with the path `/mcp`.
    pub mcp: McpService,
    /// The service behind every URL whose path ends in `/embeddings`.
    pub embeddings: EmbeddingsService,
    /// The tenant of the session's next instance.
    pub tenant: Cell<&'static str>,
    /// The files of server tools, by key.
    pub files: RefCell<BTreeMap<String, Vec<u8>>>,
    /// The files of the playground's page, by path.
    pub page_files: RefCell<BTreeMap<&'static str, &'static str>>,
    /// The failure of every attempt to store or delete a file.
    pub file_fault: Cell<Option<FileFault>>,
    pub log: RefCell<Vec<serde_json::Value>>,
    /// The rate limiter's verdict, and the keys it was asked about.
    pub rate: RefCell<Rate>,
    /// The operator's catalog.
    pub catalog: RefCell<KeptCatalog>,
    /// The objects of all workspaces that were used, by name.
    pub workspaces: RefCell<BTreeMap<String, Rc<Workspace>>>,
    /// The objects that keep the tools of MCP servers, by name.
    pub mcp_lists: RefCell<BTreeMap<String, Rc<McpListsObject>>>,
    /// Requests from sessions to other objects fail.
    pub objects_fail: Cell<bool>,
    /// The time of the session's next alarm.
    pub alarm_at: Rc<Cell<Option<u64>>>,
    /// Setting an alarm fails.
    pub alarm_fails: Cell<bool>,
    /// The values of the deployment's secrets and variables.
    pub secrets: RefCell<BTreeMap<&'static str, String>>,
    /// The id of the one session.
    pub session: RefCell<String>,
    /// Replaces the model service and all tools.
    pub player: RefCell<Option<Rc<Player>>>,
    /// Replaces every service when a step is tested alone.
    pub scripted_service: Option<ScriptedService>,
    /// The longest piece in which a service takes a body.
    pub piece_bytes: Cell<usize>,
    /// The pieces of bodies that services have taken.
    pub pieces: Cell<usize>,
    random: RefCell<Random>,
    /// Set to delay every response by a time that the seed determines.
    slow: Cell<bool>,
    /// Set to delay requests with a body, and the bodies, in the same way.
    pub late_bodies: Cell<bool>,
}

/// The rate limiter.
pub struct Rate {
    pub within: Result<bool, HttpFault>,
    pub asked: Vec<String>,
}

/// One instance's view of the world.
pub struct TestPlatform {
    world: Rc<World>,
    instance: Rc<Instance>,
    identity: ObjectIdentity,
    /// The time of its object's next alarm.
    alarm_at: Rc<Cell<Option<u64>>>,
}

/// A response body, with the chunks that are still to come.
pub struct TestBody {
    world: Rc<World>,
    coming: VecDeque<Piece>,
    /// The end of the current wait.
    until: Option<u64>,
    /// Chunks that came one after the other are returned together.
    gathers: bool,
    /// Set for the model service. The call stays open until its body is read to the end or dropped.
    call: Option<OpenCall>,
    told: Option<Told>,
}

/// A call to the model service that has not ended. Dropping it aborts the call.
struct OpenCall(Rc<World>);

impl World {
    pub fn new() -> Rc<Self> {
        let executor = Rc::new(Executor::default());
        // 2026-01-02T03:04:05.678Z
        executor.set_now_ms(1_767_323_045_678);
        let secrets = [
            ("OPENAI_API_KEY", "sk-test"),
            ("FILE_LINK_KEY", "signs links"),
            ("AUTH", "none"),
            ("OPENAI_BASE_URL", "https://model.example/v1"),
        ];
        let secrets = secrets.map(|(name, value)| (name, value.to_owned()));
        Rc::new(Self { secrets: RefCell::new(secrets.into()), ..Self::empty(executor, None) })
    }

    /// An empty world with a clock at 0 and one scripted service.
    pub fn of_one_step(service: ScriptedService) -> Rc<Self> {
        Rc::new(Self::empty(Rc::default(), Some(service)))
    }

    fn empty(executor: Rc<Executor>, scripted_service: Option<ScriptedService>) -> Self {
        Self {
            executor,
            secrets: RefCell::default(),
            session: RefCell::new("s".to_owned()),
            player: RefCell::default(),
            scripted_service,
            model: ModelService::new(Box::new(planned)),
            model_calls: RefCell::default(),
            tools: ToolService::default(),
            mcp: McpService::default(),
            embeddings: EmbeddingsService::default(),
            tenant: Cell::new("local"),
            files: RefCell::default(),
            page_files: RefCell::default(),
            file_fault: Cell::new(None),
            log: RefCell::default(),
            rate: RefCell::new(Rate { within: Ok(true), asked: Vec::new() }),
            catalog: RefCell::new(KeptCatalog::NoPlace),
            workspaces: RefCell::default(),
            mcp_lists: RefCell::default(),
            objects_fail: Cell::new(false),
            alarm_at: Rc::default(),
            alarm_fails: Cell::new(false),
            piece_bytes: Cell::new(256 * 1024),
            pieces: Cell::new(0),
            random: RefCell::new(Random(1)),
            slow: Cell::new(false),
            late_bodies: Cell::new(false),
        }
    }

    /// The object of the workspace `name`.
    pub fn workspace(&self, name: &str) -> Rc<Workspace> {
        let mut workspaces = self.workspaces.borrow_mut();
        let new = || Rc::new(Workspace::new(name));
        Rc::clone(workspaces.entry(name.to_owned()).or_insert_with(new))
    }

    /// The object `name` that keeps the tools of a server.
    fn lists(self: &Rc<Self>, name: &str) -> Rc<McpListsObject> {
        let mut lists = self.mcp_lists.borrow_mut();
        let new = || Rc::new(McpListsObject::new(self, name));
        Rc::clone(lists.entry(name.to_owned()).or_insert_with(new))
    }

    /// Panics when a step that is tested alone does `what`.
    fn beside_a_step(&self, what: &str) {
        assert!(self.scripted_service.is_none(), "a step {what}");
    }

    /// From now on the seed determines the order of tasks and all delays.
    pub fn shake(&self, seed: u64) {
        self.executor.shuffle(seed);
        self.random.replace(Random(seed ^ 0x5eed));
        self.slow.set(true);
    }

    /// The delay of the next operation.
    pub fn delay_ms(&self) -> u64 {
        let mut random = self.random.borrow_mut();
        if self.slow.get() && random.chance(60) { random.below(40) } else { 0 }
    }
}

impl TestPlatform {
    pub fn new(
        world: Rc<World>,
        instance: Rc<Instance>,
        identity: ObjectIdentity,
        alarm_at: Rc<Cell<Option<u64>>>,
    ) -> Self {
        Self { world, instance, identity, alarm_at }
    }

    /// The view of an instance of the one session.
    pub fn of_session(world: Rc<World>, instance: Rc<Instance>) -> Self {
        let name = format!("{}/{}", world.tenant.get(), world.session.borrow());
        let identity = ObjectIdentity::new(ObjectClass::Session, Some(name));
        let alarm_at = Rc::clone(&world.alarm_at);
        Self::new(world, instance, identity, alarm_at)
    }

    async fn ask_model(&self, body: &str) -> Result<HttpResponse<TestBody>, HttpFault> {
        let call = OpenCall::new(&self.world);
        self.pause().await;
        let (reply, rendered) = self.world.model.take(body);
        self.pause().await;
        match reply {
            Reply::Unreachable => {
                call.ended();
                Err(HttpFault("connection refused".to_owned()))
            }
            Reply::Silence => std::future::pending().await,
            Reply::Http(reply) => Ok(self.http_response(reply, Some(call)).await),
            Reply::Answer(answer) => {
                let rendered = rendered.expect("a response was rendered");
                let whole = if answer.as_json {
                    rendered.response.to_string()
                } else {
                    rendered.events.concat()
                };
                let chunks: Vec<Vec<u8>> = match answer.chunk_bytes {
                    Some(bytes) => whole.as_bytes().chunks(bytes).map(<[u8]>::to_vec).collect(),
                    None if answer.as_json => vec![whole.into_bytes()],
                    None => {
                        rendered.events.iter().map(|event| event.clone().into_bytes()).collect()
                    }
                };
                let (count, end) = match answer.connection {
                    Connection::Whole => (chunks.len(), None),
                    Connection::Ends(count) => (count, None),
                    Connection::Breaks(count) => (count, Some(Piece::Broken)),
                    Connection::Silent(count) => (count, Some(Piece::EndlessSilence)),
                };
                let mut coming = VecDeque::new();
                for chunk in chunks.into_iter().take(count) {
                    coming.push_back(Piece::Silence(answer.pause_ms + self.world.delay_ms()));
                    coming.push_back(Piece::Bytes(chunk));
                }
                coming.extend(end);
                let kind = if answer.as_json { "application/json" } else { "text/event-stream" };
                let headers = vec![
                    ("content-type".to_owned(), kind.to_owned()),
                    ("x-request-id".to_owned(), "req_1".to_owned()),
                ];
                let mut response = self.response(200, headers, coming, Some(call));
                let told = Told::nothing(&self.world, body, &rendered.response, answer.as_json);
                response.body.told = Some(told);
                Ok(response)
            }
        }
    }

    /// A request's body as it comes to a service, piece by piece.
    async fn received(&self, body: impl RequestBody) -> Result<String, HttpFault> {
        let (mut received, most) = (Vec::new(), self.world.piece_bytes.get());
        while received.len() < body.length() {
            let piece = body.piece(received.len(), most).filter(|piece| !piece.is_empty());
            let piece = piece.ok_or_else(|| HttpFault("the body broke off".to_owned()))?;
            assert!(piece.len() <= most, "a piece is too long");
            received.extend(piece);
            self.world.pieces.set(self.world.pieces.get() + 1);
            if received.len() < body.length() {
                self.world.executor.sleep(1 + self.world.delay_ms()).await;
            }
        }
        assert_eq!(received.len(), body.length(), "the announced length");
        Ok(String::from_utf8(received).expect("a body is text"))
    }

    async fn delete_response(&self, url: &str) -> HttpResponse<TestBody> {
        self.pause().await;
        let id = url.rsplit('/').next().expect("an id stands at the end");
        let status = self.world.model.delete(id);
        self.pause().await;
        self.response(status, Vec::new(), VecDeque::new(), None)
    }

    async fn ask_tool(&self, body: &str) -> Result<HttpResponse<TestBody>, HttpFault> {
        self.pause().await;
        let answer = self.world.tools.take(body);
        self.pause().await;
        let (status, text) = match answer {
            ToolAnswer::Json(json) => (200, json.to_string()),
            ToolAnswer::Status(status) => (status, String::new()),
            ToolAnswer::Never => std::future::pending().await,
        };
        Ok(self.response(
            status,
            Vec::new(),
            VecDeque::from([Piece::Bytes(text.into_bytes())]),
            None,
        ))
    }

    async fn http_response(
        &self,
        reply: HttpReply,
        call: Option<OpenCall>,
    ) -> HttpResponse<TestBody> {
        self.world.executor.sleep(reply.head_after_ms).await;
        self.response(reply.status, reply.headers, reply.body, call)
    }

    fn response(
        &self,
        status: u16,
        headers: Vec<(String, String)>,
        coming: VecDeque<Piece>,
        call: Option<OpenCall>,
    ) -> HttpResponse<TestBody> {
        HttpResponse {
            status,
            headers,
            body: TestBody {
                world: Rc::clone(&self.world),
                coming,
                until: None,
                gathers: false,
                call,
                told: None,
            },
        }
    }

    async fn pause(&self) {
        let ms = self.world.delay_ms();
        self.world.executor.sleep(ms).await;
    }
}

impl Platform for TestPlatform {
    type Body = TestBody;

    fn now_ms(&self) -> u64 {
        self.world.executor.now_ms()
    }

    fn random(&self) -> f64 {
        self.world.random.borrow_mut().below(1 << 20) as f64 / (1_u64 << 20) as f64
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.world.secrets.borrow().get(name).cloned()
    }

    fn sleep(&self, ms: u64) -> impl Future<Output = ()> {
        self.world.executor.sleep(ms)
    }

    async fn send(
        &self,
        request: HttpRequest<impl RequestBody>,
    ) -> Result<HttpResponse<TestBody>, HttpFault> {
        if !self.instance.alive() {
            return std::future::pending().await;
        }
        let HttpRequest { method, url, headers, body, reads } = request;
        let body = self.received(body).await?;
        let request = HttpRequest { method, url, headers, body, reads };
        let player = self.world.player.borrow().clone();
        if let Some(player) = player {
            return match player(&request) {
                Some(reply) => Ok(self.http_response(reply?, None).await),
                None => std::future::pending().await,
            };
        }
        if let Some(service) = &self.world.scripted_service {
            return Ok(self.http_response(service.take(request)?, None).await);
        }
        let path = request.url.split('?').next().unwrap_or_default();
        if path.ends_with("/mcp") {
            self.pause().await;
            return match self.world.mcp.take(&request) {
                Some(reply) => Ok(self.http_response(reply, None).await),
                None => std::future::pending().await,
            };
        }
        if path.ends_with("/embeddings") {
            let reply = self.world.embeddings.take(&request);
            self.pause().await;
            return match reply {
                Some(reply) => Ok(self.http_response(reply?, None).await),
                None => std::future::pending().await,
            };
        }
        if !path.contains("/responses") {
            return self.ask_tool(&request.body).await;
        }
        let line = RequestLine { url: request.url.clone(), headers: request.headers };
        self.world.model_calls.borrow_mut().push(line);
        match request.method {
            HttpMethod::Delete => Ok(self.delete_response(path).await),
            HttpMethod::Get | HttpMethod::Post => self.ask_model(&request.body).await,
        }
    }

    async fn ask_object(
        &self,
        name: &str,
        question: ObjectQuestion,
        body: String,
    ) -> Result<String, HttpFault> {
        self.pause().await;
        if self.world.objects_fail.get() {
            return Err(HttpFault("there is no such object".to_owned()));
        }
        let workspace = match question.class() {
            ObjectClass::Workspace => self.world.workspace(name),
            ObjectClass::McpLists => return Ok(self.world.lists(name).reply(&body).await),
            ObjectClass::Session => return Err(HttpFault("no session is asked".to_owned())),
        };
        let url = format!("https://object{}", question.path());
        let head = RequestHead { method: "POST", url: &url, header: &|_| None };
        let (source, body) = (ContextSource::default(), ready(Ok(body.into_bytes())));
        let response: Pin<Box<dyn Future<Output = Result<PlainResponse, HttpFault>> + '_>> =
            Box::pin(workspace.response(&self.world, &source, &head, body));
        match response.await?.body {
            Body::Json(text) => Ok(text.to_string()),
            Body::Empty | Body::Stream(_) => Err(HttpFault("the index says nothing".to_owned())),
        }
    }

    fn tenant(&self) -> Option<&str> {
        self.identity.tenant()
    }

    fn object_id(&self) -> String {
        "0b".repeat(32)
    }

    async fn keep_file(&self, key: &str, contents: Vec<u8>) -> Result<(), FileFault> {
        if let Some(fault) = self.world.file_fault.get() {
            return Err(fault);
        }
        self.pause().await;
        self.world.files.borrow_mut().insert(key.to_owned(), contents);
        self.pause().await;
        Ok(())
    }

    async fn erase_files(&self, folder: &str) -> Result<u64, FileFault> {
        self.world.beside_a_step("erases files");
        self.pause().await;
        if let Some(fault) = self.world.file_fault.get() {
            return Err(fault);
        }
        let mut files = self.world.files.borrow_mut();
        let before = files.len();
        files.retain(|key, _| !key.starts_with(folder));
        Ok((before - files.len()) as u64)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>) {
        self.world.beside_a_step("starts a task");
        if self.instance.alive() {
            self.world.executor.spawn(self.instance.number, task);
        }
    }

    async fn durable(&self) {
        self.world.beside_a_step("stores something");
        self.pause().await;
        if !self.instance.alive() {
            std::future::pending::<()>().await;
        }
    }

    async fn kept_catalog(&self) -> Result<KeptCatalog, HttpFault> {
        Ok(self.world.catalog.borrow().clone())
    }

    fn set_alarm(&self, at_ms: u64) -> Result<(), aptix_edge::contract::Fault> {
        if self.world.alarm_fails.get() || !self.instance.alive() {
            return Err(storage_failed());
        }
        self.alarm_at.set(Some(at_ms));
        Ok(())
    }

    async fn free_storage(&self) -> Result<(), aptix_edge::contract::Fault> {
        // What is erased has no rows left; the alarm goes, too.
        self.alarm_at.set(None);
        Ok(())
    }

    async fn idle(&self) {
        self.pause().await;
    }

    async fn breathe(&self) {}

    fn log(&self, mut line: serde_json::Value) {
        self.world.beside_a_step("logs");
        self.identity.sign(&mut line);
        self.world.log.borrow_mut().push(line);
    }
}

impl ResponseBody for TestBody {
    async fn chunk(&mut self, _: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        self.wait_over(0).await;
        let next = self.coming.pop_front();
        match next {
            Some(Piece::Bytes(mut chunk)) => {
                while self.gathers
                    && let Some(Piece::Bytes(more)) = self.coming.front()
                {
                    chunk.extend_from_slice(more);
                    self.coming.pop_front();
                }
                if self.coming.is_empty() {
                    self.end();
                }
                if let Some(told) = &mut self.told {
                    told.read(&chunk);
                }
                Ok(Some(chunk))
            }
            Some(Piece::Broken) => {
                self.end();
                if let Some(told) = &mut self.told {
                    told.end(true);
                }
                Err(HttpFault("connection reset".to_owned()))
            }
            Some(Piece::EndlessSilence) => std::future::pending().await,
            Some(Piece::Silence(_)) | None => {
                self.end();
                if let Some(told) = &mut self.told {
                    told.end(false);
                }
                Ok(None)
            }
        }
    }

    fn gather(&mut self) {
        self.gathers = true;
    }

    async fn gathered(&mut self) -> bool {
        let mut there = 0;
        loop {
            self.wait_over(there).await;
            match self.coming.get(there) {
                Some(Piece::Bytes(_)) => there += 1,
                Some(Piece::Silence(_)) => {}
                Some(Piece::Broken) => return false,
                Some(Piece::EndlessSilence) => std::future::pending().await,
                None => return true,
            }
        }
    }

    fn finish(mut self) {
        self.end();
    }
}

impl TestBody {
    /// Waits until the silence at `at` is over. Dropping the future loses nothing.
    async fn wait_over(&mut self, at: usize) {
        while let Some(Piece::Silence(ms)) = self.coming.get(at) {
            let executor = &self.world.executor;
            let until = *self.until.get_or_insert(executor.now_ms() + ms);
            executor.sleep(until.saturating_sub(executor.now_ms())).await;
            self.coming.remove(at);
            self.until = None;
        }
    }

    fn end(&mut self) {
        if let Some(call) = self.call.take() {
            call.ended();
        }
    }
}

impl OpenCall {
    fn new(world: &Rc<World>) -> Self {
        let model = &world.model;
        model.open.set(model.open.get() + 1);
        model.most_open.set(model.most_open.get().max(model.open.get()));
        Self(Rc::clone(world))
    }

    fn ended(self) {
        let aborted = &self.0.model.aborted;
        // The drop below counts the call as aborted, which this one was not.
        aborted.set(aborted.get().wrapping_sub(1));
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let model = &self.0.model;
        model.open.set(model.open.get() - 1);
        model.aborted.set(model.aborted.get().wrapping_add(1));
    }
}
