//! A workspace's object: its endpoints, and the embedding of its chunks in the background (interface §7).
//!
//! Names neither `door` nor `session`.

mod embedded_index;
mod embedding_wake_up;
mod removal;
mod workspace_host;

pub use workspace_host::WorkspaceHost;
