//! Files that server tools and the model make (interface §8; AGN-033 §6): a bucket keeps them, clients get signed
//! links, and no text embeds them.
//!
//! Architecture Invariant: this folder names only `contract`, `encoding`, `json` and `ports`.

mod data_urls;
mod download;
mod files_member;
mod hashed_contents;
mod keep;
mod link;
mod output_file;
mod pictures;
mod text_check;

pub use data_urls::{embeds_contents_of_its_own, keep_part_contents, without_part_contents};
pub use download::{
    LinkRefusal, RequestedRange, file_headers, is_known, no_such_file, open_link, requested_range,
};
pub use keep::{FileFailure, FileLinks, keep_files};
pub use link::{FileId, FileLink, PresentedLink};
pub use output_file::OutputFile;
pub use pictures::keep_picture;
pub use text_check::embeds_contents;
