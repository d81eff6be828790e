//! Who asks (interface §13): the callers of the service, what their credentials permit, tickets, and tokens of the
//! operator's identity providers, verified in the Worker in front; and what the operator says of tenants ([`Tenants`]).
//!
//! [`TokenCheck`] takes a token through its steps: form and header ([`Jws`]), the provider by its issuer
//! ([`Providers`]), the key ([`KeySet`]), the signature (`ports::Gateway::holds`), the claims ([`Claims`]). Keys come
//! from one object for each address, the [`KeySetHost`]: a provider is asked at most once in 30 seconds, whatever
//! the number of isolates and of forged tokens.
//!
//! Architecture Invariant: nothing here knows of a session's storage. Whose a session is says its object's name
//! (`ports::object_name`), so no check of ownership can be forgotten.

mod caller;
mod claims;
mod grants;
mod jose;
mod key_set;
mod key_set_cache;
mod key_set_host;
mod key_set_reply;
mod permission;
mod presented;
mod providers;
mod refusal;
mod rights;
mod tenants;
mod ticket;
mod ticket_keys;
mod ticket_minting;
mod token_check;
mod variable;

pub use caller::{Caller, Credential};
pub use claims::Claims;
pub use grants::{ForwardedCaller, Grants};
pub use jose::{Algorithm, Header, Jws};
pub use key_set::{Choice, KeySet, NoKeySet, UnusableKey};
pub use key_set_cache::KeySetCache;
pub use key_set_host::KeySetHost;
pub use key_set_reply::{KeyQuestion, KeySetReply};
pub use permission::{Needs, Subject, TicketNeeds};
pub use presented::Presented;
pub use providers::{ClaimedTenants, Provider, Providers, RequiredValue};
pub use refusal::Refusal;
pub use rights::{Right, Rights};
pub use tenants::{ObjectPlace, Placement, TenantTerms, Tenants};
pub use ticket::Ticket;
pub use ticket_keys::TicketKeys;
pub use ticket_minting::{MintedTicket, mint};
pub use token_check::TokenCheck;
pub use variable::ALL_TENANTS;
