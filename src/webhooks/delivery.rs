//! One attempt at delivering a message: signed at the time of the attempt with the secrets of that time.

use super::signature::signatures;
use crate::catalog::Webhook;
use crate::contract::release;
use crate::outbound::{ServiceFailure, notify};
use crate::ports::Platform;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The receiver has taken the message.
    Delivered { status: u16 },
    /// The receiver wants no more messages (410).
    Gone,
    /// Another attempt may help.
    Failed {
        /// Absent where there was no response in time.
        status: Option<u16>,
        /// For the operator's log: no address, no secret, no words of the receiver.
        reason: String,
        /// How long the receiver asks to wait, in milliseconds.
        retry_after_ms: Option<u64>,
    },
}

/// Posts a message once. `id` is the same in every attempt, and so is `body`.
pub async fn attempt<P: Platform>(
    platform: &P,
    webhook: &Webhook,
    id: &str,
    body: String,
) -> Attempt {
    let sent_at = platform.now_ms() / 1000;
    let signed = signatures(platform, &webhook.signing_secrets, id, sent_at, &body);
    let signature = match signed {
        Ok(signature) => signature,
        Err(reason) => return Attempt::Failed { status: None, reason, retry_after_ms: None },
    };
    let own = [
        ("User-Agent", format!("aptix-edge/{}", release())),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", sent_at.to_string()),
        ("webhook-signature", signature),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value)).into();
    match notify(platform, &webhook.http, own, body).await {
        Ok(status) => Attempt::Delivered { status },
        Err(ServiceFailure::Status { status: 410, .. }) => Attempt::Gone,
        Err(failure) => {
            let reason = failure.to_string();
            let ServiceFailure::Status { status, retry_after_ms } = failure else {
                return Attempt::Failed { status: None, reason, retry_after_ms: None };
            };
            // Only of these statuses does the header speak of the request itself (RFC 9110, section 10.2.3).
            let retry_after_ms = retry_after_ms.filter(|_| matches!(status, 429 | 503));
            Attempt::Failed { status: Some(status), reason, retry_after_ms }
        }
    }
}
