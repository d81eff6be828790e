//! The public contract: the requests of a client and the responses that it may see (AGN-034,
//! AGN-033, interface §1 to §3).
//!
//! It owns the request and response shapes, their validation, the `InvokeResult` envelope and the
//! error dictionary. It does no I/O, reads no clock and knows neither the runtime nor the model
//! service.
//!
//! Architecture Invariant: this folder names only `encoding` and `json`. A field of the model
//! service cannot leak to a client, because no type here can hold one.

mod caller_record;
mod catalog_stamp;
mod error_code;
pub mod event_frames;
mod fault;
mod fingerprint;
mod fork;
mod identifiers;
mod invoke_result;
pub mod limits;
mod operation;
mod progress;
mod relative_path;
mod release;
mod request;
mod response;
mod shown;
mod steer;
mod tool_result;
mod trace_context;
mod turn_status;
mod user_id;
mod user_warning;
mod validation;

pub use crate::encoding::{ClosedList, Usage};
pub(crate) use crate::encoding::{closed_list, sparse_object};
pub use caller_record::CallerRecord;
pub use catalog_stamp::CatalogStamp;
pub use error_code::{DictionaryEntry, ErrorCode, WhoActs, dictionary};
pub use fault::{Fault, Notice, Result, Warning, json_text};
pub use fingerprint::{fingerprint, fingerprint_in, steer_fingerprint};
pub use fork::ForkRequest;
pub use identifiers::{
    IDENTIFIER_RULE, SessionId, SteerId, TENANT_NAME_RULE, TurnId, is_tenant_name, no_session,
    no_turn,
};
pub use invoke_result::{
    InvokeResult, ReadOutcome, ReadResult, WaitingCall, outcome_in_session, unreadable_outcome,
};
pub use operation::Operation;
pub use progress::{Progress, SteerStep, ToolState};
pub use relative_path::{normal_path, quoted_path, relative_path_problem};
pub use release::{COMMIT, VERSION, release};
pub use request::{
    ArtifactContent, ArtifactOrigin, ClientTool, ContentEncoding, ImageMimeType, OutputSchema,
    RagOperator, ToolParameters,
};
pub use response::{
    AgentExecuteResponse, FileRef, FinalResponse, ToolCall, ToolCalls, ToolContinuationResponse,
};
pub(crate) use shown::shown;
pub use steer::{SteerContent, SteerState};
pub use tool_result::{ToolOutcome, ToolResult};
pub use trace_context::TraceContext;
pub use turn_status::TurnStatus;
pub use user_id::UserId;
pub use user_warning::UserWarning;
pub use validation::{
    ClipboardImage, Document, ExecuteRequest, InputArtifact, ListedDocuments, MemberOrder,
    Properties, RagCondition, RagScope, SearchRequest, SteerRequest, TicketRequest,
    ToolContinuation, UserTurn, as_report, object_text, parse, parse_comparison, parse_documents,
    parse_fork, parse_object, parse_rename, parse_search, parse_steer, parse_ticket_request,
    peek_session_id,
};
