//! `Platform` over the executor, with the model service and the tools behind `send`.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use aptix_edge::encoding::Jurisdiction;
use aptix_edge::entry::{IsolateSettings, PlainResponse, RequestHead};
use aptix_edge::ports::{
    DataPoint, FileFault, HttpFault, HttpMethod, HttpRequest, HttpResponse, Machine, ObjectClass,
    ObjectIdentity, ObjectQuestion, OperatorCatalog, Platform, RequestBody, storage_failed,
};

use serde_json::{Value, json};

use super::instance::Instance;
use super::model_service::ModelService;
use super::object::{asked_by, reply_in};
use super::reply::{Connection, Reply};
use super::response_body::{OpenCall, TestBody};
use super::scripted_service::{HttpReply, Piece};
use super::spans::HeldSpan;
use super::told::Told;
use super::tool_service::ToolAnswer;
use super::world::{RequestLine, World};

/// One instance's view of the world.
pub struct TestPlatform {
    world: Rc<World>,
    instance: Rc<Instance>,
    identity: ObjectIdentity,
    /// Its key among the world's objects.
    key: String,
    /// The time of its object's next alarm.
    alarm_at: Rc<Cell<Option<u64>>>,
}

impl TestPlatform {
    pub fn new(
        world: Rc<World>,
        instance: Rc<Instance>,
        (class, key): (ObjectClass, &str),
        alarm_at: Rc<Cell<Option<u64>>>,
    ) -> Self {
        let identity = world.identity(class, key);
        Self { world, instance, identity, key: key.to_owned(), alarm_at }
    }

    /// The view of an instance of the one session.
    pub fn of_session(world: Rc<World>, instance: Rc<Instance>) -> Self {
        let name = format!("{}/{}", world.tenant.get(), world.session.borrow());
        let alarm_at = Rc::clone(&world.alarm_at);
        Self::new(world, instance, (ObjectClass::Session, &name), alarm_at)
    }

