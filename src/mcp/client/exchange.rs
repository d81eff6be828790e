//! One conversation with a server: each request until it has its result or is refused for good.
//!
//! A modern request comes first where nothing is known. A request is never sent again because its answer broke
//! off: a tool might run twice.

use super::answer_body::AnswerBody;
use super::connection::{Connection, Era, LEGACY, MODERN, known, session_id};
use super::failure::McpFailure;
use super::message::{Call, INITIALIZED, Message, text_of};
use super::remedy::{Refusal, Remedies};
use crate::catalog::HttpService;
use crate::outbound::{Service, ServiceFailure};
use crate::ports::{HttpMethod, HttpResponse, Platform, ResponseBody};

const SESSION_ID: &str = "mcp-session-id";

/// The most of a refusal that is read, in bytes.
const REFUSAL_BYTES: usize = 64 * 1024;

/// The pauses before a stream that was cut is asked for again, in milliseconds: the one of a server that names
/// none, and the shortest.
const RETRY_MS: u64 = 1_000;
const SHORTEST_RETRY_MS: u64 = 100;

/// The most requests that one request may cause beside itself: answers to a server's questions, and continuations
/// of a stream that was cut.
const MOST_ASIDES: usize = 64;

/// The most messages that a call may cause its server to send, over all its requests. A tool that reports its
/// progress every second for the longest time of a call sends 900.
const MOST_MESSAGES: usize = 10_000;

/// The bytes and the messages that are read in one slice, after which others run: all tenants of an isolate share
/// one thread, and a server may send faster than it is read.
const SLICE_BYTES: usize = 512 * 1024;
const SLICE_MESSAGES: usize = 1_000;

pub(super) struct Client<'a, P> {
    platform: &'a P,
    service: Service<'a, P>,
    connection: &'a mut Connection,
    /// The id of the last request.
    id: u32,
    /// The session that the last response gave; it counts for a handshake.
    given_session: Option<String>,
    /// The messages so far.
    messages: usize,
}

impl<'a, P: Platform> Client<'a, P> {
    pub(super) fn new(
        platform: &'a P,
        http: &'a HttpService,
        connection: &'a mut Connection,
    ) -> Result<Self, McpFailure> {
        let service = Service::of(platform, http)?;
        // No two requests of a session may have the same id, and a session has many clients one after the other.
        let id = (platform.random() * f64::from(1 << 30)) as u32;
        let (given_session, messages) = (None, 0);
        Ok(Self { platform, service, connection, id, given_session, messages })
    }

    /// The result of a request, as JSON of at most `longest` bytes.
    pub(super) async fn request(
        &mut self,
        call: &Call,
        longest: usize,
    ) -> Result<String, McpFailure> {
        let mut remedies = Remedies::default();
        loop {
            let lacks_handshake = self.connection.lacks_handshake();
            let handshake = lacks_handshake.then(|| Call::handshake(remedies.version));
            match self.exchange(handshake.as_ref().unwrap_or(call), longest).await? {
                Ok(agreed) if handshake.is_some() => self.end_handshake(&agreed).await?,
                Ok(result) => {
                    self.connection.era.get_or_insert(Era::Modern);
                    return Ok(result);
                }
                Err(refusal) => remedies.apply(self.connection, refusal)?,
            }
        }
    }

    async fn end_handshake(&mut self, agreed: &str) -> Result<(), McpFailure> {
        let version = text_of(agreed, "protocolVersion");
        let version = version.and_then(|version| known(&version, &LEGACY));
        self.connection.version = Some(version.ok_or(McpFailure::UnknownVersion)?);
        self.connection.session_id = self.given_session.take();
        self.tell(INITIALIZED.to_owned()).await;
        Ok(())
    }

