//! The only seam between the product and the machine it runs on: clock, randomness, HTTP, secrets
//! and background tasks. In production `crate::platform` stands behind it, in tests a double.
//!
//! Architecture Invariant: no other trait of the crate is asynchronous.

use std::future::Future;
use std::pin::Pin;

use super::DatabaseFault;

/// What the machine gives. Everything that a native test has to control comes through here.
pub trait Platform: 'static {
    /// A response's body as it arrives. Dropping it aborts the request.
    type Body: ResponseBody;

    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// A number in `[0, 1)`, for jitter.
    fn random(&self) -> f64;

    /// The value of a secret or variable of the deployment.
    fn secret(&self, name: &str) -> Option<String>;

    /// Completes after `ms` milliseconds.
    fn sleep(&self, ms: u64) -> impl Future<Output = ()>;

    /// Sends a request and gives the response as soon as its head is there. Dropping the future
    /// aborts the request. Redirects are not followed.
    fn send(
        &self,
        request: HttpRequest,
    ) -> impl Future<Output = Result<HttpResponse<Self::Body>, HttpFault>>;

    /// Posts a search to the index of one of the tenant's workspaces and gives the answer's text.
    fn search_workspace(
        &self,
        workspace_id: &str,
        search: String,
    ) -> impl Future<Output = Result<String, HttpFault>>;

    /// Names the session's object among all of the deployment: 64 characters of lower-case hex.
    fn object_id(&self) -> String;

    /// Keeps a file. Keeping the same key again is keeping it once.
    fn keep_file(
        &self,
        key: &str,
        contents: Vec<u8>,
    ) -> impl Future<Output = Result<(), FileFault>>;

    /// Deletes every file in a folder, and gives their number. What is being kept there is kept
    /// before.
    fn erase_files(&self, folder: &str) -> impl Future<Output = Result<u64, FileFault>>;

    /// Runs a task apart from the request that started it.
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()>>>);

    /// Completes when everything that was written to storage is durable.
    fn durable(&self) -> impl Future<Output = ()>;

    /// The catalog that the operator keeps in the place of the built-in one.
    fn kept_catalog(&self) -> impl Future<Output = Result<KeptCatalog, HttpFault>>;

    /// Sets the object's alarm, in the place of the one that was set. It is kept together with
    /// whatever is written to storage before or after it without an await in between.
    ///
    /// # Errors
    /// The storage's own message, for the operator.
    fn set_alarm(&self, at_ms: u64) -> Result<(), DatabaseFault>;

    /// Frees the object's storage: every row, and the alarm.
    fn free_storage(&self) -> impl Future<Output = Result<(), DatabaseFault>>;

    /// Completes when nothing else is left to be done at once.
    fn idle(&self) -> impl Future<Output = ()>;

    /// Writes one structured line to the operator's log. Never content, never a secret.
    fn log(&self, line: serde_json::Value);
}

/// The operator's own catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptCatalog {
    /// The deployment has no place for one.
    NoPlace,
    /// There is a place, and it is empty.
    Absent,
    /// The document's text.
    Document(String),
}

/// The most that a body gives at once, in bytes.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// A body that is read piece by piece.
pub trait ResponseBody {
    /// The next bytes, `None` at the end. A connection that broke is a fault, not an end. It may wait
    /// until `at_least` bytes have come, which cannot be had before: each reading has its price.
    fn chunk(
        &mut self,
        at_least: usize,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, HttpFault>>;

    /// Waits for the body to come without reading it, which costs the same for any number of chunks.
    /// `true` when all of it is there to be read; `false` when [`CHUNK_BYTES`] are, or when it cannot
    /// be waited for (any more). It may be given up and begun again.
    fn arrived(&mut self) -> impl Future<Output = bool>;

    /// From here on the body is read as it comes: it will not be waited for any more.
    fn attend(&mut self);

    /// What is still to come is not wanted, but the request has not to be aborted for it: a connection
    /// that was read to its end can be used again.
    fn finish(self);
}

/// What an outgoing request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// With a JSON body.
    Post,
    /// Without a body.
    Delete,
}

/// An outgoing request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method.
    pub method: HttpMethod,
    /// Absolute URL, http or https.
    pub url: String,
    /// Headers besides `Content-Type: application/json`.
    pub headers: Vec<(String, String)>,
    /// JSON text; nothing is sent of it with a `Delete`.
    pub body: String,
}

/// The head of a response, with its body still to come.
#[derive(Debug)]
pub struct HttpResponse<B> {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: B,
}

impl<B> HttpResponse<B> {
    /// The first header of that name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A request that got no response, or whose response broke off.
///
/// The cause is for the operator's log; it can hold addresses and is never shown to a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttpFault(pub String);

/// Why a file could not be kept or erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// The deployment has no place for files.
    NoBucket,
    /// The place for files did not do it.
    Failed,
}
