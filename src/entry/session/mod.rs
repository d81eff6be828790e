//! A session's object: its endpoints, the admission of submissions, the turns that run, their recovery and
//! the session's erasure (interface §1, §2 and §9).
//!
//! Names neither `door` nor `workspace`: a workspace is asked through `ports::Platform`.

mod admission;
mod detached;
mod erasing;
mod export;
mod exported_catalog;
mod fork;
mod mcp_tools;
mod recovery;
mod registration;
mod reporting;
mod retention;
mod running;
mod session_endpoints;
mod session_erasure;
mod session_host;
mod steering;
mod submission;
mod tasks;
mod turn_draft;
mod user_questions;
mod views;

pub use export::Export;
pub use session_endpoints::SessionStream;
pub use session_host::SessionHost;
