//! The seam between an object and the machine it runs on: clock, randomness, HTTP, secrets and
//! background tasks. In production `crate::platform` implements it, in tests the bed.
//!
//! Of the other seams only [`super::Gateway`], its [`super::Upload`] and [`Machine`] are asynchronous: a database, a
//! span and a body that is sent answer at once.

use std::pin::Pin;

use serde::Serialize;

use super::machine::{HttpFault, Machine};
use super::request_body::RequestBody;
use super::tracing::TraceSpan;
use crate::contract::{Result, UserId};
use crate::encoding::Jurisdiction;

/// An object's machine: everything that a native test has to control.
pub trait Platform: Machine + 'static {
    /// A response's body as it arrives. Dropping it aborts the request.
    type Body: ResponseBody;

    /// An open span.
    type Span: TraceSpan;

    /// A number in `[0, 1)`, for jitter.
    fn random(&self) -> f64;

    /// Sends a request and returns the response as soon as its head is there. Dropping the future
    /// aborts the request. Redirects are not followed.
    async fn send(
        &self,
        request: HttpRequest<impl RequestBody>,
    ) -> Result<HttpResponse<Self::Body>, HttpFault>;

    /// The tenant whose object it is; `None` where the machine does not know the object's name.
    fn tenant(&self) -> Option<&str>;

    /// The user whose object it is; `None` for one of the tenant's own.
    fn user(&self) -> Option<&UserId>;

    /// The jurisdiction to which the object is held, if any.
    fn jurisdiction(&self) -> Option<Jurisdiction>;

    /// Whether requests for its name reach this object: they do not where its tenant has another jurisdiction by now.
    fn is_at_home(&self) -> bool;

    /// Names the session's object among all of the deployment: 64 characters of lower-case hex.
    fn object_id(&self) -> String;

    /// Keeps a file in the bucket of the object's jurisdiction, in the place of the one with the same key.
    async fn keep_file(&self, key: &str, contents: &[u8]) -> Result<(), FileFault>;

    /// Deletes every file in a folder and returns their number. Writes that `keep_file` has begun
    /// complete first.
    async fn erase_files(&self, folder: &str) -> Result<u64, FileFault>;

    /// Runs a task that outlives the request that started it.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>);

    /// Completes when everything that was written to storage is durable.
    async fn durable(&self);

    /// The catalog that the operator keeps in place of the built-in one.
    async fn operator_catalog(&self) -> Result<OperatorCatalog, HttpFault>;

    /// Sets the object's only alarm. It is kept together with whatever is written to storage before
    /// or after it without an await in between.
    fn set_alarm(&self, at_ms: u64) -> Result<()>;

    /// Frees the object's storage: every row, and the alarm.
    async fn free_storage(&self) -> Result<()>;

    /// Yields the thread: completes when no other task of the object is ready to run.
    async fn yield_now(&self);

    /// Yields the thread between pieces of work that may each take tens of milliseconds: completes when other requests
    /// have had time for several steps, and none of them has begun such a piece meanwhile.
    async fn yield_to_others(&self);

    /// Opens a span below the one inside of which it is called, else below the present request or alarm; `None` where
    /// nobody listens.
    fn span(&self, name: &str) -> Option<Self::Span>;

    /// Whether the deployment binds a place for data points.
    fn is_metered(&self) -> bool;

    /// Writes a data point, without waiting for it.
    fn meter(&self, point: &DataPoint) -> Result<(), HttpFault>;

    /// The rows that the object's statements have read and written since its last line in the log.
    fn rows(&self) -> (usize, usize);
}

/// What the operator bills by (interface §16): a data point of a submission, in the form of Workers Analytics Engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataPoint {
    /// The one by which points are sampled.
    pub indexes: [String; 1],
    pub blobs: Vec<String>,
    pub doubles: Vec<f64>,
}

/// The catalog that the operator keeps in KV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorCatalog {
    /// The deployment binds no KV namespace for a catalog.
    NoNamespace,
    /// The namespace holds no catalog.
    Absent,
    Document(String),
}

/// The most that a body gives at once, in bytes.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// A body that is read piece by piece.
pub trait ResponseBody {
    /// The next bytes, `None` at the end; a connection that broke is a fault. It may wait for
    /// `at_least` bytes, so that fewer reads cross into JavaScript.
    async fn chunk(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault>;

    /// Has the machine take the rest of the body as it comes and keep it, whether it is read or not. From
    /// here on a `chunk` returns all that has come since the last one, at the same cost for any number of
    /// pieces.
    fn gather(&mut self);

    /// Completes when a body that is gathered ought to be read: `true` when all of it has come, `false`
    /// when [`CHUNK_BYTES`] have, or when it broke off. The future may be dropped and called for again.
    async fn gathered(&mut self) -> bool;

    /// Discards the end of a body, which is about to come, so that the connection can be used again.
    /// Dropping the body would abort the request.
    fn drain(self);
}

/// What an outgoing request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// With a JSON body.
    Post,
    /// Without a body.
    Get,
    /// Without a body.
    Delete,
}

/// An outgoing request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest<B = String> {
    /// POST, GET or DELETE.
    pub method: HttpMethod,
    /// Absolute URL, http or https.
    pub url: String,
    /// Headers besides `Content-Type: application/json`, which one of that name replaces.
    pub headers: Vec<(String, String)>,
    /// JSON text; sent with a `Post` only.
    pub body: B,
    /// Headers of a success that are read besides the request's id, in lower case. Each read is a call into
    /// JavaScript.
    pub reads: &'static [&'static str],
}

/// The headers by which a service names a request: the service's own, and those under which the gateway LiteLLM passes
/// that one on or names the request itself. The first that is there counts.
pub const REQUEST_ID_HEADERS: [&str; 3] =
    ["x-request-id", "llm_provider-x-request-id", "x-litellm-call-id"];

/// The head of a response, with its body still to come.
pub struct HttpResponse<B> {
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: B,
}

impl<B> HttpResponse<B> {
    /// Whether its status is a success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The service's id for the request.
    pub fn request_id(&self) -> Option<&str> {
        REQUEST_ID_HEADERS.iter().find_map(|name| self.header(name))
    }
}

/// Why a file could not be kept or erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// The deployment binds no bucket.
    NoBucket,
    /// The bucket refused, or did not respond.
    Failed,
}
