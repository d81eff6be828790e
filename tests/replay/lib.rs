//! The export of a session, replayed (interface §1): the body of every model call is built again, byte for byte,
//! and the session runs again, on the test bed and without a network, against the outputs and the tool results
//! that it holds. So a user's bug report is a test.

mod bundle;
mod catalog;
mod events;
mod fallback;
mod forked;
mod player;
mod rebuild;
mod report;
mod rerun;

pub use bundle::{Bundle, BundledTurn, ModelCall};
pub use rebuild::{NotRebuilt, rebuild};
pub use report::{Report, report};
pub use rerun::rerun;
