//! The surroundings of a session: clock, services, files, log and settings, which outlive every instance.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use aptix_edge::encoding::Jurisdiction;
use aptix_edge::entry::{UserHost, WorkspaceHost};
use aptix_edge::ports::{
    DataPoint, FileFault, HttpFault, HttpRequest, INNER_PROTOCOL, ObjectClass, OperatorCatalog,
};

use super::database::SqliteDatabase;
use super::embeddings_service::EmbeddingsService;
use super::executor::{Executor, Random};
use super::gateway::Host;
use super::mcp_lists::McpListsObject;
use super::mcp_service::McpService;
use super::model_service::ModelService;
use super::object::TestObject;
use super::placed::AskedObject;
use super::planned_model::planned;
use super::platform::TestPlatform;
use super::scripted_service::{HttpReply, ScriptedService};
use super::spans::Spans;
use super::tool_service::ToolService;
use super::webhook_receiver::WebhookReceiver;

/// Gives the reply to a request to any service; `None` when there is none, for as long as the caller waits.
pub type Player = dyn Fn(&HttpRequest) -> Option<Result<HttpReply, HttpFault>>;

/// A workspace's object.
pub type Workspace = TestObject<WorkspaceHost<TestPlatform, SqliteDatabase>>;

/// A user's object.
pub type UserObject = TestObject<UserHost<TestPlatform, SqliteDatabase>>;

/// A session's object, beside the one of a bed.
pub type SessionObject = TestObject<Host>;

/// The reply to come. In a box, so that the service's code is compiled with this crate and not again with each test.
pub type Asked = Pin<Box<dyn Future<Output = Result<String, HttpFault>>>>;

/// A request without its body.
pub struct RequestLine {
    pub url: String,
    pub headers: Vec<(String, String)>,
}

