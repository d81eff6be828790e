//! The registration of a user's session with the user's object, before the session's first row (interface §13): every
//! session that can exist is known there.

use futures_util::FutureExt;

use super::erasure_memory::was_erased;
use super::session_host::SessionHost;
use super::turn_draft::TurnDraft;
use crate::contract::{ErrorCode, ExecuteRequest, Fault, Result};
use crate::entry::other_version::unanswered;
use crate::entry::request_context::RequestContext;
use crate::entry::response::credential_expired;
use crate::identity::Grants;
use crate::object::ask_in_time;
use crate::ports::{Database, Platform};
use crate::users::{Registration, RegistrationReply};

const TOO_MANY_FORKS: &str = "Forks of this user copied as many bytes in this hour as the deployment permits. Wait as Retry-After says, or have it forked with an API key.";
/// No wait helps here.
const TOO_LONG_A_FORK: &str = "This fork alone copies more bytes than the deployment permits in an hour. Fork an earlier turn, or have it forked with an API key.";

/// How long a turn waits to be registered, in milliseconds.
const WAIT_MS: u64 = 10_000;

impl<P: Platform, D: Database + 'static> SessionHost<P, D> {
    /// Registers a session that a submission begins; `None` where it begins none. A submission that admission refuses
    /// in any case asks nobody.
    pub(super) async fn register(
        &self,
        context: &RequestContext,
        request: &ExecuteRequest,
        received_at: u64,
        grants: &Grants,
    ) -> Result<Option<u64>> {
        let (Some(_), ExecuteRequest::UserTurn(turn)) = (self.platform.user(), request) else {
            return Ok(None);
        };
        let draft = TurnDraft { platform: self.platform.as_ref(), context, request: turn, grants };
        let Some(first) = draft.permitted_first() else { return Ok(None) };
        if self.store.session()?.is_some() || self.store.is_building_fork()? {
            return Ok(None);
        }
        let question = Registration {
            session_id: turn.session_id.clone(),
            received_at,
            issued_at: grants.issued_at,
            mode: first.mode.key.clone(),
            title: draft.title().unwrap_or_default(),
            parent: None,
            fork_bytes: None,
        };
        self.ask_to_register(&question).boxed_local().await
    }

    /// Asks the user's object; `None` for a session of no user.
    pub(super) async fn ask_to_register(&self, question: &Registration) -> Result<Option<u64>> {
        let Some(object) = self.user_object() else { return Ok(None) };
        let reply = ask_in_time(self.platform.as_ref(), &object, question, WAIT_MS).await;
        match reply.map_err(|fault| unanswered(&fault, not_registered()))? {
            RegistrationReply::Registered { incarnation, credentials_valid_from } => {
                self.store.note_credentials_valid_from(credentials_valid_from);
                Ok(Some(incarnation))
            }
            RegistrationReply::Erased => Err(was_erased()),
            RegistrationReply::Revoked => Err(credential_expired()),
            RegistrationReply::CopiedTooMuch { most, retry_after_ms } => {
                let message = match question.fork_bytes {
                    Some(bytes) if bytes > most => TOO_LONG_A_FORK,
                    Some(_) | None => TOO_MANY_FORKS,
                };
                let fault = Fault::new(ErrorCode::RateLimited, message).with("Limit", "fork_bytes");
                Err(fault.with("MaxForkBytesPerHour", most).with("RetryAfterMs", retry_after_ms))
            }
            RegistrationReply::Failed => Err(not_registered()),
        }
    }
}

/// `internal`: the user's object did not register the session.
pub(super) fn not_registered() -> Fault {
    Fault::internal(
        "The session could not be entered into its user's list, so it was not begun. Send the same request again.",
    )
}
