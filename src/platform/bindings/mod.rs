//! What the crate `worker` lacks, one file for each part of the runtime.
//!
//! `worker` reads and builds requests, responses and rows member by member, and each member is a
//! crossing into JavaScript. Here the head of a request or response crosses as one JSON text.
//!
//! Architecture Invariant: declarations of the runtime's own functions; no logic.
//!
//! | file | declares |
//! |---|---|
//! | `body_reader` | `ReadableStreamBYOBReader` with `readAtLeast` |
//! | `bucket` | `R2Bucket` |
//! | `fetch` | `fetch`, `RequestInit`, `tee` and `pipeThrough` |
//! | `namespace` | `DurableObjectNamespace` |
//! | `storage` | `DurableObjectStorage` and its SQL |
//! | `streams` | `IdentityTransformStream` |
//! | `timers` | `setTimeout`, `clearTimeout`, `scheduler.wait` |

pub(super) mod body_reader;
pub(super) mod bucket;
pub(super) mod fetch;
pub(super) mod namespace;
pub(super) mod storage;
pub(super) mod streams;
pub(super) mod timers;
