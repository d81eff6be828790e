//! The body of a request that this deployment sends, to an object of its own or to a service.

/// A body to send, which is read piece by piece.
pub trait RequestBody {
    /// Its length in bytes.
    fn length(&self) -> usize;

    /// Bytes from `from`, at least one and at most `most`; none at the end. `None` when there is no such
    /// place, or when the bytes can no longer be read: a request whose body ends so is given up.
    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>>;
}

impl<B: RequestBody + ?Sized> RequestBody for &B {
    fn length(&self) -> usize {
        (**self).length()
    }

    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>> {
        (**self).piece(from, most)
    }
}

impl RequestBody for String {
    fn length(&self) -> usize {
        self.len()
    }

    fn piece(&self, from: usize, most: usize) -> Option<Vec<u8>> {
        let rest = self.as_bytes().get(from..)?;
        Some(rest.get(..most).unwrap_or(rest).to_vec())
    }
}
