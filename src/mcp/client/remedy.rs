//! What a refused request changes in the next one: the version, the era, or the session.
//!
//! Each remedy is applied once for a request, so that its repetitions end.

use super::connection::{Connection, LEGACY, MODERN, ProtocolEra, find_version};
use super::failure::McpFailure;
use super::message::RpcError;
use crate::outbound::ServiceFailure;

/// By which the revisions with a handshake refuse its version, with a list of those that the server speaks.
const INVALID_PARAMS: i64 = -32602;

/// The codes of errors that only modern servers return.
pub(super) const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
/// Comes with the versions that the server speaks.
const UNSUPPORTED_VERSION: i64 = -32022;

/// The codes of JSON-RPC by which a server says that it has run nothing.
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;

/// The codes that implementations gave themselves before the modern era, whose servers are not to use them.
const EARLIER: std::ops::RangeInclusive<i64> = -32019..=-32000;

/// A response without a result.
pub(super) struct Refusal {
    /// The response's status; a success may hold an error, too.
    pub(super) status: u16,
    pub(super) error: Option<RpcError>,
}

/// The remedies that were applied for one request.
pub(super) struct Remedies {
    /// The version for which a handshake asks.
    pub(super) version: &'static str,
    has_negotiated: bool,
    has_fallen_back: bool,
    has_restarted: bool,
}

impl Default for Remedies {
    fn default() -> Self {
        let [version, ..] = LEGACY;
        Self { version, has_negotiated: false, has_fallen_back: false, has_restarted: false }
    }
}

impl Remedies {
    /// Changes the connection so that the request can be sent again.
    ///
    /// # Errors
    /// No remedy is left.
    pub(super) fn apply(
        &mut self,
        connection: &mut Connection,
        refusal: Refusal,
    ) -> Result<(), McpFailure> {
        let Refusal { status, error } = refusal;
        let code = error.as_ref().map(|error| error.code);
        // These show neither which protocol the server speaks nor that it has lost a session.
        let is_no_evidence = matches!(status, 401 | 403 | 408 | 413 | 429 | 500..);
        let is_of_protocol = (400..500).contains(&status) && !is_no_evidence;
        let is_handshake = connection.needs_handshake();
        let is_legacy = connection.era == Some(ProtocolEra::Legacy);
        let has_session = is_legacy && connection.session_id.is_some();

        let is_of_version =
            code == Some(UNSUPPORTED_VERSION) || (is_handshake && code == Some(INVALID_PARAMS));
        let common = common_version(error.as_ref()).filter(|_| is_of_version);
        if let Some(version) = common.filter(|_| !self.has_negotiated) {
            self.has_negotiated = true;
            let legacy = find_version(version, &LEGACY);
            self.version = legacy.unwrap_or(self.version);
            let era = if legacy.is_some() { ProtocolEra::Legacy } else { ProtocolEra::Modern };
            *connection = Connection::of_era(Some(era));
            return Ok(());
        }
        let is_of_modern_server = code.is_some_and(|code| {
            [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION].contains(&code)
        });
        // Do not fall back once the server is known to be modern, unless it returned no error of the protocol.
        let may_be_legacy = !is_legacy && (connection.era.is_none() || error.is_none());
        let is_of_legacy_server = is_of_protocol && may_be_legacy && !is_of_modern_server;
        // Some legacy servers refuse what comes before the handshake with a success, by a code of JSON-RPC or in words. With
        // any other error the tool may have run, so the call is not made again.
        let is_success = (200..300).contains(&status);
        let wants_handshake = is_success
            && code.is_some_and(|code| code == INVALID_REQUEST || EARLIER.contains(&code))
            && error.as_ref().is_some_and(|error| error.speaks_of_handshake);
        let has_run_nothing =
            code.is_some_and(|code| [INVALID_REQUEST, METHOD_NOT_FOUND].contains(&code));
        let is_before_handshake =
            connection.era.is_none() && is_success && (has_run_nothing || wants_handshake);
        if (is_of_legacy_server || is_before_handshake) && !self.has_fallen_back {
            self.has_fallen_back = true;
            *connection = Connection::of_era(Some(ProtocolEra::Legacy));
            return Ok(());
        }
        // Some servers say 401 of a session that they no longer know, whatever the key; some begin another one for it, or
        // have forgotten the handshake, and say so in a success.
        let is_lost = has_session && matches!(status, 400 | 401 | 404 | 410 | 503);
        if (is_lost || (is_legacy && wants_handshake)) && !self.has_restarted {
            self.has_restarted = true;
            *connection = Connection::of_era(Some(ProtocolEra::Legacy));
            return Ok(());
        }
        // A server that was put back to an earlier version says so in its own way.
        let is_put_back = !is_legacy && code.is_some_and(|code| EARLIER.contains(&code));
        // A server that gave no session may by now require one.
        let is_unsure = error.is_none() || is_put_back || (is_legacy && !has_session);
        if (is_handshake && !is_no_evidence) || (is_of_protocol && is_unsure) {
            *connection = Connection::default();
        }
        Err(match error {
            Some(RpcError { code, message, .. }) if status != 401 && status != 403 => {
                McpFailure::Refused { code, message }
            }
            _ => ServiceFailure::Status { status, retry_after_ms: None }.into(),
        })
    }
}

/// The newest version that both sides speak.
fn common_version(error: Option<&RpcError>) -> Option<&'static str> {
    let supported = &error?.supported;
    let spoken = [MODERN].into_iter().chain(LEGACY);
    spoken.into_iter().find(|version| supported.contains(version))
}
