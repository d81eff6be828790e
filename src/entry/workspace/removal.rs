//! `DELETE …/documents`: the documents that a request names leave the index (interface §7).
//!
//! It must not decide what a path may mean: that is `RemovedPath`.

use crate::contract::{Result, shown};
use crate::entry::removed_path::RemovedPath;
use crate::ports::Database;
use crate::retrieval::{ChunkIndex, Counts, WorkBudget};

shown! {
    /// What a request removed: all its paths together, and where it has several, each of them in its order.
    pub(super) struct Removal<'p> {
        #[serde(flatten)]
        all: Counts,
        removed?: Vec<RemovedAt<'p>>,
    }

    /// What one path removed.
    struct RemovedAt<'p> {
        path: &'p str,
        #[serde(flatten)]
        counts: Counts,
    }
}

impl<'p> Removal<'p> {
    /// Removes what the paths name.
    ///
    /// # Errors
    /// The storage fails: some may be removed.
    pub(super) async fn of<D: Database, F: AsyncFn()>(
        index: &ChunkIndex<D>,
        budget: &mut WorkBudget<F>,
        paths: &'p [RemovedPath],
    ) -> Result<Self> {
        let mut removal = Self { all: Counts::default(), removed: Vec::new() };
        for path in paths {
            // The first reading that names a document is the one that is meant.
            let mut counts = Counts::default();
            for reading in path.readings() {
                counts = index.remove(budget, reading).await?;
                if counts.documents > 0 {
                    break;
                }
            }
            removal.all.documents += counts.documents;
            removal.all.chunks += counts.chunks;
            removal.all.bytes += counts.bytes;
            if paths.len() > 1 {
                removal.removed.push(RemovedAt { path: &path.sent, counts });
            }
        }
        Ok(removal)
    }
}
