//! The Workers runtime: the only folder that names `worker`, `wasm_bindgen` or `js_sys`.
//!
//! Architecture Invariant: this folder decides nothing. It passes requests and alarms to `crate::entry`,
//! returns its responses, and implements `crate::ports` with the runtime.
//!
//! | file | adapts |
//! |---|---|
//! | `entrypoint` | the Worker's start and requests to `entry::FrontDoor` |
//! | `gateway` | the Worker's bindings to `ports::Gateway` |
//! | `machine` | what Worker and objects have in common to `ports::Machine` |
//! | `objects` | the Durable Objects' requests, questions and alarms to their hosts in `entry`, `identity` and `mcp` |
//! | `object_request` | the runtime's request to `entry::RequestHead` and a body |
//! | `request_head` | the head of a request that is received to texts |
//! | `response` | `entry::Response` to the runtime's response and streams |
//! | `runtime` | the runtime's services to `ports::Platform` |
//! | `span` | the runtime's tracing to `ports::TraceSpan` |
//! | `object_log` | an object's log lines to Workers Logs, with whose they are |
//! | `object_storage` | an object's SQLite to `ports::Database` |
//! | `durable_object` | `ports::ObjectRequest` to a request to an object |
//! | `received_body` | the body of a request that is received to `ports::Upload` |
//! | `request_body` | `ports::RequestBody` to the body of a request that is sent |
//! | `fetch` | `ports::HttpRequest` to the runtime's `fetch`, and its body to `ports::ResponseBody` |
//! | `file_bucket` | the buckets of files to R2, and the files that an object keeps and erases |
//! | `signatures` | the runtime's WebCrypto to checks of signatures |
//! | `byte_stream` | the runtime's byte streams to vectors |
//! | `promise` | the runtime's promises to futures |
//! | `clock` | the runtime's clock and timers to numbers and futures |
//! | `values` | Rust values to JavaScript's |
//! | `variables` | the deployment's bindings to texts |
//! | `console` | log lines to Workers Logs |
//! | `bindings` | what the crate `worker` lacks |

mod bindings;
mod byte_stream;
mod clock;
mod console;
mod durable_object;
mod entrypoint;
mod fetch;
mod file_bucket;
mod gateway;
mod machine;
mod object_log;
mod object_request;
mod object_storage;
mod objects;
mod promise;
mod received_body;
mod request_body;
mod request_head;
mod response;
mod runtime;
mod signatures;
mod span;
mod values;
mod variables;

pub use objects::{KeySetObject, McpLists, SessionObject, UserObject, WorkspaceIndex};
