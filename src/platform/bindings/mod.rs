//! The runtime's functions that the crate `worker` does not declare, or declares at a cost: it reads and
//! builds requests, responses and rows member by member, and each member is a call into JavaScript. With
//! these declarations a request's head, a response's head or a result's rows cross as one JSON text.
//!
//! Architecture Invariant: declarations only, no logic.
//!
//! | file | declares |
//! |---|---|
//! | `body_reader` | `ReadableStreamBYOBReader` with `readAtLeast` |
//! | `crypto` | `importKey` and `verify` of `crypto.subtle` |
//! | `fetch` | `fetch`, `tee` and `pipeThrough` |
//! | `metering` | `writeDataPoint` |
//! | `namespace` | `jurisdiction` of a `DurableObjectNamespace` |
//! | `storage` | `DurableObjectStorage` and its SQL |
//! | `streams` | `IdentityTransformStream`, `FixedLengthStream` |
//! | `stub` | `fetch` of a `DurableObjectStub` and of static assets |
//! | `timers` | `scheduler.wait` |
//! | `tracing` | spans, by `tracing.js` |

pub(super) mod body_reader;
pub(super) mod crypto;
pub(super) mod fetch;
pub(super) mod metering;
pub(super) mod namespace;
pub(super) mod storage;
pub(super) mod streams;
pub(super) mod stub;
pub(super) mod timers;
pub(super) mod tracing;
