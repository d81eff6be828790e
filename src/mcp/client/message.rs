//! JSON-RPC messages: the requests that are sent, and the meaning of a server's message.

use std::borrow::Cow;

use serde_json::Value;

use super::connection::{MODERN, spoken_version};
use crate::contract::TraceContext;
use crate::json::{Node, first_member, for_each_element, is_json};
use crate::ports::{TRACE_PARENT, TRACE_STATE};

/// The client's name and version, in requests of both eras.
const CLIENT: &str = concat!(
    r#"{"name":""#,
    env!("CARGO_PKG_NAME"),
    r#"","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// The longest message of an error, in bytes; the rest is dropped.
const ERROR_BYTES: usize = 500;

/// A request without its id.
pub(super) struct RpcRequest {
    pub(super) method: &'static str,
    /// The members of `params` as JSON, without braces.
    pub(super) params: String,
    /// Headers of the modern era that repeat parts of the body.
    pub(super) headers: Vec<(String, String)>,
    /// Handed on in `_meta`, under the names of the standard.
    pub(super) trace: Option<TraceContext>,
}

impl RpcRequest {
    pub(super) fn new(method: &'static str, params: String) -> Self {
        Self { method, params, headers: Vec::new(), trace: None }
    }

    /// The legacy handshake. No capability is declared: this client cannot respond to a server's requests.
    pub(super) fn handshake(version: &str) -> Self {
        let params =
            format!(r#""protocolVersion":"{version}","capabilities":{{}},"clientInfo":{CLIENT}"#);
        Self::new("initialize", params)
    }

    /// The request's body. In the modern era each request carries what the handshake carries in the legacy era.
    pub(super) fn body(&self, id: u32, is_modern: bool) -> String {
        let Self { method, params, trace, .. } = self;
        let comma = if params.is_empty() { "" } else { "," };
        let modern = is_modern.then(|| {
            format!(
                r#""io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientInfo":{CLIENT},"io.modelcontextprotocol/clientCapabilities":{{}}"#
            )
        });
        let parent = trace.as_ref().map(|trace| (TRACE_PARENT, trace.parent.as_str()));
        let state = trace.as_ref().and_then(|trace| Some((TRACE_STATE, trace.state.as_deref()?)));
        let trace = parent.into_iter().chain(state);
        let trace = trace.map(|(name, text)| format!(r#""{name}":{}"#, json_string(text)));
        let meta: Vec<String> = modern.into_iter().chain(trace).collect();
        let meta = match meta.is_empty() {
            true => String::new(),
            false => format!(r#"{comma}"_meta":{{{}}}"#, meta.join(",")),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{meta}}}}}"#)
    }
}

/// The notification that ends a handshake.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// What a server says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerMessage<'m> {
    /// The result of the request, as JSON.
    Result(&'m str),
    Error(RpcError),
    /// A request of the server's own, and the response to it.
    Request {
        response: String,
    },
    /// A notification, the result of another request, or no message of the protocol.
    Other,
}

/// An error of the protocol.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    /// Of the versions that the server speaks those that are spoken here, where it does not speak the one of the request.
    pub(super) supported: Vec<&'static str>,
    /// Whether it speaks of the handshake, in its message or beside it.
    pub(super) speaks_of_handshake: bool,
}

impl<'m> ServerMessage<'m> {
    /// Reads a message that arrives while the request `id` waits. Some servers omit the id of an error:
    /// `is_only_message` says that such an error can only belong to this request.
    pub(super) fn read(json: &'m str, id: u32, is_only_message: bool) -> Self {
        // `first_member` reads no further than its member, so the whole message is checked first.
        if !is_json(json) {
            return Self::Other;
        }
        // Some servers write every member that there is: null says that it is not.
        let member = |name| first_member(json, name).filter(|json| *json != "null");
        let their_id = member("id");
        if let Some(method) = member("method") {
            let request = |id| Self::Request { response: response_to(id, method) };
            return their_id.map_or(Self::Other, request);
        }
        // Some servers repeat a number as a string or a fraction, which the official clients read.
        let theirs = their_id.and_then(|theirs| number(theirs.trim_matches('"')));
        let is_ours = theirs == Some(f64::from(id));
        // A result of null is one all the same: the tool has run, and a stream may say nothing else.
        match (member("error"), first_member(json, "result")) {
            (Some(error), _) if is_ours || (is_only_message && their_id.is_none()) => {
                Self::Error(RpcError::read(error))
            }
            (None, Some(result)) if is_ours => Self::Result(result),
            _ => Self::Other,
        }
    }
}

/// The response to a server's request: `ping` is answered, and everything else is refused.
fn response_to(id: &str, method: &str) -> String {
    let outcome = match method {
        r#""ping""# => r#""result":{}"#,
        _ => r#""error":{"code":-32601,"message":"Method not found"}"#,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#)
}

impl RpcError {
    fn read(json: &str) -> Self {
        let code = first_member(json, "code");
        let code = code.and_then(|code| code.parse().ok()).unwrap_or_default();
        let mut message = string_member(json, "message").unwrap_or_default().into_owned();
        message.truncate(message.floor_char_boundary(ERROR_BYTES));
        let mut supported = Vec::new();
        let data = first_member(json, "data").unwrap_or_default();
        if let Some(list) = first_member(data, "supported") {
            // A list that cannot be read names no version.
            let _ = for_each_element(list, |json| {
                let name = Node::root(json).as_text();
                let known = name.and_then(|name| spoken_version(&name));
                supported.extend(known.filter(|known| !supported.contains(known)));
            });
        }
        Self { code, message, supported, speaks_of_handshake: json.contains("nitialized") }
    }
}

/// The text of an object's member, where the member is a string.
pub(super) fn string_member<'d>(object: &'d str, member: &str) -> Option<Cow<'d, str>> {
    Node::root(first_member(object, member)?).as_text()
}

/// The JSON as a number, where it is one.
pub(super) fn number(json: &str) -> Option<f64> {
    serde_json::from_str(json).ok()
}

/// The text as a JSON string.
pub(super) fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_belongs_to_a_request_by_its_id_and_a_single_error_without_one() {
        let error = |code| {
            ServerMessage::Error(RpcError { code, message: "m".to_owned(), ..RpcError::default() })
        };
        for (json, is_only, message) in [
            (
                r#"{"result":{"a":1},"jsonrpc":"2.0","id":7}"#,
                false,
                ServerMessage::Result(r#"{"a":1}"#),
            ),
            (
                r#"{"id":7,"method":null,"error":null,"result":{"a":1}}"#,
                false,
                ServerMessage::Result(r#"{"a":1}"#),
            ),
            (r#"{"id":7,"result":null,"error":{"code":-1,"message":"m"}}"#, false, error(-1)),
            (r#"{"id":7,"error":null,"result":null}"#, false, ServerMessage::Result("null")),
            (r#"{"id":8,"result":{}}"#, true, ServerMessage::Other),
            (r#"{"id":"7","result":{}}"#, false, ServerMessage::Result("{}")),
            (r#"{"id":7.0,"result":{}}"#, false, ServerMessage::Result("{}")),
            (r#"{"id":"7.0","error":{"code":-1,"message":"m"}}"#, false, error(-1)),
            (r#"{"id":"8","result":{}}"#, true, ServerMessage::Other),
            (r#"{"id":"seven","result":{}}"#, true, ServerMessage::Other),
            (r#"{"id":[7],"result":{}}"#, true, ServerMessage::Other),
            (r#"{"result":{}}"#, true, ServerMessage::Other),
            (r#"{"id":7,"error":{"code":-1,"message":"m"}}"#, false, error(-1)),
            (r#"{"id":null,"error":{"code":-1,"message":"m"}}"#, true, error(-1)),
            (r#"{"error":{"code":-1,"message":"m"}}"#, true, error(-1)),
            (r#"{"error":{"code":-1,"message":"m"}}"#, false, ServerMessage::Other),
            (r#"{"id":8,"error":{"code":-1,"message":"m"}}"#, true, ServerMessage::Other),
            (r#"{"method":"notifications/progress","params":{}}"#, true, ServerMessage::Other),
            (r#"{"id":7,"result":{}"#, true, ServerMessage::Other),
            ("[]", true, ServerMessage::Other),
            ("", true, ServerMessage::Other),
        ] {
            assert_eq!(ServerMessage::read(json, 7, is_only), message, "{json}");
        }
    }

    #[test]
    fn a_server_s_ping_is_answered_and_every_other_request_is_refused() {
        let notification = ServerMessage::read(r#"{"method":"ping"}"#, 1, false);
        assert_eq!(notification, ServerMessage::Other);
        for (request, response) in [
            (r#"{"id":"p","method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#),
            (
                r#"{"id":1,"method":"sampling/createMessage"}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
            ),
        ] {
            let expected = ServerMessage::Request { response: response.to_owned() };
            assert_eq!(ServerMessage::read(request, 1, false), expected);
        }
    }

    #[test]
    fn an_error_s_message_is_cut_between_characters() {
        let json = format!(r#"{{"code":-32000,"message":"a{}"}}"#, "é".repeat(400));
        assert_eq!(RpcError::read(&json).message, format!("a{}", "é".repeat(249)));
        assert_eq!(RpcError::read("7"), RpcError::default());
    }
}
