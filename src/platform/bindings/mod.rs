//! The runtime's functions that the crate `worker` does not declare, or declares at a cost: it reads and
//! builds requests, responses and rows member by member, and each member is a call into JavaScript. Here what belongs
//! together is one call, for which scripts of this folder read and set the members.
//!
//! Architecture Invariant: declarations and scripts that decide nothing.
//!
//! | file | declares |
//! |---|---|
//! | `console` | `log`, `warn` and `error` of `console` |
//! | `messages` | heads and short bodies of requests and responses, `fetch` and objects' `fetch`, by `messages.js` |
//! | `plain` | what needs no script: `crypto.subtle`, data sets, namespaces and stubs of objects, static assets, timers |
//! | `storage` | an object's storage and its SQL, by `storage.js` |
//! | `streams` | readers and pipes of byte streams, by `streams.js` |
//! | `tracing` | spans, by `tracing.js` |

pub(super) mod console;
pub(super) mod messages;
pub(super) mod plain;
pub(super) mod storage;
pub(super) mod streams;
pub(super) mod tracing;
