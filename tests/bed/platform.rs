//! The machine of the test bed: `Platform` over the executor, with both services behind `send`.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use aptix_edge::ports::{
    FileFault, HttpFault, HttpMethod, HttpRequest, HttpResponse, Platform, ResponseBody,
};

use super::executor::{Executor, Random};
use super::instance::Instance;
use super::model_service::ModelService;
use super::planned_model::planned;
use super::reply::{Connection, Reply};
use super::tool_service::{ToolAnswer, ToolService};

/// What is there whatever becomes of an instance.
pub(crate) struct World {
    pub(crate) executor: Rc<Executor>,
    pub(crate) model: ModelService,
    pub(crate) tools: ToolService,
    pub(crate) workspaces: RefCell<Workspaces>,
    /// What server tools made, by its key.
    pub(crate) files: RefCell<BTreeMap<String, Vec<u8>>>,
    /// Why no file can be kept or deleted.
    pub(crate) file_fault: Cell<Option<FileFault>>,
    pub(crate) log: RefCell<Vec<serde_json::Value>>,
    random: RefCell<Random>,
    /// Set to let every answer take a while, as the seed decides.
    slow: Cell<bool>,
}

/// The tenant's workspaces: what is asked of them, and what they answer; nothing is a failure.
#[derive(Default)]
pub(crate) struct Workspaces {
    pub(crate) searches: Vec<(String, String)>,
    pub(crate) answer: Option<String>,
}

/// The machine as one instance has it.
pub(crate) struct TestPlatform {
    world: Rc<World>,
    instance: Rc<Instance>,
}

/// A response's body, with the chunks that are still to come.
pub(crate) struct TestBody {
    world: Rc<World>,
    coming: VecDeque<Coming>,
    /// When the wait ends that stands next.
    until: Option<u64>,
    /// Of the model service; a call is open for as long as its body is neither read nor dropped.
    call: Option<OpenCall>,
}

enum Coming {
    Chunk(Vec<u8>),
    Wait(u64),
    Break,
    Silence,
}

/// A call to the model service that has not ended. Dropping it gives the call up.
struct OpenCall(Rc<World>);

impl World {
    pub(crate) fn new() -> Rc<Self> {
        let executor = Rc::new(Executor::default());
        // 2026-01-02T03:04:05.678Z
        executor.set_now_ms(1_767_323_045_678);
        Rc::new(Self {
            executor,
            model: ModelService::new(Box::new(planned)),
            tools: ToolService::default(),
            workspaces: RefCell::default(),
            files: RefCell::default(),
            file_fault: Cell::new(None),
            log: RefCell::default(),
            random: RefCell::new(Random(1)),
            slow: Cell::new(false),
        })
    }

    /// From here on the order of tasks, and how long things take, is what the seed makes it.
    pub(crate) fn shake(&self, seed: u64) {
        self.executor.shuffle(seed);
        self.random.replace(Random(seed ^ 0x5eed));
        self.slow.set(true);
    }

    /// How long the next thing takes.
    pub(crate) fn delay_ms(&self) -> u64 {
        let mut random = self.random.borrow_mut();
        if self.slow.get() && random.chance(60) { random.below(40) } else { 0 }
    }
}

impl TestPlatform {
    pub(crate) fn new(world: Rc<World>, instance: Rc<Instance>) -> Self {
        Self { world, instance }
    }

