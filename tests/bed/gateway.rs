//! The runtime around the front Worker: `Gateway` over the world, one for each request.

use std::rc::Rc;

use aptix_edge::entry::{ContextSource, RequestHead, Response, SessionHost, SessionStream};
use aptix_edge::ports::{
    BodyFault, FileFault, Gateway, HttpFault, ObjectClass, ObjectRequest, Platform, RECEIVED_AT,
};

use super::database::SqliteDatabase;
use super::platform::{TestPlatform, World};

pub type Host = SessionHost<TestPlatform, SqliteDatabase>;

/// The runtime's side of one request.
pub struct TestGateway {
    pub world: Rc<World>,
    pub platform: TestPlatform,
    /// The object of session `s`.
    pub host: Rc<Host>,
    pub source: Rc<ContextSource>,
    pub body: Vec<u8>,
}

impl Gateway for TestGateway {
    type Body = Vec<u8>;
    type Contents = Vec<u8>;
    type ObjectResponse = Response<SessionStream<TestPlatform, SqliteDatabase>>;

    fn now_ms(&self) -> u64 {
        self.world.executor.now_ms()
    }

    async fn is_within_rate(&self, key: &str) -> Result<bool, HttpFault> {
        self.world.rate.borrow_mut().asked.push(key.to_owned());
        self.world.rate.borrow().within.clone()
    }

    async fn body(&self, most_bytes: usize, _: bool) -> Result<Vec<u8>, BodyFault> {
        match self.body.len() {
            length if length > most_bytes => Err(BodyFault::TooLarge),
            _ => Ok(self.body.clone()),
        }
    }

    fn bytes(&self, body: &Vec<u8>) -> Vec<u8> {
        body.clone()
    }

    async fn ask(
        &self,
        request: &ObjectRequest<'_>,
        body: Option<&Vec<u8>>,
    ) -> Result<Self::ObjectResponse, HttpFault> {
        let header = |name: &str| match name {
            "Last-Event-ID" => request.last_event_id.clone(),
            RECEIVED_AT => Some(request.received_at.to_string()),
            _ => None,
        };
        let head = RequestHead { method: request.method, url: request.url, header: &header };
        let late = async || {
            if self.world.late_bodies.get() && body.is_some() {
                self.world.executor.sleep(self.world.delay_ms()).await;
            }
        };
        late().await;
        let body = async {
            late().await;
            Ok(body.cloned().unwrap_or_default())
        };
        match (request.class, request.name.as_str()) {
            (ObjectClass::Session, "local/s") => {
                Ok(self.host.response(&self.source, &head, body).await)
            }
            (ObjectClass::Session, other) => {
                Err(HttpFault(format!("the bed has no session {other}")))
            }
            (ObjectClass::Workspace, name) => {
                let workspace = self.world.workspace(name);
                let response = workspace.response(&self.platform, &self.source, &head, body).await;
                response.map_stream(|never| match never {})
            }
        }
    }

    async fn file_size(&self, key: &str) -> Result<Option<u64>, FileFault> {
        Ok(self.file(key)?.map(|contents| contents.len() as u64))
    }

    async fn file_contents(
        &self,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Option<Vec<u8>>, FileFault> {
        let (from, to) = (offset as usize, (offset + length) as usize);
        Ok(self.file(key)?.map(|contents| contents[from..to].to_vec()))
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.platform.secret(name)
    }

    fn log(&self, line: serde_json::Value) {
        self.world.log.borrow_mut().push(line);
    }
}

impl TestGateway {
    fn file(&self, key: &str) -> Result<Option<Vec<u8>>, FileFault> {
        match self.world.file_fault.get() {
            Some(fault) => Err(fault),
            None => Ok(self.world.files.borrow().get(key).cloned()),
        }
    }
}
