//! The error dictionary: every code a client can see, and what each one means for it
//! (interface section 3).
//!
//! It owns the codes and the decisions that hang on them. Each decision is an exhaustive `match`,
//! so a new code does not compile until all of them are taken. It holds no request data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::identifiers::TurnStatus;

/// Declares the codes once, so that the enum, its names and [`ErrorCode::ALL`] cannot drift apart.
macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// A code of the error dictionary; its wire form is the snake_case name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the dictionary's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

error_codes! {
    /// 400: the body is not one JSON object.
    MalformedJson = "malformed_json",
    /// 400: a required member is absent.
    MissingField = "missing_field",
    /// 400: a member's value breaks its rule.
    InvalidField = "invalid_field",
    /// 400: a member nobody knows.
    UnknownField = "unknown_field",
    /// 400: a member that is the server's, or the other scenario's.
    ForbiddenField = "forbidden_field",
    /// 400: a user turn without any input.
    EmptyTurn = "empty_turn",
    /// 401: no valid key.
    Unauthenticated = "unauthenticated",
    /// 403: the origin may not call, or a cap of the deployment is reached.
    Forbidden = "forbidden",
    /// 404: no such route.
    NotFound = "not_found",
    /// 404: no such session.
    SessionNotFound = "session_not_found",
    /// 404: no such turn in the session.
    TurnNotFound = "turn_not_found",
    /// 404: no such agent or conversation context.
    ContextNotFound = "context_not_found",
    /// 405: the route exists, with other methods.
    MethodNotAllowed = "method_not_allowed",
    /// 409: the `TurnId` was used with other content.
    TurnConflict = "turn_conflict",
    /// 409: another turn of the session is running.
    TurnInProgress = "turn_in_progress",
    /// 409: another turn of the session waits for tool results.
    TurnAwaitingTools = "turn_awaiting_tools",
    /// 409: tool results for a turn that waits for none.
    TurnNotAwaitingTools = "turn_not_awaiting_tools",
    /// 409: tool results that are not the pending calls' in count, ids and order.
    ToolResultsMismatch = "tool_results_mismatch",
    /// 409: the turn was cancelled.
    TurnAborted = "turn_aborted",
    /// 413: the body is over the limit.
    BodyTooLarge = "body_too_large",
    /// 415: the body is not declared as JSON.
    UnsupportedMediaType = "unsupported_media_type",
    /// 429: a rate limit was reached.
    RateLimited = "rate_limited",
    /// 500: a fault of this service.
    Internal = "internal",
    /// 500: the configured catalog does not hold together.
    CatalogInvalid = "catalog_invalid",
    /// 500: the model kept calling tools.
    IterationLimitExceeded = "iteration_limit_exceeded",
    /// 500: a server tool failed.
    ServerToolFailed = "server_tool_failed",
    /// 500: the turn was cut off by a restart.
    TurnInterrupted = "turn_interrupted",
    /// 502: the model service refused the call.
    UpstreamRejected = "upstream_rejected",
    /// 502: the model service could not be reached.
    UpstreamUnavailable = "upstream_unavailable",
    /// 502: the model service's answer could not be understood.
    UpstreamProtocol = "upstream_protocol",
    /// 502: the model service reported a failure of its own.
    UpstreamFailed = "upstream_failed",
    /// 502: the model service stopped before its answer was complete.
    UpstreamIncomplete = "upstream_incomplete",
    /// 504: the model service went silent, or the turn took too long.
    UpstreamTimeout = "upstream_timeout",
}

/// Who has to do something before the same thing can succeed.
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
    /// The code.
    pub error_code: ErrorCode,
    /// The HTTP status it travels with.
    pub http_status: u16,
    /// What happened, in a sentence.
    pub meaning: &'static str,
    /// Who has to act.
    pub who_acts: WhoActs,
    /// Whether repeating the same request can succeed.
    pub retryable: bool,
    /// The status the turn has afterwards; `null` when the error leaves the turn untouched.
    pub turn_status_after: Option<TurnStatus>,
}

