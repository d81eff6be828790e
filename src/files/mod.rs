//! Files that server tools and the model make (interface §8; AGN-033 §6): a bucket keeps them, clients get signed
//! links, and no text embeds them.
//!
//! Architecture Invariant: this folder names only `contract`, `encoding`, `json` and `ports`.

mod contents;
mod download;
mod inline_contents;
mod link;
mod listed_files;
mod output_file;
mod part_contents;
mod pictures;
mod tool_files;

pub use download::{
    LinkRefusal, RequestedRange, file_headers, is_known, no_such_file, open_link, requested_range,
};
pub use inline_contents::embeds_contents;
pub use link::{FileId, FileLink, PresentedLink};
pub use output_file::OutputFile;
pub use part_contents::{embeds_contents_of_its_own, keep_part_contents, without_part_contents};
pub use pictures::keep_picture;
pub use tool_files::{FileFailure, FileLinks, keep_files};
