//! The error dictionary: every code that a client can see, with its meaning (interface §3).
//!
//! One table owns the codes and the decisions that depend on them; a row does not compile until
//! every column is filled in. It holds no request data.

use std::fmt;

use serde::Serialize;

use self::WhoActs::{Client, Nobody, Operator};
use super::turn_status::TurnStatus::{self, Aborted, AwaitingTools, Failed};
use crate::encoding::closed_list;

/// Declares [`ErrorCode`] and the dictionary's entry of each code from one table.
macro_rules! error_codes {
    ($($variant:ident = $name:literal, $status:literal, $who:ident, $retryable:literal, $after:expr,
        $meaning:literal;)+) => {
        closed_list! {
            /// A code of the error dictionary, in the dictionary's order.
            pub enum ErrorCode {
                $(#[doc = concat!(stringify!($status), ": ", $meaning)] $variant = $name,)+
            }
        }

        impl ErrorCode {
            /// The code's row of the dictionary.
            pub fn entry(self) -> DictionaryEntry {
                let (http_status, who_acts, retryable, turn_status_after, meaning) = match self {
                    $(Self::$variant => ($status, $who, $retryable, $after, $meaning),)+
                };
                DictionaryEntry {
                    error_code: self,
                    http_status,
                    meaning,
                    who_acts,
                    retryable,
                    turn_status_after,
                }
            }
        }
    };
}

// Variant and wire name, HTTP status, who acts, retryable, status of the turn after, meaning.
error_codes! {
    MalformedJson = "malformed_json", 400, Client, false, None,
        "The body is not one JSON object in UTF-8.";
    MissingField = "missing_field", 400, Client, false, None,
        "A required member is absent.";
    InvalidField = "invalid_field", 400, Client, false, None,
        "A member's value breaks the rule of that member.";
    UnknownField = "unknown_field", 400, Client, false, None,
        "The contract has no such member; a near name is suggested.";
    ForbiddenField = "forbidden_field", 400, Client, false, None,
        "The member is the server's own, or does not belong to this kind of request.";
    EmptyTurn = "empty_turn", 400, Client, false, None,
        "A user turn needs a non-empty Instruction, InputArtifacts or ClipboardImages.";
    Unauthenticated = "unauthenticated", 401, Client, false, None,
        "The request carries no valid credential: a key, a ticket or a provider's token.";
    CredentialExpired = "credential_expired", 401, Client, false, None,
        "The credential was good and is so no more, by time or by revocation; send the request with a new one.";
    Forbidden = "forbidden", 403, Client, false, None,
        "The credential, the page's origin, the host, or a cap of the deployment does not permit this.";
    BudgetExceeded = "budget_exceeded", 403, Operator, false, Some(Failed),
        "The turn, the session or the user has spent the tokens that the operator permits.";
    NotFound = "not_found", 404, Client, false, None,
        "There is nothing at this address.";
    SessionNotFound = "session_not_found", 404, Client, false, None,
        "No such session exists, or it was erased.";
    TurnNotFound = "turn_not_found", 404, Client, false, None,
        "The session has no such turn.";
    ContextNotFound = "context_not_found", 404, Client, false, None,
        "The catalog has no agent or conversation context of that id.";
    UserNotFound = "user_not_found", 404, Client, false, None,
        "The service knows no session of the user.";
    MethodNotAllowed = "method_not_allowed", 405, Client, false, None,
        "The address exists, but not with this HTTP method.";
    RequestTimeout = "request_timeout", 408, Client, true, None,
        "The body did not come whole in time; send it faster, or in smaller requests.";
    TurnConflict = "turn_conflict", 409, Client, false, None,
        "The TurnId was already used with other content; use a new TurnId.";
    TurnInProgress = "turn_in_progress", 409, Nobody, true, None,
        "Another turn of the session is running; wait for it or cancel it.";
    TurnAwaitingTools = "turn_awaiting_tools", 409, Client, false, None,
        "Another turn of the session waits for its tool results; send them or cancel it.";
    TurnNotAwaitingTools = "turn_not_awaiting_tools", 409, Client, false, None,
        "The turn does not wait for tool results.";
    ToolResultsMismatch = "tool_results_mismatch", 409, Client, false, Some(AwaitingTools),
        "The tool results are not those of the pending calls in count, ids and order; the turn \
         still awaits the right ones.";
    TurnAborted = "turn_aborted", 409, Client, false, Some(Aborted),
        "The turn was cancelled; start a new one.";
    SteerConflict = "steer_conflict", 409, Client, false, None,
        "The SteerId was already used in this turn with other content; use a new SteerId.";
    TurnEnded = "turn_ended", 409, Client, false, None,
        "The turn has ended and takes no further words; nothing was kept, so send them as a new turn.";
    SessionExists = "session_exists", 409, Client, false, None,
        "The SessionId of the fork names a session that is not this fork; use a new SessionId.";
    TurnNotEnded = "turn_not_ended", 409, Client, true, None,
        "The turn of the fork, or one before it, runs or waits; end it, or repeat the request when it has ended.";
    BodyTooLarge = "body_too_large", 413, Client, false, None,
        "The body is larger than the service accepts.";
    ContextWindowExceeded = "context_window_exceeded", 413, Client, false, Some(Failed),
        "The turn does not fit into the model's context window; send less at once.";
    UnsupportedMediaType = "unsupported_media_type", 415, Client, false, None,
        "The body must be sent as application/json.";
    RateLimited = "rate_limited", 429, Client, true, None,
        "The key or the user has used up its rate; wait as Retry-After says and repeat the request.";
    Internal = "internal", 500, Operator, true, Some(Failed),
        "A fault of this service.";
    CatalogInvalid = "catalog_invalid", 500, Operator, false, None,
        "The service's catalog is faulty; each fault is named.";
    IterationLimitExceeded = "iteration_limit_exceeded", 500, Operator, false, Some(Failed),
        "The model kept calling tools beyond the permitted number of steps.";
    ServerToolFailed = "server_tool_failed", 500, Operator, true, Some(Failed),
        "A tool that the server runs has failed.";
    TurnInterrupted = "turn_interrupted", 500, Nobody, true, Some(Failed),
        "The turn was cut off by a restart; repeating the request goes on from its last durable \
         step.";
    UpstreamRejected = "upstream_rejected", 502, Operator, false, Some(Failed),
        "The model service refused the call as it was made.";
    UpstreamUnavailable = "upstream_unavailable", 502, Nobody, true, Some(Failed),
        "The model service could not be reached or was overloaded.";
    UpstreamProtocol = "upstream_protocol", 502, Operator, true, Some(Failed),
        "The model service's answer could not be understood.";
    UpstreamFailed = "upstream_failed", 502, Nobody, true, Some(Failed),
        "The model service reported a failure of its own.";
    UpstreamIncomplete = "upstream_incomplete", 502, Client, false, Some(Failed),
        "The model service stopped before its answer was complete, for its length or its \
         content.";
    Overloaded = "overloaded", 503, Nobody, true, None,
        "Too many long bodies are being received at once, or a new version is taking hold; wait as Retry-After says and \
         repeat the request.";
    IdentityUnavailable = "identity_unavailable", 503, Operator, true, None,
        "The identity provider's keys cannot be had, so its tokens cannot be checked.";
    UpstreamTimeout = "upstream_timeout", 504, Nobody, true, Some(Failed),
        "The model service went silent, or the turn took longer than permitted.";
}

/// Who has to act before the same request can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhoActs {
    /// The caller changes its request.
    Client,
    /// The operator changes configuration, or looks into it.
    Operator,
    /// Nobody: waiting and repeating is enough.
    Nobody,
}

