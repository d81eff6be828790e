//! One conversation with a server: each request until it has its result or is refused for good.
//!
//! A modern request comes first where nothing is known of the server. A request is never sent again because its
//! response broke off: a tool might run twice.

use super::connection::{Connection, LEGACY, MODERN, ProtocolEra, find_version, valid_session_id};
use super::failure::McpFailure;
use super::message::{INITIALIZED, RpcRequest, ServerMessage, string_member};
use super::message_reader::MessageReader;
use super::remedy::{Refusal, Remedies};
use crate::catalog::HttpService;
use crate::json::with_whole_characters;
use crate::outbound::{Service, ServiceFailure};
use crate::ports::{HttpMethod, HttpResponse, Platform, ResponseBody};

const SESSION_ID: &str = "mcp-session-id";

/// The most of a refusal that is read, in bytes.
const REFUSAL_BYTES: usize = 64 * 1024;

/// The pause before a broken stream is resumed where the server names none, and the shortest pause, in milliseconds.
const RETRY_MS: u64 = 1_000;
const SHORTEST_RETRY_MS: u64 = 100;

/// The most side requests of one request: responses to the server's own requests, and resumptions of a broken stream.
const MOST_SIDE_REQUESTS: usize = 64;

/// The most messages that a call may cause its server to send, over all its requests. A tool that reports its
/// progress every second for the longest time of a call sends 900.
const MOST_MESSAGES: usize = 10_000;

/// The most that is read of a server for one call, in bytes: a stream may report progress for a long time.
const CALL_BYTES: usize = 16_000_000;

/// The bytes and the messages that are read in one slice, after which others run: all tenants of an isolate share
/// one thread, and a server may send faster than it is read.
const SLICE_BYTES: usize = 512 * 1024;
const SLICE_MESSAGES: usize = 1_000;

/// The bytes that a read counts at least in a slice: a read that brings one byte takes as long.
const READ_BYTES: usize = 4096;

pub(super) struct Client<'a, P> {
    platform: &'a P,
    service: Service<'a, P>,
    connection: &'a mut Connection,
    /// The id of the last request.
    id: u32,
    /// The session that the last response named; it counts for a handshake.
    offered_session: Option<String>,
    /// The messages and the bytes so far.
    messages: usize,
    bytes: usize,
}

/// How the server responded to a request.
enum Reply {
    /// A result, as JSON.
    Result(String),
    Refusal(Refusal),
}

impl<'a, P: Platform> Client<'a, P> {
    pub(super) fn new(
        platform: &'a P,
        http: &'a HttpService,
        connection: &'a mut Connection,
    ) -> Result<Self, McpFailure> {
        let service = Service::of(platform, platform.user().map(|user| user.as_str()), http)?;
        // No two requests of a session may have the same id, and a session has many clients one after the other.
        let id = (platform.random() * f64::from(1 << 30)) as u32;
        Ok(Self { platform, service, connection, id, offered_session: None, messages: 0, bytes: 0 })
    }

    /// The result of a request, as JSON of at most `longest` bytes.
    pub(super) async fn request(
        &mut self,
        request: &RpcRequest,
        longest: usize,
    ) -> Result<String, McpFailure> {
        let mut remedies = Remedies::default();
        loop {
            let handshake =
                self.connection.needs_handshake().then(|| RpcRequest::handshake(remedies.version));
            match self.attempt(handshake.as_ref().unwrap_or(request), longest).await? {
                Reply::Result(agreement) if handshake.is_some() => {
                    self.end_handshake(&agreement).await?;
                }
                Reply::Result(result) => {
                    self.connection.era.get_or_insert(ProtocolEra::Modern);
                    return Ok(result);
                }
                Reply::Refusal(refusal) => remedies.apply(self.connection, refusal)?,
            }
        }
    }

    async fn end_handshake(&mut self, agreement: &str) -> Result<(), McpFailure> {
        let version = string_member(agreement, "protocolVersion");
        let version = version.and_then(|version| find_version(&version, &LEGACY));
        self.connection.version = Some(version.ok_or(McpFailure::UnknownVersion)?);
        self.connection.session_id = self.offered_session.take();
        self.notify(INITIALIZED.to_owned()).await;
        Ok(())
    }

