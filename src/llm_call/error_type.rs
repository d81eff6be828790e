//! What a model call failed by, as the span of the call names it.

use super::failure::{CallFailure, Cause};

impl CallFailure {
    /// What it failed by, in one word: the status, the service's code, or what became of the connection.
    pub fn error_type(&self) -> String {
        let named = |name: Option<&str>, other: &str| {
            let is_word = |name: &&str| {
                (1..=64).contains(&name.len())
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
            };
            name.filter(is_word).unwrap_or(other).to_owned()
        };
        match &self.cause {
            Cause::Interrupt => "interrupted".to_owned(),
            Cause::TooLarge => "request_too_large".to_owned(),
            Cause::Unreachable => "unreachable".to_owned(),
            Cause::Refused(refusal) => refusal.status.to_string(),
            Cause::Silent { .. } => "timeout".to_owned(),
            Cause::BrokenOff => "connection_broken".to_owned(),
            Cause::Lost => "response_lost".to_owned(),
            Cause::Unreadable(_) => "unreadable".to_owned(),
            Cause::UnnameableCalls => "unnameable_calls".to_owned(),
            Cause::Failed(error) => {
                named(error.code.as_deref().or(error.kind.as_deref()), "failed")
            }
            Cause::Incomplete { reason } => named(reason.as_deref(), "incomplete"),
        }
    }
}