/// One row of `GET /errors`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DictionaryEntry {
    pub error_code: ErrorCode,
    /// The HTTP status it travels with.
    pub http_status: u16,
    /// The cause and the remedy, in plain sentences, for a person who meets the code.
    pub meaning: &'static str,
    /// Who has to act before the same request can succeed.
    pub who_acts: WhoActs,
    /// Whether repeating the same request, unchanged, can succeed. Repeating is always safe.
    pub retryable: bool,
    /// The status of the request's turn afterwards; `null` when the request leaves it untouched.
    pub turn_status_after: Option<TurnStatus>,
}

/// The whole dictionary, in its order: the result of `GET /errors`.
pub fn dictionary() -> Vec<DictionaryEntry> {
    ErrorCode::ALL.iter().map(|code| code.entry()).collect()
}

impl ErrorCode {
    /// The HTTP status the code travels with.
    pub fn http_status(self) -> u16 {
        self.entry().http_status
    }

    /// Whether the service or its upstream is at fault, and not the caller.
    pub fn system_error(self) -> bool {
        self.http_status() >= 500
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_acts_only_where_repeating_helps() {
        for entry in dictionary() {
            let code = entry.error_code;
            if entry.who_acts == Nobody {
                assert!(entry.retryable, "{code}");
            }
            if entry.http_status == 400 {
                assert_eq!(
                    (entry.who_acts, entry.retryable, entry.turn_status_after, code.system_error()),
                    (Client, false, None, false),
                    "{code}"
                );
            }
        }
    }

    #[test]
    fn a_name_outside_the_dictionary_is_refused() {
        for name in [r#""Internal""#, r#""nope""#] {
            assert!(serde_json::from_str::<ErrorCode>(name).is_err());
        }
        for code in ErrorCode::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
        }
    }
}