    async fn ask_model(
        &self,
        model: &ModelService,
        body: &str,
    ) -> Result<HttpResponse<TestBody>, HttpFault> {
        let mut call = OpenCall::new(&self.world, &self.instance);
        self.pause().await;
        let bills = self.world.model.bills.borrow().len();
        let (reply, rendered) = model.take(body);
        call.bill = (self.world.model.bills.borrow().len() > bills).then_some(bills);
        self.pause().await;
        match reply {
            Reply::Unreachable => {
                call.ended();
                Err(HttpFault::Lost("connection refused".to_owned()))
            }
            Reply::Silence => std::future::pending().await,
            Reply::Http(reply) => Ok(self.http_response(reply, Some(call)).await),
            Reply::Recorded(_) => unreachable!("the service plays its recordings"),
            Reply::Answer(answer) => {
                let rendered = rendered.expect("a response was rendered");
                let request: Value = serde_json::from_str(body).unwrap();
                if request["background"] == true {
                    model.background.begin(&rendered, &answer, self.now_ms());
                }
                let whole = if answer.as_json {
                    rendered.response.to_string()
                } else {
                    rendered.events.concat()
                };
                let mut chunks: Vec<Vec<u8>> = match answer.chunk_bytes {
                    Some(bytes) => whole.as_bytes().chunks(bytes).map(<[u8]>::to_vec).collect(),
                    None if answer.as_json => vec![whole.into_bytes()],
                    None => {
                        rendered.events.iter().map(|event| event.clone().into_bytes()).collect()
                    }
                };
                let mut short = |bytes: usize| {
                    let last = chunks.last_mut().expect("a response has bytes");
                    last.truncate(last.len() - bytes);
                    chunks.len()
                };
                let (count, end) = match answer.connection {
                    Connection::Whole => (chunks.len(), None),
                    Connection::Ends(count) => (count, None),
                    Connection::Breaks(count) => (count, Some(Piece::Broken)),
                    Connection::BreaksShort(bytes) => (short(bytes), Some(Piece::Broken)),
                    Connection::SilentShort(bytes) => (short(bytes), Some(Piece::EndlessSilence)),
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
                let stores = request["store"] == true;
                let told = Told::nothing(&self.world, stores, &rendered.response, answer.as_json);
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
            let piece = piece.ok_or_else(|| HttpFault::Lost("the body broke off".to_owned()))?;
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

    /// Reads a background response again.
    async fn read_response(&self, url: &str) -> Result<HttpResponse<TestBody>, HttpFault> {
        let call = OpenCall::new(&self.world, &self.instance);
        self.pause().await;
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let id = path.rsplit('/').next().expect("an id stands at the end");
        let background = &self.world.service(url).background;
        let reply = background.read(id, query, self.now_ms(), || self.world.delay_ms());
        self.pause().await;
        match reply {
            Reply::Http(reply) => {
                let is_read = reply.status == 200;
                let mut response = self.http_response(reply, Some(call)).await;
                if is_read {
                    let told = Told::nothing(&self.world, true, &json!({ "id": id }), false);
                    response.body.told = Some(told);
                }
                Ok(response)
            }
            Reply::Unreachable => {
                call.ended();
                Err(HttpFault::Lost("connection refused".to_owned()))
            }
            _ => std::future::pending().await,
        }
    }

    async fn cancel_response(&self, path: &str) -> Result<HttpResponse<TestBody>, HttpFault> {
        let model = self.world.service(path);
        self.pause().await;
        let id = path.trim_end_matches("/cancel").rsplit('/').next().expect("an id");
        let status = model.background.cancel(id, self.now_ms());
        self.pause().await;
        match status {
            Some(status) => Ok(self.response(status, Vec::new(), VecDeque::new(), None)),
            None => Err(HttpFault::Lost("connection refused".to_owned())),
        }
    }

    async fn delete_response(&self, url: &str) -> HttpResponse<TestBody> {
        self.pause().await;
        let id = url.rsplit('/').next().expect("an id stands at the end");
        let service = self.world.service(url);
        let status = service.delete(id);
        self.pause().await;
        if service.answers_no_deletion.get() {
            std::future::pending::<()>().await;
        }
        self.response(status, Vec::new(), VecDeque::new(), None)
    }

    async fn ask_tool(&self, body: &str) -> Result<HttpResponse<TestBody>, HttpFault> {
        self.pause().await;
        let mut answer = self.world.tools.take(body);
        self.pause().await;
        while let ToolAnswer::After(ms, later) = answer {
            self.world.executor.sleep(ms).await;
            answer = *later;
        }
        let (status, text) = match answer {
            ToolAnswer::After(..) => unreachable!("it has come by now"),
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

    /// What stands before the keys of the object's bucket.
    fn bucket(&self) -> Result<String, FileFault> {
        self.world.bucket(self.identity.jurisdiction)
    }

    async fn pause(&self) {
        let ms = self.world.delay_ms();
        self.world.executor.sleep(ms).await;
    }
}

impl Machine for TestPlatform {
    fn now_ms(&self) -> u64 {
        self.world.executor.now_ms()
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.world.secrets.borrow().get(name).cloned()
    }

    fn sleep(&self, ms: u64) -> impl Future<Output = ()> {
        self.world.executor.sleep(ms)
    }

    async fn ask_object(
        &self,
        name: &str,
        question: ObjectQuestion,
        body: String,
    ) -> Result<String, HttpFault> {
        self.pause().await;
        if self.world.objects_fail.get() {
            return Err(HttpFault::Lost("there is no such object".to_owned()));
        }
        let late_ms = self.world.begins_again_after_ms.get();
        if late_ms > 0 && self.world.begins_again.get() == Some(question.class()) {
            self.world.executor.sleep(late_ms).await;
        }
        let path = question.as_str();
        let name = &self.world.asked_for(question.class(), name)?;
        let workspace = match question.class() {
            ObjectClass::Workspace => self.world.workspace(name),
            ObjectClass::McpList => return Ok(self.world.lists(name).reply(&body).await),
            ObjectClass::KeySet => return Err(HttpFault::Lost("no object asks this".to_owned())),
            ObjectClass::Session => {
                let reply = self.world.ask_session(name, path, body).await;
                self.pause().await;
                return reply;
            }
            ObjectClass::User => {
                if !self.world.has_users.get() {
                    return Err(HttpFault::Lost("no Durable Object is bound as USERS".to_owned()));
                }
                let reply = self.world.ask_user(name, path, body).await;
                self.pause().await;
                return reply;
            }
        };
        let url = format!("https://object{path}");
        let header = |name: &str| asked_by(&self.world, name);
        let head = RequestHead { method: "POST", url: &url, header: &header };
        let (source, body) = (IsolateSettings::default(), ready(Ok(body.into_bytes())));
        let response: Pin<Box<dyn Future<Output = Result<PlainResponse, HttpFault>> + '_>> =
            Box::pin(workspace.response(&self.world, &source, &head, body));
        reply_in(response.await?)
    }

    fn log(&self, mut line: serde_json::Value) {
        if !self.world.steps_log.get() {
            self.world.beside_a_step("logs");
        }
        self.identity.sign(&mut line, aptix_edge::ports::LoggedUsers::Plain);
        self.world.log.borrow_mut().push(line);
    }
}

impl Platform for TestPlatform {
    type Body = TestBody;
    type Span = HeldSpan;

    fn random(&self) -> f64 {
        self.world.random.borrow_mut().below(1 << 20) as f64 / (1_u64 << 20) as f64
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
        if path.starts_with("https://hooks.example/") {
            let reply = self.world.webhooks.take(self.now_ms(), &request);
            self.pause().await;
            return match reply {
                Some(reply) => Ok(self.http_response(reply?, None).await),
                None => std::future::pending().await,
            };
        }
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
            let line = RequestLine { url: request.url.clone(), headers: request.headers };
            self.world.tool_requests.borrow_mut().push(line);
            return self.ask_tool(&request.body).await;
        }
        let line = RequestLine { url: request.url.clone(), headers: request.headers };
        self.world.model_calls.borrow_mut().push(line);
        match request.method {
            HttpMethod::Delete => Ok(self.delete_response(path).await),
            HttpMethod::Get => self.read_response(&request.url).await,
            HttpMethod::Post if path.ends_with("/cancel") => self.cancel_response(path).await,
            HttpMethod::Post => self.ask_model(self.world.service(path), &request.body).await,
        }
    }

    fn tenant(&self) -> Option<&str> {
        self.identity.tenant()
    }

    fn user(&self) -> Option<&aptix_edge::contract::UserId> {
        self.identity.user()
    }

    fn jurisdiction(&self) -> Option<Jurisdiction> {
        self.identity.jurisdiction
    }

    fn is_at_home(&self) -> bool {
        self.world.is_at_home(&self.identity, &self.key)
    }

    fn object_id(&self) -> String {
        "0b".repeat(32)
    }

    async fn keep_file(&self, key: &str, contents: &[u8]) -> Result<(), FileFault> {
        if let Some(fault) = self.world.file_fault.get() {
            return Err(fault);
        }
        let bucket = self.bucket()?;
        self.world.executor.sleep(self.world.file_ms.get()).await;
        self.pause().await;
        let (key, now_ms) = (format!("{bucket}{key}"), self.world.executor.now_ms());
        let before = self.world.file_writes.borrow_mut().insert(key.clone(), now_ms);
        if before.is_some_and(|before| now_ms - before < 1000) {
            return Err(FileFault::Failed);
        }
        self.world.files.borrow_mut().insert(key, contents.to_vec());
        self.pause().await;
        Ok(())
    }

    async fn erase_files(&self, folder: &str) -> Result<u64, FileFault> {
        self.world.beside_a_step("erases files");
        self.pause().await;
        let erasing_ms = self.world.erasing_ms.take();
        if erasing_ms > 0 {
            self.world.executor.sleep(erasing_ms).await;
        }
        if let Some(fault) = self.world.file_fault.get() {
            return Err(fault);
        }
        let folder = format!("{}{folder}", self.bucket()?);
        let mut files = self.world.files.borrow_mut();
        let before = files.len();
        files.retain(|key, _| !key.starts_with(&folder));
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

    async fn operator_catalog(&self) -> Result<OperatorCatalog, HttpFault> {
        if self.world.catalog_fails.get() {
            return Err(HttpFault::Lost("KV GET failed: 503".to_owned()));
        }
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
        self.instance.free_storage();
        self.alarm_at.set(None);
        Ok(())
    }

    async fn yield_now(&self) {
        self.pause().await;
    }

    async fn yield_to_others(&self) {
        self.world.yields.set(self.world.yields.get() + 1);
    }

    fn span(&self, name: &str) -> Option<HeldSpan> {
        self.world.spans.open(name)
    }

    fn is_metered(&self) -> bool {
        self.world.metered.borrow().is_some()
    }

    fn meter(&self, point: &DataPoint) -> Result<(), HttpFault> {
        let mut metered = self.world.metered.borrow_mut();
        let points = metered.as_mut().expect("a place for data points is bound");
        if self.world.metering_fails.get() {
            return Err(HttpFault::Lost("too many data points".to_owned()));
        }
        points.push(point.clone());
        Ok(())
    }

    fn rows(&self) -> (usize, usize) {
        (7, 3)
    }
}
