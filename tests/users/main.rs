//! The sessions of users as clients see them (interface §13): the list, its completeness through crashes, and the
//! erasure of users.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that panics is a test that fails"
)]

mod crash;
mod erasing;
mod forks;
mod interleavings;
mod listing;
mod people;
mod rows;
mod webhooks;
