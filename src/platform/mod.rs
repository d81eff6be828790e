//! The Workers runtime: the only folder that names `worker`, `wasm_bindgen` or `js_sys`.
//!
//! Architecture Invariant: nothing is decided here. What the layers decide is carried to the
//! runtime, and what the runtime says is carried to the layers.

mod answer;
mod entrypoint;
mod environment;
mod event_stream;
mod fetch;
mod object_storage;
mod runtime;
mod session_object;

pub use session_object::SessionObject;
