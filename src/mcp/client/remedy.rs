//! What a refused request changes in the next one: the version, the era, or the session.
//!
//! Each remedy is tried once for a request, so that its repetitions end.

use super::connection::{Connection, Era, LEGACY, MODERN, known};
use super::failure::McpFailure;
use super::message::RpcError;
use crate::outbound::ServiceFailure;

/// Codes of errors that only modern servers give. Of a version that they do not speak they say which ones they do.
pub(super) const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;

/// A request that got no result.
pub(super) struct Refusal {
    /// The response's; also that of a success, which may hold an error.
    pub(super) status: u16,
    pub(super) error: Option<RpcError>,
}

/// What was tried for one request.
pub(super) struct Remedies {
    /// The version that a handshake asks for.
    pub(super) version: &'static str,
    negotiated: bool,
    fell_back: bool,
    begun_again: bool,
}

impl Default for Remedies {
    fn default() -> Self {
        let [version, ..] = LEGACY;
        Self { version, negotiated: false, fell_back: false, begun_again: false }
    }
}

impl Remedies {
    /// Changes the connection so that the request can be sent again.
    ///
    /// # Errors
    /// Nothing is left to try.
    pub(super) fn apply(
        &mut self,
        connection: &mut Connection,
        refusal: Refusal,
    ) -> Result<(), McpFailure> {
        let Refusal { status, error } = refusal;
        let code = error.as_ref().map(|error| error.code);
        // Who may not come in, and a server that is down, tell nothing of the protocol.
        let tells_nothing = matches!(status, 401 | 403 | 500..);
        let is_of_protocol = (400..500).contains(&status) && !tells_nothing;
        let is_handshake = connection.lacks_handshake();
        let is_legacy = connection.era == Some(Era::Legacy);
        let has_session = is_legacy && connection.session_id.is_some();

        let common = common(error.as_ref()).filter(|_| code == Some(UNSUPPORTED_VERSION));
        if let Some(version) = common.filter(|_| !self.negotiated) {
            self.negotiated = true;
            let legacy = known(version, &LEGACY);
            self.version = legacy.unwrap_or(self.version);
            let era = if legacy.is_some() { Era::Legacy } else { Era::Modern };
            *connection = Connection::of_era(Some(era));
            return Ok(());
        }
        let is_modern_s = code.is_some_and(|code| {
            [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION].contains(&code)
        });
        // A server that is known to be modern is believed what it says.
        let may_be_legacy = !is_legacy && (connection.era.is_none() || error.is_none());
        if is_of_protocol && may_be_legacy && !is_modern_s && !self.fell_back {
            self.fell_back = true;
            *connection = Connection::of_era(Some(Era::Legacy));
            return Ok(());
        }
        if has_session && matches!(status, 400 | 404 | 503) && !self.begun_again {
            self.begun_again = true;
            *connection = Connection::of_era(Some(Era::Legacy));
            return Ok(());
        }
        // Without a session a server may mean that there ought to be one by now.
        let is_unsure = error.is_none() || (is_legacy && !has_session);
        if (is_handshake && !tells_nothing) || (is_of_protocol && is_unsure) {
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
fn common(error: Option<&RpcError>) -> Option<&'static str> {
    let supported = &error?.supported;
    let spoken = [MODERN].into_iter().chain(LEGACY);
    spoken.into_iter().find(|version| supported.iter().any(|name| name == version))
}
