//! The seam between the Worker in front of the objects and its machine, for one request. In
//! production `crate::platform` implements it, in tests the bed.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use super::inner_protocol::with_protocol;
use super::{FileFault, HttpFault, Machine, ObjectClass, PublicKey, RequestBody};
use crate::contract::{Result, TraceContext};
use crate::encoding::Jurisdiction;

/// The header in which an object gets [`ObjectRequest::received_at`].
pub const RECEIVED_AT: &str = "Received-At";

/// The header in which an object gets [`ObjectRequest::protocol`] and [`ObjectRequest::caller`], percent-encoded: a name
/// may be any text. It is one header, since each that is read is a call into JavaScript.
pub const CALLER: &str = "Caller";

/// The header that names a request, to clients and to objects.
pub const REQUEST_ID: &str = "Aptix-Request-Id";

/// The headers that say where a request stands in a trace (W3C Trace Context).
pub const TRACE_PARENT: &str = "traceparent";
pub const TRACE_STATE: &str = "tracestate";

/// What a header's value cannot hold, and the sign of the encoding itself.
const IN_HEADERS: &AsciiSet = &CONTROLS.add(b'%');

/// A request on its way to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRequest<'a> {
    /// [`super::INNER_PROTOCOL`] of the version that sends it.
    pub protocol: u32,
    pub class: ObjectClass,
    /// The object's name ([`super::object_name`]), unique within the class.
    pub name: String,
    pub method: &'a str,
    /// The client's whole URL, from which the object finds the same route.
    pub url: &'a str,
    pub last_event_id: Option<String>,
    /// How the client wants a submission answered (RFC 7240).
    pub prefer: Option<String>,
    /// Where the request stands in its client's trace.
    pub trace: Option<TraceContext>,
    /// When the Worker in front received the request, in milliseconds since the epoch: requests may
    /// overtake each other on their way to the object.
    pub received_at: u64,
    /// The request's id; empty where no client asks.
    pub request_id: &'a str,
    /// Who asks, and what they may: JSON, which only the Worker in front writes; empty where no client asks.
    pub caller: &'a str,
}

impl ObjectRequest<'_> {
    /// The headers with which the object gets the request: texts by name.
    pub fn headers(&self) -> Value {
        let caller = utf8_percent_encode(self.caller, IN_HEADERS).to_string();
        let caller = with_protocol(self.protocol, &caller);
        let mut headers = json!({ RECEIVED_AT: self.received_at.to_string(), CALLER: caller });
        let request_id = Some(self.request_id).filter(|id| !id.is_empty());
        let kept = [
            ("Last-Event-ID", self.last_event_id.as_deref()),
            ("Prefer", self.prefer.as_deref()),
            (REQUEST_ID, request_id),
            (TRACE_PARENT, self.trace.as_ref().map(|trace| trace.parent.as_str())),
            (TRACE_STATE, self.trace.as_ref().and_then(|trace| trace.state.as_deref())),
        ];
        if let Some(members) = headers.as_object_mut() {
            let kept = kept.into_iter().filter_map(|(name, value)| Some((name, value?)));
            members.extend(kept.map(|(name, value)| (name.to_owned(), value.into())));
        }
        headers
    }
}

/// The length that the head of a request announces of its body, in bytes. Beside chunks a length announces nothing, since
/// the runtime reads all of the chunks.
pub fn announced_length<V: AsRef<str>>(header: impl Fn(&str) -> Option<V>) -> Option<usize> {
    let length = header("Content-Length").filter(|_| header("Transfer-Encoding").is_none())?;
    length.as_ref().parse().ok()
}

/// A body as it arrives. Dropping it before its end cancels the rest.
pub trait Upload {
    /// The next bytes; `None` at the end. Fewer than `at_least`, which is at most
    /// [`super::CHUNK_BYTES`], are the last ones.
    async fn piece(&mut self, at_least: usize) -> Result<Option<Vec<u8>>, HttpFault>;
}

/// The machine of the Worker in front.
pub trait Gateway: Machine {
    type Upload: Upload;

    /// A file's contents on their way to the client.
    type Contents;

    /// The response of an object, or one with a file of the page: head and body.
    type ObjectResponse;

    /// Counts a request against the rate of `name`, a key or a user, and returns whether it is within the rate. Without a
    /// rate limiter every request is.
    async fn is_within_rate(&self, name: &str, is_user: bool) -> Result<bool, HttpFault>;

    /// 16 bytes that nobody can guess.
    ///
    /// # Errors
    /// `internal` when the machine has none.
    fn random_bytes(&self) -> Result<[u8; 16]>;

    /// The request's body; `None` when it has none. The runtime enforces a length that is announced.
    fn upload(&self) -> Result<Option<Self::Upload>, HttpFault>;

    /// Whether the runtime holds objects to a jurisdiction.
    fn offers(&self, jurisdiction: Jurisdiction) -> bool;

    /// Hands a request to an object, in the place of its tenant: one hop.
    async fn ask(
        &self,
        request: &ObjectRequest<'_>,
        body: Option<impl RequestBody>,
    ) -> Result<Self::ObjectResponse, HttpFault>;

    /// The size of a file in bytes; `None` when there is no such file. `bucket` is the jurisdiction of the bucket, if it has
    /// one.
    async fn file_size(
        &self,
        bucket: Option<Jurisdiction>,
        key: &str,
    ) -> Result<Option<u64>, FileFault>;

    /// The contents of a file, `length` bytes from `offset`; `None` when there is no such file.
    async fn file_contents(
        &self,
        bucket: Option<Jurisdiction>,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Option<Self::Contents>, FileFault>;

    /// The response to this request, GET or HEAD, with a file of the playground's page, by its path among
    /// them; `None` where there is no such file, or it cannot be had.
    async fn page_file(&self, path: &str) -> Option<Self::ObjectResponse>;

    /// Whether the signature over these bytes is the key's. An ECDSA signature is `r` and `s`, 32 bytes each. A key that
    /// the machine refuses has made none.
    async fn holds(&self, key: &PublicKey, signed: &[u8], signature: &[u8]) -> bool;
}
