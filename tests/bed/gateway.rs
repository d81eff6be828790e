//! The runtime around the front Worker: `Gateway` over the world, one for each request.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use aptix_edge::contract::Fault;
use aptix_edge::encoding::Jurisdiction;
use aptix_edge::entry::{
    Body, IsolateSettings, ObjectHost, RequestHead, Response, SessionHost, SessionStream,
};
use aptix_edge::ports::{
    FileFault, Gateway, HttpFault, Machine, ObjectClass, ObjectQuestion, ObjectRequest, PublicKey,
    RequestBody, Upload,
};

use super::database::SqliteDatabase;
use super::instance::Instance;
use super::platform::TestPlatform;
use super::scripted_service::Piece;
use super::world::World;

pub type Host = SessionHost<TestPlatform, SqliteDatabase>;

/// The runtime's side of one request.
pub struct TestGateway {
    pub world: Rc<World>,
    pub platform: TestPlatform,
    /// The session's object.
    pub host: Rc<Host>,
    pub source: Rc<IsolateSettings>,
    /// The pieces in which the body comes.
    pub body: Vec<Piece>,
    /// The instance of another session's object, where one has answered: its loss ends the response.
    pub answered_by: RefCell<Option<Rc<Instance>>>,
}

/// A body as it comes from the client.
pub struct TestUpload {
    world: Rc<World>,
    coming: VecDeque<Piece>,
}

impl Upload for TestUpload {
    async fn piece(&mut self, _at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        loop {
            match self.coming.pop_front() {
                None => return Ok(None),
                Some(Piece::Bytes(bytes)) => return Ok(Some(bytes)),
                Some(Piece::Silence(ms)) => self.world.executor.sleep(ms).await,
                Some(Piece::EndlessSilence) => std::future::pending().await,
                Some(Piece::Broken) => return Err(HttpFault::Lost("broken off".to_owned())),
            }
        }
    }
}

impl Machine for TestGateway {
    fn now_ms(&self) -> u64 {
        self.world.executor.now_ms()
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.platform.secret(name)
    }

    async fn sleep(&self, ms: u64) {
        self.world.executor.sleep(ms).await;
    }

    async fn ask_object(
        &self,
        name: &str,
        question: ObjectQuestion,
        body: String,
    ) -> Result<String, HttpFault> {
        let name = &self.world.asked_for(question.class(), name)?;
        match question.class() {
            ObjectClass::User if self.world.has_users.get() => {
                self.world.ask_user(name, question.as_str(), body).await
            }
            _ => Err(HttpFault::Lost("the bed keeps no such object".to_owned())),
        }
    }

    fn log(&self, line: serde_json::Value) {
        self.world.log.borrow_mut().push(line);
    }
}

impl Gateway for TestGateway {
    type Upload = TestUpload;
    type Contents = Vec<u8>;
    type ObjectResponse = Response<SessionStream<TestPlatform, SqliteDatabase>>;

    async fn is_within_rate(&self, name: &str, _: bool) -> Result<bool, HttpFault> {
        self.world.rate.borrow_mut().asked.push(name.to_owned());
        self.world.rate.borrow().within.clone()
    }

    fn random_bytes(&self) -> Result<[u8; 16], Fault> {
        Ok(u128::from(self.world.executor.number()).to_be_bytes())
    }

    fn upload(&self) -> Result<Option<TestUpload>, HttpFault> {
        let coming = self.body.clone().into();
        Ok(Some(TestUpload { world: Rc::clone(&self.world), coming }))
    }

    fn offers(&self, _: Jurisdiction) -> bool {
        self.world.has_jurisdictions.get()
    }

    async fn ask(
        &self,
        request: &ObjectRequest<'_>,
        body: Option<impl RequestBody>,
    ) -> Result<Self::ObjectResponse, HttpFault> {
        let protocol = self.world.door_protocol.get();
        let headers = ObjectRequest { protocol, ..request.clone() }.headers();
        let header = |name: &str| headers[name].as_str().map(str::to_owned);
        let head = RequestHead { method: request.method, url: request.url, header: &header };
        let is_late = self.world.late_bodies.get() && body.is_some();
        let late = async || {
            if is_late {
                self.world.executor.sleep(self.world.delay_ms()).await;
            }
        };
        late().await;
        let unreadable = || HttpFault::Lost("the body cannot be read".to_owned());
        let body = body.map(|body| body.piece(0, usize::MAX).ok_or_else(unreadable));
        let body = body.transpose()?.unwrap_or_default();
        let body = async {
            late().await;
            Ok(body)
        };
        let own = format!("local/{}", self.world.session.borrow());
        let name = self.world.asked_for(request.class, &request.name)?;
        match (request.class, name.as_str()) {
            (ObjectClass::Session, name) if name == own => {
                Ok(self.host.response(&self.source, &head, body).await)
            }
            (ObjectClass::Session, name) => {
                let session = self.world.session(name);
                self.answered_by.replace(Some(session.instance(&self.world)));
                session.response(&self.world, &self.source, &head, body).await
            }
            (ObjectClass::User, _) if !self.world.has_users.get() => {
                Err(HttpFault::Lost("no Durable Object is bound as USERS".to_owned()))
            }
            (ObjectClass::User, name) => {
                let user = self.world.user(name);
                let response = user.response(&self.world, &self.source, &head, body).await?;
                response.map_stream(|never| match never {})
            }
            (ObjectClass::Workspace, name) => {
                let workspace = self.world.workspace(name);
                let response = workspace.response(&self.world, &self.source, &head, body).await?;
                response.map_stream(|never| match never {})
            }
            (ObjectClass::McpList, name) => {
                Err(HttpFault::Lost(format!("no client asks for the list {name}")))
            }
            (ObjectClass::KeySet, name) => {
                Err(HttpFault::Lost(format!("no client asks for the keys {name}")))
            }
        }
    }

    async fn file_size(
        &self,
        bucket: Option<Jurisdiction>,
        key: &str,
    ) -> Result<Option<u64>, FileFault> {
        Ok(self.file(bucket, key)?.map(|contents| contents.len() as u64))
    }

    async fn file_contents(
        &self,
        bucket: Option<Jurisdiction>,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>, FileFault> {
        let (from, to) = (offset as usize, (offset + length) as usize);
        Ok(self.file(bucket, key)?.map(|contents| contents[from..to].to_vec()))
    }

    async fn page_file(&self, path: &str) -> Option<Self::ObjectResponse> {
        let text = *self.world.page_files.borrow().get(path)?;
        let headers = vec![("Cache-Control", "of the assets".to_owned())];
        Some(Response { status: 200, headers, body: Body::Json(text.into()) })
    }

    async fn holds(&self, _key: &PublicKey, _signed: &[u8], _signature: &[u8]) -> bool {
        false
    }
}

impl TestGateway {
    fn file(&self, bucket: Option<Jurisdiction>, key: &str) -> Result<Option<Vec<u8>>, FileFault> {
        if let Some(fault) = self.world.file_fault.get() {
            return Err(fault);
        }
        let key = format!("{}{key}", self.world.bucket(bucket)?);
        Ok(self.world.files.borrow().get(&key).cloned())
    }
}