/// The whole dictionary, in its order: the answer of `GET /errors`.
#[must_use]
pub fn dictionary() -> Vec<DictionaryEntry> {
    ErrorCode::ALL
        .iter()
        .map(|code| DictionaryEntry {
            error_code: *code,
            http_status: code.http_status(),
            meaning: code.meaning(),
            who_acts: code.who_acts(),
            retryable: code.retryable(),
            turn_status_after: code.turn_status_after(),
        })
        .collect()
}

impl ErrorCode {
    /// The HTTP status the code travels with.
    #[must_use]
    pub fn http_status(self) -> u16 {
        match self {
            Self::MalformedJson
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::ForbiddenField
            | Self::EmptyTurn => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound | Self::SessionNotFound | Self::TurnNotFound | Self::ContextNotFound => {
                404
            }
            Self::MethodNotAllowed => 405,
            Self::TurnConflict
            | Self::TurnInProgress
            | Self::TurnAwaitingTools
            | Self::TurnNotAwaitingTools
            | Self::ToolResultsMismatch
            | Self::TurnAborted => 409,
            Self::BodyTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::RateLimited => 429,
            Self::Internal
            | Self::CatalogInvalid
            | Self::IterationLimitExceeded
            | Self::ServerToolFailed
            | Self::TurnInterrupted => 500,
            Self::UpstreamRejected
            | Self::UpstreamUnavailable
            | Self::UpstreamProtocol
            | Self::UpstreamFailed
            | Self::UpstreamIncomplete => 502,
            Self::UpstreamTimeout => 504,
        }
    }

