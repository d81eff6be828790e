//! The kernel of Durable Objects, over SQLite.

mod document_keeper;
mod schema;
mod task_rig;
mod task_runs;
mod tasks;
