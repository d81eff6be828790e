//! The chunks whose vectors are nearest to a question's, within a scope (interface §7).
//!
//! All vectors of the scope are looked at, so the ranking is exact, and nothing has to be kept in order when
//! documents change.

use std::cmp::Reverse;

use super::quantized_vector::Vector;
use super::vector_tables::ROW_CHUNKS;
use crate::contract::Fault;
use crate::ports::Database;
use crate::retrieval::index::{Selection, Span, Spans, Tables};
use crate::retrieval::pace::{Pace, SLICE};

/// The picoseconds of reading and multiplying a byte of a vector, and the nanoseconds of reading a row besides.
const BYTE_PS: usize = 400;
const ROW_NS: usize = 1_500;

/// The vectors of a span of chunks. The spans come in their order, and so do the rows. One of another length, of a
/// model that came to the number of the forgotten one, would be cut into vectors of chunks that are not its own.
const NEAR: &str = "SELECT v.first_chunk AS id, v.vectors AS bytes
    FROM json_each(?) AS span CROSS JOIN vectors AS v ON v.vector_set = ?
        AND v.first_chunk BETWEEN span.value ->> 0 AND span.value ->> 1
    WHERE length(v.vectors) = v.chunks * ?
    LIMIT ?";

/// What a question means: its vector, among the vectors that it can be compared with.
#[derive(Clone, Debug)]
pub struct Meaning {
    pub(in crate::retrieval) set: u64,
    pub(in crate::retrieval) vector: Vector,
}

/// The best chunks: scores in billionths and ids, best first.
pub(in crate::retrieval) type Ranked = Vec<(Reverse<i64>, u64)>;

/// What the first place by meaning is worth where words find nothing, in billionths.
const FIRST_WORTH: i64 = 1_000_000_000;

/// The chunks that are nearest to a question.
pub(in crate::retrieval) struct Similar<'s> {
    meaning: &'s Meaning,
    most: usize,
    /// Their similarities, in billionths, and their ids, best first.
    best: Ranked,
    /// The chunks that have a vector.
    covered: Vec<Span>,
}

impl<'s> Similar<'s> {
    /// The `most` nearest chunks, none of them known yet.
    pub(in crate::retrieval) fn new(meaning: &'s Meaning, most: usize) -> Self {
        Self { meaning, most, best: Vec::new(), covered: Vec::new() }
    }

    /// Looks at the vectors of chunks from `first` on.
    fn look_at(&mut self, first: u64, stored: &[u8]) {
        let mut last = first;
        for (id, similarity) in (first..).zip(self.meaning.vector.similarities(stored)) {
            last = id;
            let similarity = Reverse(similarity);
            // What is behind the last one that is kept has no place.
            if self.best.get(self.most).is_some_and(|(last, _)| similarity >= *last) {
                continue;
            }
            self.best.push((similarity, id));
            // Only in a sorted list the one at `most` is that one.
            if self.best.len() == self.most + 1 || self.best.len() > 2 * self.most {
                self.keep(self.most + 1);
            }
        }
        self.covered.push([first, last]);
    }

    /// Keeps so many of the nearest, in their order.
    fn keep(&mut self, most: usize) {
        self.best.sort_unstable();
        self.best.truncate(most);
    }

    /// The similarity of one of the nearest chunks, in billionths.
    pub(in crate::retrieval) fn similarity(&self, id: u64) -> Option<i64> {
        self.best.iter().find(|(_, near)| *near == id).map(|(similarity, _)| similarity.0)
    }