    /// What happened and what helps, in plain sentences, for a person who meets the code.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::MalformedJson => "The body is not one JSON object in UTF-8.",
            Self::MissingField => "A required member is absent.",
            Self::InvalidField => "A member's value breaks the rule of that member.",
            Self::UnknownField => "The contract has no such member; a near name is suggested.",
            Self::ForbiddenField => {
                "The member is the server's own, or does not belong to this kind of request."
            }
            Self::EmptyTurn => {
                "A user turn needs a non-empty Instruction, InputArtifacts or ClipboardImages."
            }
            Self::Unauthenticated => "The request carries no valid bearer key.",
            Self::Forbidden => {
                "The page's origin, or a cap of the deployment, does not permit this."
            }
            Self::NotFound => "There is nothing at this address.",
            Self::SessionNotFound => "No such session exists, or it was erased.",
            Self::TurnNotFound => "The session has no such turn.",
            Self::ContextNotFound => "The catalog has no agent or conversation context of that id.",
            Self::MethodNotAllowed => "The address exists, but not with this HTTP method.",
            Self::TurnConflict => {
                "The TurnId was already used with other content; use a new TurnId."
            }
            Self::TurnInProgress => {
                "Another turn of the session is running; wait for it or cancel it."
            }
            Self::TurnAwaitingTools => {
                "Another turn of the session waits for its tool results; send them or cancel it."
            }
            Self::TurnNotAwaitingTools => "The turn does not wait for tool results.",
            Self::ToolResultsMismatch => {
                "The tool results are not those of the pending calls in count, ids and order; \
                 the turn still awaits the right ones."
            }
            Self::TurnAborted => "The turn was cancelled; start a new one.",
            Self::BodyTooLarge => "The body is larger than the service accepts.",
            Self::UnsupportedMediaType => "The body must be sent as application/json.",
            Self::RateLimited => {
                "The key has used up its rate; wait as Retry-After says and repeat the request."
            }
            Self::Internal => "A fault of this service.",
            Self::CatalogInvalid => "The service's catalog is faulty; each fault is named.",
            Self::IterationLimitExceeded => {
                "The model kept calling tools beyond the permitted number of steps."
            }
            Self::ServerToolFailed => "A tool that the server runs has failed.",
            Self::TurnInterrupted => {
                "The turn was cut off by a restart; repeating the request goes on from its last \
                 durable step."
            }
            Self::UpstreamRejected => "The model service refused the call as it was made.",
            Self::UpstreamUnavailable => {
                "The model service could not be reached or was overloaded."
            }
            Self::UpstreamProtocol => "The model service's answer could not be understood.",
            Self::UpstreamFailed => "The model service reported a failure of its own.",
            Self::UpstreamIncomplete => {
                "The model service stopped before its answer was complete, for its length or its \
                 content."
            }
            Self::UpstreamTimeout => {
                "The model service went silent, or the turn took longer than permitted."
            }
        }
    }

    /// Who has to act before the same thing can succeed.
    #[must_use]
    pub fn who_acts(self) -> WhoActs {
        match self {
            Self::MalformedJson
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::ForbiddenField
            | Self::EmptyTurn
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::ContextNotFound
            | Self::MethodNotAllowed
            | Self::TurnConflict
            | Self::TurnAwaitingTools
            | Self::TurnNotAwaitingTools
            | Self::ToolResultsMismatch
            | Self::TurnAborted
            | Self::BodyTooLarge
            | Self::UnsupportedMediaType
            | Self::UpstreamIncomplete => WhoActs::Client,
            Self::Internal
            | Self::CatalogInvalid
            | Self::IterationLimitExceeded
            | Self::ServerToolFailed
            | Self::UpstreamRejected
            | Self::UpstreamProtocol => WhoActs::Operator,
            Self::TurnInProgress
            | Self::RateLimited
            | Self::TurnInterrupted
            | Self::UpstreamUnavailable
            | Self::UpstreamFailed
            | Self::UpstreamTimeout => WhoActs::Nobody,
        }
    }

    /// Whether repeating the same request, unchanged, can succeed. Repeating is always safe.
    #[must_use]
    pub fn retryable(self) -> bool {
        match self {
            Self::TurnInProgress
            | Self::RateLimited
            | Self::Internal
            | Self::ServerToolFailed
            | Self::TurnInterrupted
            | Self::UpstreamUnavailable
            | Self::UpstreamProtocol
            | Self::UpstreamFailed
            | Self::UpstreamTimeout => true,
            Self::MalformedJson
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::ForbiddenField
            | Self::EmptyTurn
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::ContextNotFound
            | Self::MethodNotAllowed
            | Self::TurnConflict
            | Self::TurnAwaitingTools
            | Self::TurnNotAwaitingTools
            | Self::ToolResultsMismatch
            | Self::TurnAborted
            | Self::BodyTooLarge
            | Self::UnsupportedMediaType
            | Self::CatalogInvalid
            | Self::IterationLimitExceeded
            | Self::UpstreamRejected
            | Self::UpstreamIncomplete => false,
        }
    }

    /// The status the request's turn has after this error; `None` when the turn is untouched
    /// (rejected requests write nothing, and may not even name a turn).
    #[must_use]
    pub fn turn_status_after(self) -> Option<TurnStatus> {
        match self {
            Self::MalformedJson
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::ForbiddenField
            | Self::EmptyTurn
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::ContextNotFound
            | Self::MethodNotAllowed
            | Self::TurnConflict
            | Self::TurnInProgress
            | Self::TurnAwaitingTools
            | Self::TurnNotAwaitingTools
            | Self::BodyTooLarge
            | Self::UnsupportedMediaType
            | Self::RateLimited
            | Self::CatalogInvalid => None,
            Self::ToolResultsMismatch => Some(TurnStatus::AwaitingTools),
            Self::TurnAborted => Some(TurnStatus::Aborted),
            Self::Internal
            | Self::IterationLimitExceeded
            | Self::ServerToolFailed
            | Self::TurnInterrupted
            | Self::UpstreamRejected
            | Self::UpstreamUnavailable
            | Self::UpstreamProtocol
            | Self::UpstreamFailed
            | Self::UpstreamIncomplete
            | Self::UpstreamTimeout => Some(TurnStatus::Failed),
        }
    }

    /// Whether it is this service's or its upstream's fault, not the caller's.
    #[must_use]
    pub fn system_error(self) -> bool {
        match self {
            Self::Internal
            | Self::CatalogInvalid
            | Self::IterationLimitExceeded
            | Self::ServerToolFailed
            | Self::TurnInterrupted
            | Self::UpstreamRejected
            | Self::UpstreamUnavailable
            | Self::UpstreamProtocol
            | Self::UpstreamFailed
            | Self::UpstreamIncomplete
            | Self::UpstreamTimeout => true,
            Self::MalformedJson
            | Self::MissingField
            | Self::InvalidField
            | Self::UnknownField
            | Self::ForbiddenField
            | Self::EmptyTurn
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::SessionNotFound
            | Self::TurnNotFound
            | Self::ContextNotFound
            | Self::MethodNotAllowed
            | Self::TurnConflict
            | Self::TurnInProgress
            | Self::TurnAwaitingTools
            | Self::TurnNotAwaitingTools
            | Self::ToolResultsMismatch
            | Self::TurnAborted
            | Self::BodyTooLarge
            | Self::UnsupportedMediaType
            | Self::RateLimited => false,
        }
    }
}

