//! What the six layers share and none of them owns: the seam to the platform, the deployment's
//! settings, chunks of context, and the text of a turn as it grows.
//!
//! Architecture Invariant: nothing here names a layer, and nothing here names `worker`.

mod chunk;
mod deployment;
#[cfg(test)]
pub(crate) mod double;
mod output_file;
mod platform;
mod run_report;
mod turn_stream;

pub use chunk::Chunk;
pub use deployment::Deployment;
pub use output_file::OutputFile;
pub use platform::{
    CHUNK_BYTES, Cancellation, FileFault, HttpFault, HttpMethod, HttpRequest, HttpResponse,
    Platform, ResponseBody,
};
pub use run_report::{RunReport, Timings};
pub use turn_stream::{Outcome, Position, StreamCursor, TurnStream};
