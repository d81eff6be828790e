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
            let counts = removed_at(index, budget, path).await?;
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

/// The first reading that names a document is the one that is meant.
async fn removed_at<D: Database, F: AsyncFn()>(
    index: &ChunkIndex<D>,
    budget: &mut WorkBudget<F>,
    path: &RemovedPath,
) -> Result<Counts> {
    let mut removed = Counts::default();
    for reading in path.readings() {
        removed = index.remove(budget, reading).await?;
        if removed.documents > 0 {
            break;
        }
    }
    Ok(removed)
}
