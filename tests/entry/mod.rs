//! The front door: from a request's method, path, headers and body to one response.

mod alarms;
mod bodies;
mod callers;
mod catalogs;
mod downloads;
mod embeddings;
mod openapi;
mod playground;
mod published_rules;
mod retrieval;
mod rights;
mod two_versions;
mod workspaces;
