//! The Worker in front, a keeper of keys and an identity provider, each with its count of requests. A signature holds
//! where the table says so.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use aptix_edge::contract::Fault;
use aptix_edge::encoding::Jurisdiction;
use aptix_edge::identity::{KeySetHost, Providers, Refusal, TokenCheck};
use aptix_edge::ports::{
    FileFault, Gateway, HttpFault, Machine, ObjectQuestion, ObjectRequest, PublicKey, RequestBody,
    Upload,
};
use bed::{Disk, HttpReply, LoneStep, SqliteDatabase};
use serde_json::{Value, json};

use super::tokens::{JWKS_URL, NOW_S, variable};

/// What the provider answers.
pub(crate) type Answer = Rc<RefCell<Result<HttpReply, HttpFault>>>;

pub(crate) struct Door {
    pub(crate) step: LoneStep,
    pub(crate) disk: Rc<Disk>,
    pub(crate) keeper: KeySetHost<SqliteDatabase>,
    pub(crate) answer: Answer,
    /// The requests that the provider has got.
    pub(crate) asked: Rc<Cell<u32>>,
    /// The questions that the keeper has got.
    pub(crate) hops: Cell<u32>,
    pub(crate) keeper_is_gone: Cell<bool>,
    /// How far the clock of the Worker in front is behind.
    pub(crate) behind_ms: Cell<u64>,
    pub(crate) stale_ms: u64,
    log: RefCell<Vec<Value>>,
}

/// A set of keys as a provider answers it.
pub(crate) fn set_of(keys: Value) -> HttpReply {
    HttpReply::new(200, &json!({ "keys": keys }).to_string())
}

impl Door {
    /// A provider that answers with these keys.
    pub(crate) fn with_keys(keys: Value) -> Self {
        Self::answering(Ok(set_of(keys)))
    }

    pub(crate) fn answering(answer: Result<HttpReply, HttpFault>) -> Self {
        let (answer, asked): (Answer, _) =
            (Rc::new(RefCell::new(answer)), Rc::<Cell<u32>>::default());
        let (answering, counting) = (Rc::clone(&answer), Rc::clone(&asked));
        let step = LoneStep::played_by(move |request| {
            assert_eq!((request.url.as_str(), request.body.as_str()), (JWKS_URL, ""));
            counting.set(counting.get() + 1);
            Some(answering.borrow().clone())
        });
        let disk = Disk::new();
        Self {
            step: step.logging(),
            keeper: KeySetHost::new(disk.database()),
            disk,
            answer,
            asked,
            hops: Cell::default(),
            keeper_is_gone: Cell::default(),
            behind_ms: Cell::default(),
            stale_ms: 3_600_000,
            log: RefCell::default(),
        }
    }

    /// The provider answers otherwise from here on.
    pub(crate) fn answers(&self, answer: HttpReply) {
        drop(self.answer.replace(Ok(answer)));
    }

    pub(crate) fn wait(&self, ms: u64) {
        self.step.run(self.step.platform.sleep(ms));
    }

    /// The check of an isolate that has just begun.
    pub(crate) fn check(&self) -> TokenCheck {
        TokenCheck::new(Providers::parse(&variable(json!({}))).unwrap())
    }

    /// The name of the token's user.
    pub(crate) fn verify(&self, check: &TokenCheck, token: &str) -> Result<String, Refusal> {
        let verified = self.step.run(check.verify(self, token));
        verified.map(|caller| caller.user.unwrap().as_str().to_owned())
    }

    /// The lines of the log, the keeper's first.
    pub(crate) fn logged(&self) -> Vec<Value> {
        let mut lines = self.step.logged();
        lines.extend(self.log.borrow().clone());
        lines
    }
}

pub(crate) struct NoUpload;

impl Upload for NoUpload {
    async fn piece(&mut self, _at_least: usize) -> Result<Option<Vec<u8>>, HttpFault> {
        Ok(None)
    }
}

impl Machine for Door {
    fn now_ms(&self) -> u64 {
        NOW_S * 1000 + self.step.now_ms() - self.behind_ms.get()
    }

    fn secret(&self, _name: &str) -> Option<String> {
        None
    }

    async fn sleep(&self, ms: u64) {
        self.step.platform.sleep(ms).await;
    }

    async fn ask_object(
        &self,
        name: &str,
        question: ObjectQuestion,
        body: String,
    ) -> Result<String, HttpFault> {
        self.hops.set(self.hops.get() + 1);
        assert_eq!(question, ObjectQuestion::Keys);
        assert_eq!(name, "d5f00608d0d30a6c6d1e18442c2f4525c1c089caba12a3a3bbbf9f72518c04eb");
        if self.keeper_is_gone.get() {
            return Err(HttpFault::Lost("the object is gone".to_owned()));
        }
        Ok(self.keeper.reply(&self.step.platform, self.stale_ms, &body).await)
    }

    fn log(&self, line: Value) {
        self.log.borrow_mut().push(line);
    }
}

impl Gateway for Door {
    type Upload = NoUpload;
    type Contents = ();
    type ObjectResponse = ();

    async fn is_within_rate(&self, _name: &str, _is_user: bool) -> Result<bool, HttpFault> {
        Ok(true)
    }

    fn random_bytes(&self) -> Result<[u8; 16], Fault> {
        Ok([0; 16])
    }

    fn upload(&self) -> Result<Option<NoUpload>, HttpFault> {
        Ok(None)
    }

    fn offers(&self, _jurisdiction: Jurisdiction) -> bool {
        true
    }

    async fn ask(
        &self,
        _request: &ObjectRequest<'_>,
        _body: Option<impl RequestBody>,
    ) -> Result<(), HttpFault> {
        Ok(())
    }

    async fn file_size(
        &self,
        _bucket: Option<Jurisdiction>,
        _key: &str,
    ) -> Result<Option<u64>, FileFault> {
        Ok(None)
    }

    async fn file_contents(
        &self,
        _bucket: Option<Jurisdiction>,
        _key: &str,
        _offset: u64,
        _length: u64,
    ) -> Result<Option<()>, FileFault> {
        Ok(None)
    }

    async fn page_file(&self, _path: &str) -> Option<()> {
        None
    }

    /// A signature holds where its first byte is the first digit of the key's coordinate.
    async fn holds(&self, key: &PublicKey, _signed: &[u8], signature: &[u8]) -> bool {
        match key {
            PublicKey::P256 { x, .. } => *x == super::tokens::base64url([signature[0]; 32]),
            PublicKey::Rsa { .. } | PublicKey::Ed25519 { .. } => false,
        }
    }
}
