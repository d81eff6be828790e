//! A test bed for whole turns: the product's own [`SessionHost`] over SQLite, a virtual clock, and
//! a strict model service.
//!
//! Everything but the two seams `Platform` and `Database` is the product itself. Nothing here
//! waits, and nothing depends on the machine: the same seed gives the same run. An *instance* is
//! one life of the object that owns a session; a crash ends it and all its tasks, and keeps what
//! was durable.

#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test file uses a part of the bed, and a test that panics is a test that fails"
)]

mod catalog;
mod conversation;
mod database;
mod executor;
mod instance;
mod model_service;
mod planned_model;
mod platform;
mod reply;
mod requests;
mod response_stream;
mod session;
mod tool_service;

pub(crate) use conversation::{Conversation, Said};
pub(crate) use database::{Disk, Statement};
pub(crate) use executor::Random;
pub(crate) use instance::Crash;
pub(crate) use model_service::ModelService;
pub(crate) use planned_model::planned;
pub(crate) use platform::World;
pub(crate) use reply::{
    Answer, Item, Reply, call, error_event, failed, http_error, incomplete,
    incomplete_without_items, raw, say, says,
};
pub(crate) use requests::{results, turn, with};
pub(crate) use session::{Bed, Heard, Pending};
pub(crate) use tool_service::ToolAnswer;