    async fn ask_model(&self, body: &str) -> Result<HttpResponse<TestBody>, HttpFault> {
        let call = OpenCall::new(&self.world);
        self.pause().await;
        let (reply, told) = self.world.model.take(body);
        self.pause().await;
        match reply {
            Reply::Unreachable => {
                call.ended();
                Err(HttpFault("connection refused".to_owned()))
            }
            Reply::Silence => std::future::pending().await,
            Reply::Http { status, headers, chunks } => {
                let coming = chunks.into_iter().map(Coming::Chunk).collect();
                Ok(self.response(status, headers, coming, Some(call)))
            }
            Reply::Answer(answer) => {
                let told = told.expect("an answer was told");
                let whole =
                    if answer.as_json { told.response.to_string() } else { told.events.concat() };
                let chunks: Vec<Vec<u8>> = match answer.chunk_bytes {
                    Some(bytes) => whole.as_bytes().chunks(bytes).map(<[u8]>::to_vec).collect(),
                    None if answer.as_json => vec![whole.into_bytes()],
                    None => told.events.into_iter().map(String::into_bytes).collect(),
                };
                let (count, end) = match answer.connection {
                    Connection::Whole => (chunks.len(), None),
                    Connection::Ends(count) => (count, None),
                    Connection::Breaks(count) => (count, Some(Coming::Break)),
                    Connection::Silent(count) => (count, Some(Coming::Silence)),
                };
                let mut coming = VecDeque::new();
                for chunk in chunks.into_iter().take(count) {
                    coming.push_back(Coming::Wait(answer.pause_ms + self.world.delay_ms()));
                    coming.push_back(Coming::Chunk(chunk));
                }
                coming.extend(end);
                let kind = if answer.as_json { "application/json" } else { "text/event-stream" };
                let headers = vec![
                    ("content-type".to_owned(), kind.to_owned()),
                    ("x-request-id".to_owned(), "req_1".to_owned()),
                ];
                Ok(self.response(200, headers, coming, Some(call)))
            }
        }
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
            VecDeque::from([Coming::Chunk(text.into_bytes())]),
            None,
        ))
    }

    fn response(
        &self,
        status: u16,
        headers: Vec<(String, String)>,
        coming: VecDeque<Coming>,
        call: Option<OpenCall>,
    ) -> HttpResponse<TestBody> {
        HttpResponse {
            status,
            headers,
            body: TestBody { world: Rc::clone(&self.world), coming, until: None, call },
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
        let held = [("OPENAI_API_KEY", "sk-test"), ("FILE_LINK_KEY", "signs links")];
        held.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn sleep(&self, ms: u64) -> impl Future<Output = ()> {
        self.world.executor.sleep(ms)
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<TestBody>, HttpFault> {
        if !self.instance.alive() {
            return std::future::pending().await;
        }
        if request.method == HttpMethod::Delete {
            return Ok(self.delete_response(&request.url).await);
        }
        if request.url.ends_with("/responses") {
            self.ask_model(&request.body).await
        } else {
            self.ask_tool(&request.body).await
        }
    }

    async fn search_workspace(
        &self,
        workspace_id: &str,
        search: String,
    ) -> Result<String, HttpFault> {
        self.pause().await;
        self.world.workspaces.borrow_mut().searches.push((workspace_id.to_owned(), search));
        let answer = self.world.workspaces.borrow().answer.clone();
        answer.ok_or_else(|| HttpFault("there is no workspace".to_owned()))
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
        if self.instance.alive() {
            self.world.executor.spawn(self.instance.number, task);
        }
    }

    async fn durable(&self) {
        self.pause().await;
        if !self.instance.alive() {
            std::future::pending::<()>().await;
        }
    }

    fn log(&self, line: serde_json::Value) {
        self.world.log.borrow_mut().push(line);
    }
}

impl ResponseBody for TestBody {
    async fn chunk(&mut self, _: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        self.wait_over(0).await;
        let next = self.coming.pop_front();
        match next {
            Some(Coming::Chunk(chunk)) => {
                if self.coming.is_empty() {
                    self.end();
                }
                Ok(Some(chunk))
            }
            Some(Coming::Break) => {
                self.end();
                Err(HttpFault("connection reset".to_owned()))
            }
            Some(Coming::Silence) => std::future::pending().await,
            Some(Coming::Wait(_)) | None => {
                self.end();
                Ok(None)
            }
        }
    }

    async fn arrived(&mut self) -> bool {
        let mut there = 0;
        loop {
            self.wait_over(there).await;
            match self.coming.get(there) {
                Some(Coming::Chunk(_)) => there += 1,
                Some(Coming::Wait(_)) => {}
                Some(Coming::Break) => return false,
                Some(Coming::Silence) => std::future::pending().await,
                None => return true,
            }
        }
    }

    fn attend(&mut self) {}

    fn finish(mut self) {
        self.end();
    }
}

impl TestBody {
    /// Waits for the end of the wait that stands at a place; giving it up loses nothing.
    async fn wait_over(&mut self, at: usize) {
        while let Some(Coming::Wait(ms)) = self.coming.get(at) {
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
        // Dropping counts every call as given up; this one was not.
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
