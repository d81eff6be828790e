//! Why a server gave no result.

use crate::outbound::ServiceFailure;

/// Why a server gave no result. Clients and the model may read the text. Of the server's words it holds only the message of
/// a protocol error, without the secrets that were sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpFailure {
    /// The model wrote the call wrong; nothing was sent.
    #[error("its arguments are not a JSON object")]
    Arguments,
    /// It was not reached, did not respond in time, refused the request by its status, or sent too much.
    #[error(transparent)]
    Service(#[from] ServiceFailure),
    /// An error of the protocol, such as an unknown tool.
    #[error("it refused the request: {message} (code {code})")]
    Refused {
        /// As JSON-RPC and MCP number them.
        code: i64,
        /// The server's words, of at most 500 bytes.
        message: String,
    },
    /// The response ended without a result, or breaks the protocol.
    #[error("its answer broke off, or was no answer to the request")]
    NoResult,
    /// The limit.
    #[error("it sent more than {0} messages for one call")]
    TooManyMessages(usize),
    /// The server asks for input of a person or a model before it completes the call.
    #[error("it asks for input in the middle of a call, which is not supported")]
    NeedsInput,
    /// The handshake agreed on no version that this client speaks.
    #[error("it speaks no version of the protocol that is spoken here")]
    UnknownVersion,
}
