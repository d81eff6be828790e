//! The runtime's functions that the crate `worker` does not declare, or declares at a cost: it reads and
//! builds requests, responses and rows member by member, and each member is a call into JavaScript. Here what belongs
//! together is one call, for which scripts of this folder read and set the members.
//!
//! Architecture Invariant: declarations and scripts that decide nothing.
//!
//! | file | declares |
//! |---|---|
//! | `console` | `log`, `warn` and `error` of `console` |
//! | `crypto` | `importKey` and `verify` of `crypto.subtle` |
//! | `messages` | heads and short bodies of requests and responses, `fetch` and objects' `fetch`, by `messages.js` |
//! | `metering` | `writeDataPoint` of a data set |
//! | `namespace` | `jurisdiction` of a `DurableObjectNamespace` |
//! | `storage` | an object's storage and its SQL, by `storage.js` |
//! | `streams` | readers and pipes of byte streams, by `streams.js` |
//! | `stub` | `fetch` of a `DurableObjectStub` and of static assets |
//! | `timers` | `scheduler.wait`, and timers by number |
//! | `tracing` | spans, by `tracing.js` |

pub(super) mod console;
pub(super) mod crypto;
pub(super) mod messages;
pub(super) mod metering;
pub(super) mod namespace;
pub(super) mod storage;
pub(super) mod streams;
pub(super) mod stub;
pub(super) mod timers;
pub(super) mod tracing;
