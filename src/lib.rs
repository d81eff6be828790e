//! aptix-edge: agent turns at the edge. Layers of AGN-027, each in its folder.

pub mod catalog;
pub mod composition;
pub mod contract;
pub mod llm_call;
pub mod persistence;
pub mod pipeline;
pub mod reasoner;
pub mod responses_api;
pub mod server_tools;