/// The text is not a code of the dictionary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the error dictionary has no code {0:?}")]
pub struct UnknownErrorCode(pub String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(name: &str) -> Result<Self, UnknownErrorCode> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == name)
            .ok_or_else(|| UnknownErrorCode(name.to_owned()))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of interface section 3, as it stands there.
    const TABLE: &[(&[u16], &str)] = &[
        (
            &[400],
            "malformed_json missing_field invalid_field unknown_field forbidden_field empty_turn",
        ),
        (&[401, 403], "unauthenticated forbidden"),
        (
            &[404, 405],
            "not_found session_not_found turn_not_found context_not_found method_not_allowed",
        ),
        (
            &[409],
            "turn_conflict turn_in_progress turn_awaiting_tools turn_not_awaiting_tools \
             tool_results_mismatch turn_aborted",
        ),
        (&[413, 415], "body_too_large unsupported_media_type"),
        (&[429], "rate_limited"),
        (
            &[500],
            "internal catalog_invalid iteration_limit_exceeded server_tool_failed \
             turn_interrupted",
        ),
        (
            &[502],
            "upstream_rejected upstream_unavailable upstream_protocol upstream_failed \
             upstream_incomplete",
        ),
        (&[504], "upstream_timeout"),
    ];

    #[test]
    fn the_dictionary_is_the_published_table() {
        let published: Vec<&str> =
            TABLE.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
        let ours: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(ours, published);
        for (statuses, names) in TABLE {
            for name in names.split_whitespace() {
                let code: ErrorCode = name.parse().unwrap();
                assert!(statuses.contains(&code.http_status()), "{name}");
            }
        }
        assert_eq!(ErrorCode::Forbidden.http_status(), 403);
        assert_eq!(ErrorCode::MethodNotAllowed.http_status(), 405);
        assert_eq!(ErrorCode::UnsupportedMediaType.http_status(), 415);
    }

    #[test]
    fn a_system_error_is_one_that_the_caller_cannot_repair_by_a_4xx() {
        for code in ErrorCode::ALL {
            assert_eq!(code.system_error(), code.http_status() >= 500, "{code}");
        }
    }

    #[test]
    fn nobody_acts_only_where_repeating_helps() {
        for code in ErrorCode::ALL {
            if code.who_acts() == WhoActs::Nobody {
                assert!(code.retryable(), "{code}");
            }
            if code.http_status() == 400 {
                assert_eq!(
                    (
                        code.who_acts(),
                        code.retryable(),
                        code.turn_status_after(),
                        code.system_error()
                    ),
                    (WhoActs::Client, false, None, false),
                    "{code}"
                );
            }
        }
    }

    #[test]
    fn a_dictionary_row_has_the_published_members() {
        let rows = dictionary();
        let row = rows.iter().find(|row| row.error_code == ErrorCode::ToolResultsMismatch).unwrap();
        assert_eq!(
            serde_json::to_string(row).unwrap(),
            concat!(
                r#"{"ErrorCode":"tool_results_mismatch","HttpStatus":409,"Meaning":"The tool results "#,
                r#"are not those of the pending calls in count, ids and order; the turn still awaits "#,
                r#"the right ones.","WhoActs":"client","Retryable":false,"#,
                r#""TurnStatusAfter":"awaiting_tools"}"#
            )
        );
        assert!(serde_json::to_string(&rows[0]).unwrap().ends_with(r#""TurnStatusAfter":null}"#));
    }

    #[test]
    fn a_name_outside_the_dictionary_is_refused() {
        assert_eq!("Internal".parse::<ErrorCode>(), Err(UnknownErrorCode("Internal".into())));
        assert!(serde_json::from_str::<ErrorCode>(r#""nope""#).is_err());
        for code in ErrorCode::ALL {
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
        }
    }
}
