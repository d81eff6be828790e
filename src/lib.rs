//! aptix-edge: agent turns at the edge.
//!
//! One `POST /execute` is one turn, or the tool results that let a paused one go on. It passes the
//! six layers of AGN-027, which are the folders of this crate, in reading order:
//!
//! | folder | layer | owns |
//! |---|---|---|
//! | [`composition`] | 1 | everything a request to the model service is made of |
//! | [`llm_call`] | 2 | one call to the model service, and its answer made normal |
//! | [`server_tools`] | 3 | running what the server runs, one call at a time |
//! | [`reasoner`] | 4 | the only loop: retries, mode changes, where a turn stops |
//! | [`persistence`] | 5 | what is kept, and the turn's life cycle |
//! | [`entry`] | 6 | routes, authentication, the object that owns a session |
//!
//! Beside them stand [`contract`] (AGN-033, AGN-034: what clients send and see), [`responses_api`]
//! (the model service's wire format), [`catalog`] (modes, contexts, tools), [`retrieval`] (a
//! workspace's index), [`pipeline`] (what the layers share) and [`platform`] (the Workers runtime).
//!
//! # Invariants
//!
//! Each is checked by `tests/architecture/`.
//!
//! - Only `platform` names `worker`, `wasm_bindgen` or `js_sys`; everything else runs natively.
//! - `contract`, `responses_api` and `catalog` name nobody in the crate, so that no field of the
//!   model service can leak into the public contract.
//! - Layers 1, 2 and 3 never name each other; only the reasoner names all three.
//! - `retrieval` names no layer but `persistence`'s seam to SQLite, and only `entry` and `platform`
//!   name it: what it finds reaches composition as chunks.
//! - Only `llm_call` calls the model service, and only the reasoner repeats a call.
//! - An `InvokeResult` is built in one place, `contract::invoke_result`.
//! - Clock, randomness and secrets come in through `pipeline::Platform`.
//!
//! # The documents' names and ours
//!
//! "The interface" in comments is the product's written promise to its clients, AGN-… are Aptix's
//! design documents.
//!
//! | document | here |
//! |---|---|
//! | `AgentExecuteRequest` (AGN-034) | [`contract::ExecuteRequest`] |
//! | `AgentExecuteResponse` (AGN-033) | [`contract::AgentExecuteResponse`] |
//! | `IResponsesRequestComposer` (AGN-027 B) | [`composition::compose_turn`], [`composition::compose_request`] |
//! | `LlmCallStep` (C) | [`llm_call::call`] |
//! | `ServerToolExecutionStep` (D) | [`server_tools::run`] |
//! | `ReasonerStep` (E) | [`reasoner::Reasoner`] |
//! | `AgentSession`, `AgentSessionTurn`, `ModeHistory` (F, AGN-011) | [`persistence::Session`], [`persistence::Turn`], [`persistence::ModeChange`] |
//! | `SetSessionModeAsync` (AGN-011) | [`persistence::SessionStore::record_tool_result`] |
//! | Mode Catalog (TUL-010) | [`catalog::Catalog`] |

pub mod catalog;
pub mod composition;
pub mod contract;
pub mod encoding;
pub mod entry;
pub mod files;
pub mod json;
pub mod llm_call;
pub mod outbound;
pub mod persistence;
pub mod platform;
pub mod ports;
pub mod reasoner;
pub mod responses_api;
pub mod retrieval;
pub mod server_tools;
