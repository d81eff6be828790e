//! The chunks whose vectors are nearest to a question's, within a scope (interface §7).
//!
//! All vectors of the scope are looked at, so the ranking is exact, and nothing has to be kept in order when
//! documents change.

use std::cmp::Reverse;

use super::pace::{Pace, SLICE};
use super::scope::Selection;
use super::spans::Span;
use super::tables::Tables;
use super::vector::Vector;
use super::vectors::ROW_CHUNKS;
use crate::contract::Fault;
use crate::ports::Database;

/// The picoseconds of looking at a byte of a vector, and at a row besides.
const BYTE_PS: usize = 300;
const ROW_PS: usize = 2_000_000;

/// The vectors of a span of chunks. The spans come in their order, and so do the rows.
const NEAR: &str = "SELECT v.first_chunk AS id, v.vectors AS bytes
    FROM json_each(?) AS span CROSS JOIN vectors AS v ON v.vector_set = ?
        AND v.first_chunk BETWEEN span.value ->> 0 AND span.value ->> 1
    LIMIT ?";

/// What a question means: its vector, among the vectors that it can be compared with.
#[derive(Clone, Debug)]
pub struct Meaning {
    pub(super) set: u64,
    pub(super) vector: Vector,
}

/// The chunks that are nearest to a question.
pub(super) struct Similar<'s> {
    meaning: &'s Meaning,
    most: usize,
    /// Their similarities, in billionths, and their ids, best first.
    pub(super) best: Vec<(Reverse<i64>, u64)>,
}

impl<'s> Similar<'s> {
    /// The `most` nearest chunks, none of them known yet.
    pub(super) fn new(meaning: &'s Meaning, most: usize) -> Self {
        Self { meaning, most, best: Vec::new() }
    }

    /// Looks at the selected chunks from `floor` up to `end`.
    pub(super) async fn rank<D: Database, F: AsyncFn()>(
        &mut self,
        tables: &Tables<D>,
        pace: &mut Pace<F>,
        selection: &Selection,
        (floor, end): (u64, u64),
    ) -> Result<(), Fault> {
        let Meaning { set, vector } = self.meaning;
        let row_ps = ROW_PS + ROW_CHUNKS * vector.bytes().len() * BYTE_PS;
        let rows = (SLICE * 1_000_000 / row_ps).max(1);
        // What is looked at again replaces what it gave.
        self.best.retain(|(_, id)| *id < floor || *id >= end);
        let mut from = Some(floor);
        while let Some(first) = from {
            pace.before(rows * row_ps / 1_000_000).await;
            let spans = serde_json::to_string(&spans(selection, first, end));
            let spans = spans.map_err(|_| Fault::unwritable("A scope"))?;
            let (mut passed, mut next) = (0, first);
            let best = &mut self.best;
            let parameters = [spans.into(), (*set).into(), rows.into()];
            tables.database.each_bytes(NEAR, &parameters, &mut |id, bytes| {
                let ids = (id..).zip(vector.similarities(bytes));
                best.extend(ids.map(|(id, similarity)| (Reverse(similarity), id)));
                (passed, next) = (passed + 1, id + 1);
            })?;
            self.best.sort_unstable();
            self.best.truncate(self.most);
            from = (passed == rows).then_some(next);
        }
        Ok(())
    }
}

/// The selected chunks from `from` up to `end`.
fn spans(selection: &Selection, from: u64, end: u64) -> Vec<Span> {
    if let Some(within) = &selection.within {
        return within.between(from, end).0;
    }
    let (mut spans, mut from) = (Vec::new(), from);
    for [first, last] in selection.without.between(from, end).0 {
        if from < first {
            spans.push([from, first - 1]);
        }
        from = last + 1;
    }
    if from < end {
        spans.push([from, end - 1]);
    }
    spans
}
