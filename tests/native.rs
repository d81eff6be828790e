//! The native tests: one program, so that the crate and SQLite are linked once. Each folder is a module, named after the
//! folder of `src/` that it tests, or after a kind of test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its seed is part of what it says"
)]

mod architecture;
mod catalog;
mod composition;
mod contract;
mod entry;
mod files;
mod fuzz;
mod identity;
mod llm_call;
mod mcp;
mod object;
mod promise;
mod responses_api;
mod retrieval;
mod server_tools;
mod tenants;
mod turns;
mod users;
mod walk;
