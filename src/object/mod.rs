//! The kernel of Durable Objects: what every class of object needs, whatever it stores.
//!
//! Architecture Invariant: this folder names only `contract` and `ports`.

mod alarm;
mod backoff;
mod document_keeper;
mod newer_form;
mod question;
mod schema;
mod task_runner;
mod tasks;

pub use alarm::Alarm;
pub use backoff::{Backoff, FIRST_WAIT_MS};
pub use document_keeper::{DocumentKeeper, FetchedDocument, KeptDocument};
pub use newer_form::NewerForm;
pub(crate) use question::question;
pub use question::{Question, ask, ask_in_time, asked_again};
pub use schema::{Schema, Step, drop_tables, has_table};
pub use task_runner::{Attempt, TaskHandler, TaskRunner};
pub use tasks::{Attempted, Next, Task, TaskKind, TaskRecord, TaskState, Tasks};