    /// A ranking by words and this one as one ranking.
    ///
    /// What counts is the place by meaning: it is worth what the same place by words is worth. So the scores keep
    /// the scale from which passages are made, which reciprocal ranks, lying close together, would lose. A chunk
    /// that has no vector yet stands by meaning where it stands by words.
    pub(in crate::retrieval) fn fused_with(&self, words: &Ranked) -> Ranked {
        let mut worth = words.first().map_or(FIRST_WORTH, |(score, _)| score.0);
        let mut near = Vec::new();
        for (place, (_, id)) in self.best.iter().enumerate() {
            worth = words.get(place).map_or(worth - worth / 32, |(score, _)| score.0);
            near.push((worth, *id));
        }
        let covered = Spans::of(self.covered.clone());
        let mut fused = Ranked::new();
        for (Reverse(by_words), id) in words {
            let by_meaning = match near.iter().find(|(_, near)| near == id) {
                Some((worth, _)) => *worth,
                None if covered.covers(*id) => 0,
                None => *by_words,
            };
            fused.push((Reverse(weighed(*by_words, by_meaning)), *id));
        }
        for (worth, id) in near {
            if !words.iter().any(|(_, known)| *known == id) {
                fused.push((Reverse(weighed(0, worth)), id));
            }
        }
        fused.sort_unstable();
        fused
    }

    /// Looks at the selected chunks from `floor` up to `end`.
    pub(in crate::retrieval) async fn rank<D: Database, F: AsyncFn()>(
        &mut self,
        tables: &Tables<D>,
        pace: &mut Pace<F>,
        selection: &Selection,
        (floor, end): (u64, u64),
    ) -> Result<(), Fault> {
        let Meaning { set, vector } = self.meaning;
        // Not in picoseconds: a slice has more of them than 32 bits count.
        let row_ns = ROW_NS + ROW_CHUNKS * vector.bytes().len() * BYTE_PS / 1_000;
        let rows = (SLICE * 1_000 / row_ns).max(1);
        // What is looked at again replaces what it gave.
        self.best.retain(|(_, id)| *id < floor || *id >= end);
        self.covered.retain(|[first, _]| *first < floor || *first >= end);
        let mut from = Some(floor);
        while let Some(first) = from {
            pace.before(rows * row_ns / 1_000).await;
            let spans = serde_json::to_string(&spans(selection, first, end));
            let spans = spans.map_err(|_| Fault::unwritable("A scope"))?;
            let (mut passed, mut next) = (0, first);
            let length = vector.bytes().len();
            let parameters = [spans.into(), (*set).into(), length.into(), rows.into()];
            tables.database.each_bytes(NEAR, &parameters, &mut |id, bytes| {
                self.look_at(id, bytes);
                (passed, next) = (passed + 1, id + 1);
            })?;
            self.keep(self.most);
            from = (passed == rows).then_some(next);
        }
        Ok(())
    }
}

/// Words weigh a little more than meaning: a name that a question spells out is seldom chance.
fn weighed(by_words: i64, by_meaning: i64) -> i64 {
    (4 * by_words + 3 * by_meaning) / 7
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_chunks_are_kept_in_whatever_order_they_come() {
        let meaning = Meaning { set: 1, vector: Vector::of(&[1.0, 0.0]) };
        // The larger the second number, the farther is the chunk.
        let stored = |far: u64| Vector::of(&[1.0, far as f32 / 10.0]).bytes().to_vec();
        let orders = (0..11).flat_map(|start| (1..11).map(move |step| (start, step)));
        for ((start, step), row) in orders.flat_map(|order| [(order, 2), (order, 5)]) {
            let order: Vec<u64> = (0..11).map(|place| (start + place * step) % 11).collect();
            let mut similar = Similar::new(&meaning, 3);
            for (number, chunks) in order.chunks(row).enumerate() {
                let vectors: Vec<u8> = chunks.iter().flat_map(|far| stored(*far)).collect();
                similar.look_at((number * row) as u64, &vectors);
                similar.keep(if number % 2 == 0 { 3 } else { 4 });
            }
            similar.keep(3);
            let kept: Vec<u64> = similar.best.iter().map(|(_, id)| order[*id as usize]).collect();
            assert_eq!(kept, [0, 1, 2], "{order:?} in rows of {row}");
        }
    }
}
