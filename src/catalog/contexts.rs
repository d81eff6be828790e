//! Where sessions begin and go on (interface §6, `Rollout` and `Instead`).

use super::definitions::Catalog;

impl Catalog {
    /// What the document says of itself.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}
