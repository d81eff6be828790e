//! The sessions of users as clients see them (interface §13): the list, its completeness through crashes, and the
//! erasure of users.

mod addresses;
mod approvals;
mod budgets;
mod contexts;
mod crash;
mod erasing;
mod forks;
mod interleavings;
mod listing;
pub(crate) mod people;
mod revocation;
mod rollout;
mod rows;
mod unregistered;
mod webhooks;
