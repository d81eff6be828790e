//! Layer 6, Entry: from a request's method, path, headers and body to one plain response (AGN-027 §4;
//! interface §1, §2, §3 and §6).
//!
//! The Worker takes a request at the front door ([`FrontDoor::response`]) and sends it to an object: a
//! session's ([`SessionHost::response`]) or a workspace's ([`WorkspaceHost::response`]).
//!
//! Architecture Invariant: pure. `crate::platform` turns the runtime's requests into these calls, and
//! their responses into the runtime's.

mod admission;
mod admission_context;
mod alarm;
mod authentication;
mod body_room;
mod cross_origin;
mod embedding;
mod embedding_alarm;
mod epoch;
mod erasure;
mod export;
mod exported_catalog;
mod file_download;
mod front_door;
mod known_lists;
mod local_access;
mod openapi;
mod playground;
mod recovery;
mod request;
mod request_body;
mod response;
mod response_deletion;
mod retention;
mod route;
mod session_endpoints;
mod session_host;
mod submission;
mod tool_lists;
mod views;
mod warm_up;
mod workspace;

pub use admission_context::{AdmissionContext, ContextSource};
pub use authentication::{Caller, Keyring};
pub use export::Export;
pub use front_door::{FrontDoor, FrontResponse};
pub use openapi::openapi;
pub use request::RequestHead;
pub use response::{Body, Header, PlainResponse, Response};
pub use route::{Route, SessionRoute, TurnPage, WorkspaceRoute};
pub use session_endpoints::SessionStream;
pub use session_host::SessionHost;
pub use warm_up::warm_up;
pub use workspace::WorkspaceHost;
