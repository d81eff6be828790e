//! aptix-edge: agent turns at the edge.
//!
//! One `POST /execute` is one turn, or the tool results that let a paused one go on. It passes the
//! six layers of AGN-027, which are folders of this crate. What clients are promised stands in
//! `src/contract/interface/`, a page a section.
//!
//! | folder | layer | owns |
//! |---|---|---|
//! | [`composition`] | 1 | every word, tool list and wire item that the model sees |
//! | [`llm_call`] | 2 | one call to the model service, and its output in one form |
//! | [`server_tools`] | 3 | running one call of what the server runs |
//! | [`reasoner`] | 4 | the only loop: retries, remedies, mode changes, where a turn stops |
//! | [`persistence`] | 5 | what is kept, the turn's life cycle, open calls and their settlement |
//! | [`entry`] | 6 | the front door: from method, path, headers and body to one plain response |
//!
//! Five features stand beside the layers, each whole in its folder: [`retrieval`] (a workspace's index,
//! and what a turn is given from it), [`users`] (the sessions of a user, and erasing the user), [`mcp`] (MCP servers of the operator's: their tools, the objects that keep the
//! tools' lists, and calls), [`files`] (files that tools make) and [`webhooks`] (messages about turns that end or wait). The others are the ground:
//!
//! | folder | owns |
//! |---|---|
//! | [`contract`] | AGN-033 and AGN-034: what clients send and see |
//! | [`responses_api`] | the model service's wire format |
//! | [`catalog`] | contexts, modes and tools, as the operator writes them |
//! | [`object`] | the kernel of Durable Objects: the form of tables, the alarm, the tasks that are owed to the outside, and what one object asks another |
//! | [`ports`] | the traits that the machine implements, and the deployment's settings |
//! | [`live_text`] | a submission's text as it grows, and its delivery to watchers |
//! | [`outbound`] | calls to services of the operator's own |
//! | [`tracing`] | the names and attributes of a turn's spans |
//! | [`identity`] | who asks: callers, what their credentials permit, tickets, tokens of identity providers; what the operator says of tenants |
//! | [`json`] | reading JSON objects with the place of each value |
//! | [`encoding`] | hex, SHA-256, base64, media types, server-sent events, points in time |
//! | [`platform`] | the Workers runtime behind the ports; it decides nothing |
//!
//! # How a turn runs
//!
//! [`entry::FrontDoor`] finds the endpoint, checks the key, reads the body and hands it to the session's
//! object. [`entry::SessionHost`] admits the submission without an await, so that the second of two
//! equal requests meets what the first one stored. [`reasoner::Reasoner`] runs the turn apart from its
//! client: the stored state decides the next step, the retrieval for its message being the first, so a turn
//! goes on after any cut. Watchers read
//! [`live_text::LiveText`], each with a position of its own.
//!
//! # Invariants
//!
//! `tests/architecture/` checks each of them.
//!
//! - A table there says which folder may name which other one; no two files name each other in a circle.
//! - Only `platform` names `worker`, `wasm_bindgen`, `js_sys` or `web_sys`; everything else runs natively.
//! - Only the reasoner names the first three layers; only it repeats a call or changes a session's mode
//!   (AGN-027 §3.1.3). Entry may have the model service delete what it stored for an erased session, and cancel
//!   what nobody reads any more.
//! - Only `composition` writes the requests that the model sees (AGN-027 §3.1.1), and only `llm_call` calls
//!   the model service. The catalog holds the operator's words, a tool its own result.
//! - An `InvokeResult` is built in one place, `contract::invoke_result`.
//! - Clock, randomness and secrets come in through `ports`.
//!
//! # The documents' names and ours
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
pub mod identity;
pub mod json;
pub mod live_text;
pub mod llm_call;
pub mod mcp;
pub mod object;
pub mod outbound;
pub mod persistence;
pub mod platform;
pub mod ports;
pub mod reasoner;
pub mod responses_api;
pub mod retrieval;
pub mod server_tools;
pub mod tracing;
pub mod users;
pub mod webhooks;
