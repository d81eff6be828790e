//! A client's request as it came to the door.

use crate::entry::request::RequestHead;
use crate::entry::request_id::RequestId;

/// A client's request as it came to the door.
pub(super) struct Arrival<'a> {
    pub(super) head: &'a RequestHead<'a>,
    pub(super) id: &'a RequestId,
    /// In milliseconds since the epoch.
    pub(super) received_at: u64,
}
