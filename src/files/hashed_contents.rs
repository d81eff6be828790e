//! The contents of a file, and the hash that names them.

use sha2::{Digest, Sha256};

use crate::encoding::hex;

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
        let mut hash = Sha256::new();
        for slice in bytes.chunks(SLICE_BYTES) {
            hash.update(slice);
            yield_after(slice.len()).await;
        }
        Self { bytes, sha256: hex(&hash.finalize()) }
    }
}
