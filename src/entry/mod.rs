//! Layer 6, Entry: routes, authentication, and the object that owns a session (AGN-027 §4, layer
//! 6; the interface, sections 1, 2 and 6).
//!
//! Architecture Invariant: pure like the layers before it; `crate::platform` carries what is
//! decided here to the runtime.

mod admission;
mod authentication;
mod cross_origin;
mod erasure;
mod export;
mod interruption;
mod openapi;
mod route;
mod session_host;
mod tool_results;
mod views;
mod workspace;

pub use authentication::{AuthenticationMode, Caller, Keyring, Tenant};
pub use cross_origin::{AllowedOrigins, answer_headers};
pub use export::Export;
pub use openapi::openapi;
pub use route::{Route, SessionRoute, TurnPage, WorkspaceRoute};
pub use session_host::{Delivery, Environment, SessionHost};
pub use views::{ModesView, SessionView, TraceView, TurnView, TurnsView};
pub use workspace::WorkspaceHost;
