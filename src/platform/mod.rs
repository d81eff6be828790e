//! The Workers runtime: the only folder that names `worker`, `wasm_bindgen` or `js_sys`.
//!
//! Architecture Invariant: nothing is decided here. What the layers decide is carried to the
//! runtime, and what the runtime says is carried to the layers.

mod alarm;
mod answer;
mod byte_stream;
mod durable_object;
mod entrypoint;
mod environment;
mod event_stream;
mod export_stream;
mod fetch;
mod file_bucket;
mod file_download;
mod gate;
mod object_storage;
mod promise;
mod request_body;
mod runtime;
#[expect(missing_docs, reason = "the macro that exports the class writes methods without any")]
mod session_object;
#[expect(missing_docs, reason = "the macro that exports the class writes methods without any")]
mod workspace_object;

pub use session_object::SessionObject;
pub use workspace_object::WorkspaceIndex;
