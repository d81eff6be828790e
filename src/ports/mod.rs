//! What the product asks of the machine it runs on, as traits: [`Platform`] (clock, HTTP, files,
//! tasks, secrets), [`Database`] (SQLite), and the deployment's settings.
//!
//! Architecture Invariant: nothing here names a layer, and nothing here names `worker`.

mod columns;
mod database;
mod deployment;
mod gateway;
mod inner_protocol;
mod logged_users;
mod machine;
mod object;
mod platform;
mod public_key;
mod request_body;
mod tracing;

pub(crate) use columns::{insert, read_row};
pub use database::{Database, Row, SqlValue, storage_failed, unreadable_column};
pub use deployment::Deployment;
pub use gateway::{
    CALLER, Gateway, ObjectRequest, RECEIVED_AT, REQUEST_ID, TRACE_PARENT, TRACE_STATE, Upload,
    announced_length,
};
pub use inner_protocol::{INNER_PROTOCOL, OTHER_VERSION_MS, caller_in_protocol};
pub use logged_users::LoggedUsers;
pub use machine::{HttpFault, Machine, OTHER_VERSION_STATUS, failure_line, with_timeout};
pub use object::{ObjectClass, ObjectIdentity, ObjectQuestion, object_name, user_name};
pub use platform::{
    CHUNK_BYTES, DataPoint, FileFault, HttpMethod, HttpRequest, HttpResponse, OperatorCatalog,
    Platform, REQUEST_ID_HEADERS, ResponseBody,
};
pub use public_key::PublicKey;
pub use request_body::RequestBody;
pub use tracing::{TraceSpan, within};
