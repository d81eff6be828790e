//! aptix-edge: agent turns at the edge. Layers of AGN-027, each in its folder.

pub mod catalog;
pub mod contract;
pub mod responses_api;
