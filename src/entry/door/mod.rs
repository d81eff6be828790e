//! The door: what the Worker does with a request before it asks an object, and the endpoints that need no
//! object (interface §1, §3 and §6).
//!
//! Names neither `session` nor `workspace`: a request reaches an object only through `ports::Gateway`.

mod addressee;
mod body_freed;
mod body_room;
mod body_shares;
mod credentials;
mod cross_origin;
mod file_download;
mod front_door;
mod health;
mod keyring;
mod local_access;
mod openapi;
mod playground;
mod request_body;
mod revocation;
mod tenant_terms;
mod tickets;
mod warm_up;

pub use front_door::{FrontDoor, FrontResponse};
pub use keyring::Keyring;
pub use openapi::openapi;
pub use warm_up::warm_up;
