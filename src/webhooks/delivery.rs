//! One attempt at delivering a message: signed at the time of the attempt with the secrets of that time.

use super::signature::signatures;
use crate::catalog::Webhook;
use crate::contract::release;
use crate::outbound::{ServiceFailure, notify};
use crate::ports::Platform;

/// Why a receiver has not taken a message. By the status 410 it wants no more of them, else another attempt may help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotTaken {
    /// Absent where there was no response in time.
    pub status: Option<u16>,
    /// For the operator's log: no address, no secret, no words of the receiver.
    pub reason: String,
    /// How long the receiver asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// Posts a message once; the status is that with which it was taken. `id` is the same in every attempt, and so is `body`.
pub async fn attempt<P: Platform>(
    platform: &P,
    webhook: &Webhook,
    id: &str,
    body: String,
) -> Result<u16, NotTaken> {
    let sent_at = platform.now_ms() / 1000;
    let signature = signatures(platform, &webhook.signing_secrets, id, sent_at, &body)
        .map_err(|reason| NotTaken { reason, ..NotTaken::default() })?;
    let own = [
        ("User-Agent", format!("aptix-edge/{}", release())),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", sent_at.to_string()),
        ("webhook-signature", signature),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value)).into();
    notify(platform, &webhook.http, own, body).await.map_err(|failure| {
        let reason = match &failure {
            ServiceFailure::Status { status: 410, .. } => {
                "the receiver wants no more messages".to_owned()
            }
            other => other.to_string(),
        };
        let ServiceFailure::Status { status, retry_after_ms } = failure else {
            return NotTaken { reason, ..NotTaken::default() };
        };
        // Only of these statuses does the header speak of the request itself (RFC 9110, section 10.2.3).
        let retry_after_ms = retry_after_ms.filter(|_| matches!(status, 429 | 503));
        NotTaken { status: Some(status), reason, retry_after_ms }
    })
}