    /// Sends a request once.
    async fn attempt(&mut self, request: &RpcRequest, longest: usize) -> Result<Reply, McpFailure> {
        self.id += 1;
        let id = self.id;
        let is_legacy = self.connection.era == Some(ProtocolEra::Legacy);
        let mut headers = self.headers();
        if !is_legacy {
            headers.push(("Mcp-Method".to_owned(), request.method.to_owned()));
            headers.extend_from_slice(&request.headers);
        }
        let body = request.body(id, !is_legacy);
        let mut response = self.ask(HttpMethod::Post, headers, body).await?;
        self.offered_session = response.header(SESSION_ID).and_then(valid_session_id);
        let status = response.status;
        let succeeds = response.is_success();
        let longest = if succeeds { longest } else { REFUSAL_BYTES };
        let mut reader = MessageReader::new(longest);
        let (mut side_requests, mut in_slice) = (0, 0);
        loop {
            let chunk = response.body.chunk(1).await.ok().flatten();
            let has_ended = chunk.is_none();
            let chunk = chunk.unwrap_or_default();
            in_slice += chunk.len().max(READ_BYTES);
            if in_slice >= SLICE_BYTES {
                in_slice = 0;
                self.platform.yield_to_others().await;
            }
            let pushed = self.count_bytes(chunk.len()).and_then(|()| reader.push(&chunk));
            if succeeds {
                pushed?;
            } else if pushed.is_err() {
                return Ok(Reply::Refusal(Refusal { status, error: None }));
            }
            // Read before the rest: the end of a body may look like the end of an event.
            let resumption = if has_ended { reader.resumption() } else { None };
            while let Some(message) = reader.next_message(has_ended) {
                self.count_message().await?;
                let message = self.service.without_secrets(message).await;
                let message = with_whole_characters(&message);
                match ServerMessage::read(&message, id, !succeeds || !reader.is_stream()) {
                    ServerMessage::Result(result) if succeeds => {
                        response.body.drain();
                        return Ok(Reply::Result(result.to_owned()));
                    }
                    ServerMessage::Error(error) => {
                        response.body.drain();
                        return Ok(Reply::Refusal(Refusal { status, error: Some(error) }));
                    }
                    ServerMessage::Request { response }
                        if is_legacy && side_requests < MOST_SIDE_REQUESTS =>
                    {
                        side_requests += 1;
                        self.notify(response).await;
                    }
                    ServerMessage::Result(_)
                    | ServerMessage::Request { .. }
                    | ServerMessage::Other => {}
                }
            }
            if !has_ended {
                continue;
            }
            if !succeeds {
                return Ok(Reply::Refusal(Refusal { status, error: None }));
            }
            // Only legacy servers name events by ids; some of them answer modern requests.
            let resumption = resumption.filter(|_| side_requests < MOST_SIDE_REQUESTS);
            let resumption = resumption.ok_or(McpFailure::NoResult)?;
            side_requests += 1;
            let pause_ms = resumption.retry_ms.unwrap_or(RETRY_MS).max(SHORTEST_RETRY_MS);
            self.platform.sleep(pause_ms).await;
            response = self.resume(resumption.last_event_id).await?;
            reader = MessageReader::new(longest);
        }
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), ServiceFailure> {
        self.bytes += bytes;
        if self.bytes > CALL_BYTES { Err(ServiceFailure::TooLarge(CALL_BYTES)) } else { Ok(()) }
    }

    async fn count_message(&mut self) -> Result<(), McpFailure> {
        self.messages += 1;
        if self.messages > MOST_MESSAGES {
            return Err(McpFailure::TooManyMessages(MOST_MESSAGES));
        }
        if self.messages.is_multiple_of(SLICE_MESSAGES) {
            self.platform.yield_to_others().await;
        }
        Ok(())
    }

    /// The rest of a broken stream, after the event of that id.
    async fn resume(&self, last_event_id: String) -> Result<HttpResponse<P::Body>, McpFailure> {
        let mut headers = self.headers();
        headers.push(("Last-Event-ID".to_owned(), last_event_id));
        let response = self.ask(HttpMethod::Get, headers, String::new()).await.ok();
        response.filter(HttpResponse::is_success).ok_or(McpFailure::NoResult)
    }

    /// Posts a message that has no result. If the server did not accept it, the next request will show that.
    async fn notify(&self, body: String) {
        if let Ok(response) = self.ask(HttpMethod::Post, self.headers(), body).await {
            response.body.drain();
        }
    }

    async fn ask(
        &self,
        method: HttpMethod,
        headers: Vec<(String, String)>,
        body: String,
    ) -> Result<HttpResponse<P::Body>, ServiceFailure> {
        self.service.ask(method, headers, body, &[SESSION_ID]).await
    }

    /// The headers of every request. A handshake has no version yet.
    fn headers(&self) -> Vec<(String, String)> {
        let Connection { era, version, session_id } = &*self.connection;
        let version = match era {
            Some(ProtocolEra::Legacy) => *version,
            Some(ProtocolEra::Modern) | None => Some(MODERN),
        };
        let headers = [
            ("Accept", Some("application/json, text/event-stream")),
            ("MCP-Protocol-Version", version),
            ("Mcp-Session-Id", session_id.as_deref()),
        ];
        let header =
            |(name, value): (&str, Option<&str>)| Some((name.to_owned(), value?.to_owned()));
        headers.into_iter().filter_map(header).collect()
    }
}
