//! A session's object: its endpoints, the admission of submissions, the turns that run, their recovery and
//! the session's erasure (interface §1, §2 and §9).
//!
//! Names neither `door` nor `workspace`: a workspace is asked through `ports::Platform`.

mod admission;
mod answers;
mod detached;
mod erasure_memory;
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
mod session_stream;
mod steering;
mod submission;
mod tasks;
mod turn_draft;
mod views;

pub use export::Export;
pub use session_host::SessionHost;
pub use session_stream::SessionStream;