/// The surroundings that outlive every instance.
pub struct World {
    pub executor: Rc<Executor>,
    pub model: ModelService,
    /// The services behind URLs of the hosts `spare.example` and `third.example`.
    pub spare: ModelService,
    pub third: ModelService,
    /// Each request to the model service, deletions included.
    pub model_calls: RefCell<Vec<RequestLine>>,
    pub tools: ToolService,
    /// Each request to a tool over HTTP.
    pub tool_requests: RefCell<Vec<RequestLine>>,
    /// The server behind every URL with the path `/mcp`.
    pub mcp: McpService,
    /// The service behind every URL whose path ends in `/embeddings`.
    pub embeddings: EmbeddingsService,
    /// The receiver behind every URL of the host `hooks.example`.
    pub webhooks: WebhookReceiver,
    /// The tenant of the session's next instance.
    pub tenant: Cell<&'static str>,
    /// Every object that was asked, in the order of the requests.
    pub asked: RefCell<Vec<AskedObject>>,
    /// The runtime has jurisdictions.
    pub has_jurisdictions: Cell<bool>,
    /// The jurisdictions for which a bucket is bound, besides the one without.
    pub buckets: RefCell<Vec<Jurisdiction>>,
    /// The files of server tools, by key; behind `{jurisdiction}:` in the bucket of one.
    pub files: RefCell<BTreeMap<String, Vec<u8>>>,
    /// The files of the playground's page, by path.
    pub page_files: RefCell<BTreeMap<&'static str, &'static str>>,
    /// The time that a bucket takes for a file, in milliseconds.
    pub file_ms: Cell<u64>,
    /// The time that a bucket takes to delete files when it is asked next, in milliseconds.
    pub erasing_ms: Cell<u64>,
    /// When each was written last: R2 refuses a second write within a second.
    pub file_writes: RefCell<BTreeMap<String, u64>>,
    /// The failure of every attempt to store or delete a file.
    pub file_fault: Cell<Option<FileFault>>,
    pub log: RefCell<Vec<serde_json::Value>>,
    pub spans: Rc<Spans>,
    /// The data points; `None` where the deployment binds no place for them.
    pub metered: RefCell<Option<Vec<DataPoint>>>,
    /// No data point can be written.
    pub metering_fails: Cell<bool>,
    /// The rate limiter's verdict, and the keys it was asked about.
    pub rate: RefCell<Rate>,
    /// The operator's catalog.
    pub catalog: RefCell<OperatorCatalog>,
    /// The catalog cannot be read.
    pub catalog_fails: Cell<bool>,
    /// The objects of all workspaces that were used, by name.
    pub workspaces: RefCell<BTreeMap<String, Rc<Workspace>>>,
    /// The objects of all users that were asked, by name.
    pub users: RefCell<BTreeMap<String, Rc<UserObject>>>,
    /// The objects of all sessions that were asked, by name, but that of the bed's own session.
    pub sessions: RefCell<BTreeMap<String, Rc<SessionObject>>>,
    /// The objects that keep the tools of MCP servers, by name.
    pub mcp_lists: RefCell<BTreeMap<String, Rc<McpListsObject>>>,
    /// The deployment binds objects of users.
    pub has_users: Cell<bool>,
    /// Requests from sessions to other objects fail.
    pub objects_fail: Cell<bool>,
    /// The class of objects of which the one that is asked next begins again instead of responding.
    pub begins_again: Cell<Option<ObjectClass>>,
    /// After how many milliseconds it does.
    pub begins_again_after_ms: Cell<u64>,
    /// The inner protocol of the Worker in front, and that in which objects ask each other.
    pub door_protocol: Cell<u32>,
    pub objects_protocol: Cell<u32>,
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
    /// Whether a step that is tested alone may log.
    pub steps_log: Cell<bool>,
    /// The longest piece in which a service takes a body.
    pub piece_bytes: Cell<usize>,
    /// The pieces of bodies that services have taken.
    pub pieces: Cell<usize>,
    /// How often an object has let the other requests of its isolate run.
    pub yields: Cell<u32>,
    pub(crate) random: RefCell<Random>,
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
        let [spare, third] = [1_000, 2_000].map(|number| {
            // No two services give the same id.
            let service = ModelService::new(Box::new(planned));
            service.numbers.set(number);
            service
        });
        Self {
            executor,
            secrets: RefCell::default(),
            tool_requests: RefCell::default(),
            spans: Rc::default(),
            metered: RefCell::default(),
            metering_fails: Cell::default(),
            session: RefCell::new("s".to_owned()),
            player: RefCell::default(),
            scripted_service,
            steps_log: Cell::new(false),
            model: ModelService::new(Box::new(planned)),
            spare,
            third,
            model_calls: RefCell::default(),
            tools: ToolService::default(),
            mcp: McpService::default(),
            embeddings: EmbeddingsService::default(),
            webhooks: WebhookReceiver::default(),
            tenant: Cell::new("local"),
            asked: RefCell::default(),
            has_jurisdictions: Cell::new(true),
            buckets: RefCell::default(),
            files: RefCell::default(),
            page_files: RefCell::default(),
            file_writes: RefCell::default(),
            file_fault: Cell::new(None),
            file_ms: Cell::default(),
            erasing_ms: Cell::default(),
            log: RefCell::default(),
            rate: RefCell::new(Rate { within: Ok(true), asked: Vec::new() }),
            catalog: RefCell::new(OperatorCatalog::NoNamespace),
            catalog_fails: Cell::new(false),
            workspaces: RefCell::default(),
            users: RefCell::default(),
            sessions: RefCell::default(),
            mcp_lists: RefCell::default(),
            has_users: Cell::new(true),
            objects_fail: Cell::new(false),
            begins_again: Cell::new(None),
            begins_again_after_ms: Cell::new(0),
            door_protocol: Cell::new(INNER_PROTOCOL),
            objects_protocol: Cell::new(INNER_PROTOCOL),
            alarm_at: Rc::default(),
            alarm_fails: Cell::new(false),
            piece_bytes: Cell::new(256 * 1024),
            pieces: Cell::new(0),
            yields: Cell::new(0),
            random: RefCell::new(Random(1)),
            slow: Cell::new(false),
            late_bodies: Cell::new(false),
        }
    }

    /// Lets go of all tasks and objects. Each of them holds the world, so neither would ever be freed.
    pub fn end(&self) {
        self.executor.drop_tasks();
        self.sessions.take();
        self.users.take();
        self.workspaces.take();
        self.mcp_lists.take();
        self.player.take();
    }

    /// The model service behind a URL.
    pub fn service(&self, url: &str) -> &ModelService {
        match url {
            _ if url.starts_with("https://spare.example/") => &self.spare,
            _ if url.starts_with("https://third.example/") => &self.third,
            _ => &self.model,
        }
    }

    /// The object of the workspace `name`.
    pub fn workspace(&self, name: &str) -> Rc<Workspace> {
        let mut workspaces = self.workspaces.borrow_mut();
        let new = || Rc::new(Workspace::new(name));
        Rc::clone(workspaces.entry(name.to_owned()).or_insert_with(new))
    }

    /// The object of the user `name`: `{tenant}/~{user}`.
    pub fn user(&self, name: &str) -> Rc<UserObject> {
        let mut users = self.users.borrow_mut();
        let new = || Rc::new(UserObject::new(name));
        Rc::clone(users.entry(name.to_owned()).or_insert_with(new))
    }

    /// The object of the session `name`: `{tenant}/~{user}/{SessionId}`.
    pub fn session(&self, name: &str) -> Rc<SessionObject> {
        let mut sessions = self.sessions.borrow_mut();
        let new = || Rc::new(SessionObject::new(name));
        Rc::clone(sessions.entry(name.to_owned()).or_insert_with(new))
    }

    /// What the object of the session `name` replies to a question.
    pub fn ask_session(self: &Rc<Self>, name: &str, path: &str, body: String) -> Asked {
        let (world, session, path) = (Rc::clone(self), self.session(name), path.to_owned());
        Box::pin(async move { session.reply(&world, &path, body).await })
    }

    /// What the object of the user `name` replies to a question.
    pub fn ask_user(self: &Rc<Self>, name: &str, path: &str, body: String) -> Asked {
        let (world, user, path) = (Rc::clone(self), self.user(name), path.to_owned());
        Box::pin(async move { user.reply(&world, &path, body).await })
    }

    /// The object `name` that keeps the tools of a server.
    pub(super) fn lists(self: &Rc<Self>, name: &str) -> Rc<McpListsObject> {
        let mut lists = self.mcp_lists.borrow_mut();
        let new = || Rc::new(McpListsObject::new(self, name));
        Rc::clone(lists.entry(name.to_owned()).or_insert_with(new))
    }

    /// Panics when a step that is tested alone does `what`.
    pub(crate) fn beside_a_step(&self, what: &str) {
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
