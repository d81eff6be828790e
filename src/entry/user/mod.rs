//! A user's object: the list of the user's sessions, their removal, and the erasure of the user (interface §13).
//!
//! Names none of `door`, `session` and `workspace`: a session is asked through `ports::Platform`.

mod removal;
mod session_asking;
mod session_list;
mod user_erasure;
mod user_host;

pub use user_host::UserHost;
