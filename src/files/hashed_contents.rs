//! The contents of a file, and the hash that names them.

use crate::encoding::RunningSha256;

/// The bytes that are hashed in one slice: others are not to wait for a whole file.
pub(super) const SLICE_BYTES: usize = 512 * 1024;

/// Contents that are to be kept.
pub(super) struct HashedContents {
    pub(super) bytes: Vec<u8>,
    /// In lower-case hex.
    pub(super) sha256: String,
}

impl HashedContents {
    /// Hashes the contents. `yield_after` follows each slice, with its length in bytes.
    pub(super) async fn of(bytes: Vec<u8>, yield_after: &impl AsyncFn(usize)) -> Self {
        let mut hash = RunningSha256::default();
        for slice in bytes.chunks(SLICE_BYTES) {
            hash.add(slice);
            yield_after(slice.len()).await;
        }
        Self { bytes, sha256: hash.finish() }
    }
}
