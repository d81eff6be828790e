//! Who asks (interface §13): the callers of the service, what their credentials permit, and tickets.
//!
//! Architecture Invariant: nothing here knows of a session's storage. Whose a session is says its object's name
//! (`ports::object_name`), so no check of ownership can be forgotten.

mod caller;
mod grants;
mod presented;
mod rights;
mod ticket;
mod ticket_keys;
mod ticket_minting;

pub use caller::{Caller, Credential};
pub use grants::{Grants, SentCaller};
pub use presented::Presented;
pub use rights::{Right, Rights};
pub use ticket::Ticket;
pub use ticket_keys::{TicketFault, TicketKeys};
pub use ticket_minting::{MintedTicket, TicketSource, mint};
