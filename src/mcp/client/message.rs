//! JSON-RPC messages: requests as they are written, and what a server's message is.

use std::borrow::Cow;

use serde_json::Value;

use super::connection::MODERN;
use crate::json::{Node, first_member, for_each_element, is_json};

/// Who asks, in requests of both eras.
const CLIENT: &str = concat!(
    r#"{"name":""#,
    env!("CARGO_PKG_NAME"),
    r#"","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}"#
);

/// The longest message of an error that is kept, in bytes.
const ERROR_BYTES: usize = 500;

/// A request before it has an id.
pub(super) struct Call {
    pub(super) method: &'static str,
    /// The members of `params` as JSON, without braces.
    pub(super) params: String,
    /// Headers of the modern era that repeat what the body says.
    pub(super) headers: Vec<(String, String)>,
}

impl Call {
    pub(super) fn new(method: &'static str, params: String) -> Self {
        Self { method, params, headers: Vec::new() }
    }

    /// The legacy handshake. No capability is declared: nobody here could answer a server's questions.
    pub(super) fn handshake(version: &str) -> Self {
        let params =
            format!(r#""protocolVersion":"{version}","capabilities":{{}},"clientInfo":{CLIENT}"#);
        Self::new("initialize", params)
    }

    /// The request's body. In the modern era each one says what the handshake says in the legacy one.
    pub(super) fn body(&self, id: u32, is_modern: bool) -> String {
        let Self { method, params, .. } = self;
        let comma = if params.is_empty() { "" } else { "," };
        let meta = match is_modern {
            true => format!(
                r#"{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientInfo":{CLIENT},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
            ),
            false => String::new(),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{meta}}}}}"#)
    }
}

/// The notification that ends a handshake.
pub(super) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A message of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message<'m> {
    /// The result of the request, as JSON.
    Result(&'m str),
    Error(RpcError),
    /// The server asks something; this is the answer.
    Question(String),
    /// A notification, the answer to another request, or nothing that can be understood.
    Other,
}

/// An error of the protocol.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    /// The versions that the server speaks, when it does not speak the one of the request.
    pub(super) supported: Vec<String>,
}

impl<'m> Message<'m> {
    /// Reads a message that comes while the request `id` waits. Where nothing else can be meant, an error
    /// `is_lone`: some servers leave its id out.
    pub(super) fn read(json: &'m str, id: u32, is_lone: bool) -> Self {
        // A member is found without reading what follows it.
        if !is_json(json) {
            return Self::Other;
        }
        let member = |name| first_member(json, name);
        let their_id = member("id").filter(|id| *id != "null");
        if let Some(method) = member("method") {
            return their_id.map_or(Self::Other, |id| Self::Question(answer(id, method)));
        }
        let is_ours = their_id.is_some_and(|theirs| theirs == id.to_string());
        match (member("error"), member("result")) {
            (Some(error), _) if is_ours || (is_lone && their_id.is_none()) => {
                Self::Error(RpcError::read(error))
            }
            (None, Some(result)) if is_ours => Self::Result(result),
            _ => Self::Other,
        }
    }
}

/// The answer to a server's question: it may ask whether somebody is there, and nothing else.
fn answer(id: &str, method: &str) -> String {
    let said = match method {
        r#""ping""# => r#""result":{}"#,
        _ => r#""error":{"code":-32601,"message":"Method not found"}"#,
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},{said}}}"#)
}

impl RpcError {
    fn read(json: &str) -> Self {
        let code = first_member(json, "code");
        let code = code.and_then(|code| code.parse().ok()).unwrap_or_default();
        let mut message = text_of(json, "message").unwrap_or_default().into_owned();
        message.truncate(message.floor_char_boundary(ERROR_BYTES));
        let mut supported = Vec::new();
        let data = first_member(json, "data").unwrap_or_default();
        if let Some(list) = first_member(data, "supported") {
            // What is no list of texts names no version.
            let _ = for_each_element(list, |json| {
                supported.extend(Node::root(json).as_text().map(Cow::into_owned));
            });
        }
        Self { code, message, supported }
    }
}

/// The text of an object's member, where there is one.
pub(super) fn text_of<'d>(object: &'d str, member: &str) -> Option<Cow<'d, str>> {
    Node::root(first_member(object, member)?).as_text()
}

/// The number that the JSON is. The reader of JSON is in the Worker anyway; the standard library's is 15 KB.
pub(super) fn number(json: &str) -> Option<f64> {
    serde_json::from_str::<Value>(json).ok()?.as_f64()
}

/// The text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_answers_by_its_id_and_a_lone_error_without_one() {
        let error = |code| {
            Message::Error(RpcError { code, message: "m".to_owned(), supported: Vec::new() })
        };
        for (json, alone, message) in [
            (r#"{"result":{"a":1},"jsonrpc":"2.0","id":7}"#, false, Message::Result(r#"{"a":1}"#)),
            (r#"{"id":8,"result":{}}"#, true, Message::Other),
            (r#"{"id":"7","result":{}}"#, true, Message::Other),
            (r#"{"result":{}}"#, true, Message::Other),
            (r#"{"id":7,"error":{"code":-1,"message":"m"}}"#, false, error(-1)),
            (r#"{"id":null,"error":{"code":-1,"message":"m"}}"#, true, error(-1)),
            (r#"{"error":{"code":-1,"message":"m"}}"#, true, error(-1)),
            (r#"{"error":{"code":-1,"message":"m"}}"#, false, Message::Other),
            (r#"{"id":8,"error":{"code":-1,"message":"m"}}"#, true, Message::Other),
            (r#"{"method":"notifications/progress","params":{}}"#, true, Message::Other),
            (r#"{"id":7,"result":{}"#, true, Message::Other),
            ("[]", true, Message::Other),
            ("", true, Message::Other),
        ] {
            assert_eq!(Message::read(json, 7, alone), message, "{json}");
        }
    }

    #[test]
    fn a_server_may_ask_whether_somebody_is_there_and_nothing_else() {
        let asked = |json: &str| Message::read(json, 1, false) == Message::Other;
        assert!(asked(r#"{"method":"ping"}"#), "a notification");
        for (question, said) in [
            (r#"{"id":"p","method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#),
            (
                r#"{"id":1,"method":"sampling/createMessage"}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
            ),
        ] {
            assert_eq!(Message::read(question, 1, false), Message::Question(said.to_owned()));
        }
    }

    #[test]
    fn an_error_s_message_is_cut_between_characters() {
        let json = format!(r#"{{"code":-32000,"message":"a{}"}}"#, "é".repeat(400));
        assert_eq!(RpcError::read(&json).message, format!("a{}", "é".repeat(249)));
        assert_eq!(RpcError::read("7"), RpcError::default());
    }
}