    /// Sends a request once.
    async fn exchange(
        &mut self,
        call: &Call,
        longest: usize,
    ) -> Result<Result<String, Refusal>, McpFailure> {
        self.id += 1;
        let id = self.id;
        let is_legacy = self.connection.era == Some(Era::Legacy);
        let mut headers = self.headers();
        if !is_legacy {
            headers.push(("Mcp-Method".to_owned(), call.method.to_owned()));
            headers.extend_from_slice(&call.headers);
        }
        let mut response = self.ask(HttpMethod::Post, headers, call.body(id, !is_legacy)).await?;
        self.given_session = response.header(SESSION_ID).and_then(session_id);
        let status = response.status;
        let succeeds = is_success(&response);
        let longest = if succeeds { longest } else { REFUSAL_BYTES };
        let mut body = AnswerBody::new(longest);
        let (mut asides, mut in_slice) = (0, 0);
        loop {
            let chunk = response.body.chunk(1).await.ok().flatten();
            let has_ended = chunk.is_none();
            let chunk = chunk.unwrap_or_default();
            in_slice += chunk.len();
            if in_slice >= SLICE_BYTES {
                in_slice = 0;
                self.platform.yield_to_others().await;
            }
            let fits = body.push(&chunk);
            if succeeds {
                fits?;
            } else if fits.is_err() {
                return Ok(Err(Refusal { status, error: None }));
            }
            // The end of a body may look like an event's end.
            let cut = if has_ended { body.cut().map(|(at, ms)| (at.to_owned(), ms)) } else { None };
            while let Some(message) = body.next_message(has_ended) {
                self.count_message().await?;
                let message = self.service.without_secrets(message).await;
                match Message::read(&message, id, !succeeds || !body.is_stream()) {
                    Message::Result(result) if succeeds => {
                        response.body.finish();
                        return Ok(Ok(result.to_owned()));
                    }
                    Message::Error(error) => {
                        response.body.finish();
                        return Ok(Err(Refusal { status, error: Some(error) }));
                    }
                    Message::Question(answer) if is_legacy && asides < MOST_ASIDES => {
                        asides += 1;
                        self.tell(answer).await;
                    }
                    Message::Result(_) | Message::Question(_) | Message::Other => {}
                }
            }
            if !has_ended {
                continue;
            }
            if !succeeds {
                return Ok(Err(Refusal { status, error: None }));
            }
            // Only legacy servers give ids, some of which answer modern requests.
            let cut = cut.filter(|_| asides < MOST_ASIDES);
            let (last_id, retry_ms) = cut.ok_or(McpFailure::NoAnswer)?;
            asides += 1;
            self.platform.sleep(retry_ms.unwrap_or(RETRY_MS).max(SHORTEST_RETRY_MS)).await;
            response = self.resumed(last_id).await?;
            body = body.resumed();
        }
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

    /// The rest of a stream that was cut after the event `last_id`.
    async fn resumed(&self, last_id: String) -> Result<HttpResponse<P::Body>, McpFailure> {
        let mut headers = self.headers();
        headers.push(("Last-Event-ID".to_owned(), last_id));
        let response = self.ask(HttpMethod::Get, headers, String::new()).await.ok();
        response.filter(is_success).ok_or(McpFailure::NoAnswer)
    }

    /// Posts what has no answer. A server that did not take it shows that with the next request.
    async fn tell(&self, body: String) {
        if let Ok(response) = self.ask(HttpMethod::Post, self.headers(), body).await {
            response.body.finish();
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
        let version = if *era == Some(Era::Legacy) { *version } else { Some(MODERN) };
        let accept = "application/json, text/event-stream";
        let headers = [
            ("Accept", Some(accept)),
            ("MCP-Protocol-Version", version),
            ("Mcp-Session-Id", session_id.as_deref()),
        ];
        let stated =
            |(name, value): (&str, Option<&str>)| Some((name.to_owned(), value?.to_owned()));
        headers.into_iter().filter_map(stated).collect()
    }
}

fn is_success<B>(response: &HttpResponse<B>) -> bool {
    (200..300).contains(&response.status)
}
