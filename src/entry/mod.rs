//! Layer 6, Entry: from a request's method, path, headers and body to one plain response (AGN-027 §4;
//! interface §1, §2, §3 and §6).
//!
//! The Worker takes a request at the front door ([`FrontDoor::response`]) and sends it to an object
//! ([`ObjectHost::response`]): a session's ([`SessionHost`]), a user's ([`UserHost`]) or a workspace's
//! ([`WorkspaceHost`]).
//!
//! Architecture Invariant: pure. `crate::platform` turns the runtime's requests into these calls, and
//! their responses into the runtime's.

mod door;
mod endpoints;
mod logged_caller;
mod metering;
mod object_host;
mod object_question;
mod other_version;
mod page_query;
mod removed_path;
mod request;
mod request_context;
mod request_id;
mod residence;
mod response;
mod route;
mod session;
mod trace_header;
mod user;
mod workspace;

pub use door::{FrontDoor, FrontResponse, Keyring, openapi, warm_up};
pub use endpoints::{ENDPOINTS, Endpoint};
pub use object_host::ObjectHost;
pub use page_query::TurnPage;
pub use removed_path::RemovedPath;
pub use request::{ArrivingBody, RequestHead};
pub use request_context::{IsolateSettings, RequestContext};
pub use request_id::RequestId;
pub use response::{Body, Header, PlainResponse, Response};
pub use route::{Route, SessionRoute, TurnRoute, UserRoute, WorkspaceRoute};
pub use session::{Export, SessionHost, SessionStream};
pub use user::UserHost;
pub use workspace::WorkspaceHost;
