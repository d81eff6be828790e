//! A server with scripted replies, and its client.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use aptix_edge::catalog::{Catalog, HttpService};
use aptix_edge::contract::ToolOutcome;
use aptix_edge::mcp::{
    Connection, McpFailure, ProtocolEra, ToolList, ToolRef, call_tool, list_tools,
};
use aptix_edge::ports::{HttpFault, HttpMethod, HttpRequest};
use bed::{HttpReply, LoneStep, Piece};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) const URL: &str = "https://mcp.example/mcp";
pub(super) const TIMEOUT_MS: u64 = 60_000;

/// The versions with a handshake.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// How a server of one era refuses a request of the other.
pub(super) const NOT_INITIALIZED: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#;
pub(super) const MODERN_ONLY: &str = r#"{"jsonrpc":"2.0","error":{"code":-32022,"message":"Unsupported protocol version: 2025-11-25","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}},"id":$id}"#;

pub(super) struct Server {
    pub(super) step: LoneStep,
    pub(super) connection: Connection,
    pub(super) http: HttpService,
    sent: Rc<RefCell<Vec<HttpRequest>>>,
    left: Rc<RefCell<VecDeque<HttpReply>>>,
}

impl Server {
    /// `$id` in the bodies of replies is the id of the last request that expects a response.
    pub(super) fn replying(replies: impl IntoIterator<Item = HttpReply>) -> Self {
        let sent = Rc::new(RefCell::new(Vec::new()));
        let left: VecDeque<HttpReply> = replies.into_iter().collect();
        let left = Rc::new(RefCell::new(left));
        let (requests, replies) = (Rc::clone(&sent), Rc::clone(&left));
        let waits = RefCell::new(String::new());
        let step = LoneStep::played_by(move |request| {
            requests.borrow_mut().push(request.clone());
            let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
            if body["method"].is_string() && body["id"].is_number() {
                waits.replace(body["id"].to_string());
            }
            let reply = replies.borrow_mut().pop_front();
            let reply = reply.map(|reply| with_id(reply, &waits.borrow()));
            Some(reply.ok_or_else(|| HttpFault::Lost("10.0.0.1 refused".to_owned())))
        });
        let http = service(URL, &json!({}));
        Self { step, connection: Connection::default(), http, sent, left }
    }

    /// A server whose connection is known: its era, version and session in a line.
    pub(super) fn known(connection: &str, replies: impl IntoIterator<Item = HttpReply>) -> Self {
        let mut words = connection.split(' ');
        let era = words.next().and_then(ProtocolEra::parse);
        let version =
            words.next().map(|version| LEGACY.into_iter().find(|known| *known == version).unwrap());
        let connection = Connection { era, version, session_id: words.next().map(str::to_owned) };
        Self { connection, ..Self::replying(replies) }
    }

    /// The connection in such a line.
    pub(super) fn known_connection(&self) -> String {
        let Connection { era, version, session_id } = &self.connection;
        let words = [era.map(ProtocolEra::as_str), *version, session_id.as_deref()];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn list(&mut self) -> Result<ToolList, McpFailure> {
        self.step.run(list_tools(&self.step.platform, &self.http, &mut self.connection))
    }

    pub(super) fn call(&mut self, arguments: &str) -> Result<ToolOutcome, McpFailure> {
        self.call_of("add", r#"{"type":"object"}"#, arguments)
    }

    pub(super) fn call_of(
        &mut self,
        name: &str,
        schema: &str,
        arguments: &str,
    ) -> Result<ToolOutcome, McpFailure> {
        let schema = RawValue::from_string(schema.to_owned()).unwrap();
        let tool = ToolRef { name, input_schema: &schema };
        let (platform, connection) = (&self.step.platform, &mut self.connection);
        self.step.run(call_tool(platform, &self.http, connection, tool, arguments, None))
    }

    /// All requests.
    pub(super) fn sent(&self) -> Vec<HttpRequest> {
        self.sent.borrow().clone()
    }

    /// Each request in a line: version and session, where it has them, and the method.
    pub(super) fn request_lines(&self) -> Vec<String> {
        let line = |request: &HttpRequest| {
            let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
            let what = match (request.method, body["method"].as_str()) {
                (HttpMethod::Get, _) => {
                    format!("GET {}", header(request, "Last-Event-ID").unwrap())
                }
                (_, Some(method)) => method.to_owned(),
                (_, None) => "answer".to_owned(),
            };
            let head = ["MCP-Protocol-Version", "Mcp-Session-Id"].map(|name| header(request, name));
            let words = head.into_iter().flatten().chain([what]);
            words.collect::<Vec<_>>().join(" ")
        };
        self.sent().iter().map(line).collect()
    }

    /// The bodies of all requests.
    pub(super) fn bodies(&self) -> Vec<Value> {
        let sent = self.sent();
        sent.iter().map(|request| serde_json::from_str(&request.body).unwrap_or_default()).collect()
    }

    /// The scripted replies that are left.
    pub(super) fn replies_left(&self) -> usize {
        self.left.borrow().len()
    }
}

/// The entry of a catalog for a service.
pub(super) fn service(url: &str, headers: &Value) -> HttpService {
    let catalog = json!({
        "AgentContexts": { "a": {} },
        "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
        "Modes": [ { "Key": "m", "DisplayName": "M" } ],
        "ServerTools": [ {
            "Name": "t", "Description": "T.", "Parameters": {},
            "Http": { "Url": url, "TimeoutMs": TIMEOUT_MS, "Headers": headers }
        } ]
    });
    let catalog = Catalog::parse(&catalog.to_string()).unwrap();
    catalog.server_tool("t").unwrap().http.clone()
}

pub(super) fn header(request: &HttpRequest, name: &str) -> Option<String> {
    let found = request.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.clone())
}

fn with_id(mut reply: HttpReply, id: &str) -> HttpReply {
    for piece in &mut reply.body {
        if let Piece::Bytes(bytes) = piece
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            *bytes = text.replace("$id", id).into_bytes();
        }
    }
    reply
}

/// A result, as JSON.
pub(super) fn result_reply(result: Value) -> HttpReply {
    let body = json!({ "result": result, "jsonrpc": "2.0", "id": 0 }).to_string();
    HttpReply::new(200, &body.replace(r#""id":0"#, r#""id":$id"#))
}

/// The result of a call, with a text.
pub(super) fn text_reply(text: &str) -> HttpReply {
    result_reply(json!({ "content": [ { "type": "text", "text": text } ] }))
}

/// An error of the protocol.
pub(super) fn error_reply(status: u16, code: i64) -> HttpReply {
    let body = format!(r#"{{"jsonrpc":"2.0","id":$id,"error":{{"code":{code},"message":"No."}}}}"#);
    HttpReply::new(status, &body)
}

/// The server's replies in the legacy handshake.
pub(super) fn handshake(version: &str, session: Option<&str>) -> [HttpReply; 2] {
    let agreed =
        result_reply(json!({ "protocolVersion": version, "capabilities": { "tools": {} } }));
    let agreed = match session {
        Some(session) => agreed.with("mcp-session-id", session),
        None => agreed,
    };
    [agreed, HttpReply::new(202, "")]
}

pub(super) fn text(text: &str) -> Result<ToolOutcome, McpFailure> {
    Ok(ToolOutcome::Result(Value::from(text).to_string()))
}
