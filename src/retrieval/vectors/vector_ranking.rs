//! The chunks whose vectors are nearest to a question's, within a scope (interface §7).
//!
//! Every vector of the scope is compared, so the ranking is exact, and a change of documents leaves no structure to
//! update.

use std::cmp::Reverse;

use super::question_vector::QuestionVector;
use super::vector_tables::ROW_CHUNKS;
use crate::contract::{Result, json_text};
use crate::ports::Database;
use crate::retrieval::index::{RankedChunks, Selection, Span, Spans, Tables};
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The work of reading and multiplying a byte of a vector, and of reading a row besides.
const BYTE_WORK: Work = Work::from_ps(400);
const ROW_WORK: Work = Work::from_ns(1_500);

/// The rows of vectors in some spans of chunks, in the order of ids. Set ids are reused: rows whose length is another
/// model's are skipped.
const NEAR: &str = "SELECT v.first_chunk AS id, v.vectors AS bytes
    FROM json_each(?) AS span CROSS JOIN vectors AS v ON v.vector_set = ?
        AND v.first_chunk BETWEEN span.value ->> 0 AND span.value ->> 1
    WHERE length(v.vectors) = v.chunks * ?
    LIMIT ?";

/// The score of the first place by vectors where words match nothing, in billionths.
const FIRST_SCORE: i64 = 1_000_000_000;

/// The ranking of chunks by their nearness to a question.
pub(crate) struct VectorRanking<'q> {
    question: &'q QuestionVector,
    /// The most chunks in `best`.
    limit: usize,
    /// By similarity.
    best: RankedChunks,
    /// The chunks that have a vector.
    covered: Vec<Span>,
}

impl<'q> VectorRanking<'q> {
    /// The `limit` nearest chunks; none yet.
    pub(crate) fn new(question: &'q QuestionVector, limit: usize) -> Self {
        Self { question, limit, best: Vec::new(), covered: Vec::new() }
    }

    /// Ranks the selected chunks from `floor` up to `end`.
    pub(crate) async fn rank<D: Database, F: AsyncFn()>(
        &mut self,
        tables: &Tables<D>,
        budget: &mut WorkBudget<F>,
        selection: &Selection,
        floor: u64,
        end: u64,
    ) -> Result<()> {
        let QuestionVector { set, vector, .. } = self.question;
        let length = vector.bytes().len();
        let row = ROW_WORK + BYTE_WORK.times(ROW_CHUNKS * length);
        let rows = row.times_per_slice();
        // Chunks that are ranked again replace their former results.
        self.best.retain(|(_, id)| *id < floor || *id >= end);
        self.covered.retain(|[first, _]| *first < floor || *first >= end);
        let mut from = Some(floor);
        while let Some(first) = from {
            // A row has the vector of one chunk at least.
            let most =
                usize::try_from(end.saturating_sub(first)).map_or(rows, |most| rows.min(most));
            budget.spend(row.times(most)).await;
            let named = selection.within.as_ref().unwrap_or(&selection.without);
            let to = named.statement_end(first, end);
            let spans = json_text("A scope", &selected_spans(selection, first, to))?;
            let (mut passed, mut next) = (0, first);
            let parameters = [spans.into(), (*set).into(), length.into(), rows.into()];
            tables.database.each_bytes(NEAR, &parameters, &mut |id, vectors| {
                self.add(id, vectors);
                (passed, next) = (passed + 1, id + 1);
            })?;
            self.shorten(self.limit);
            from = if passed == rows { Some(next) } else { (to < end).then_some(to) };
        }
        Ok(())
    }

    /// The similarity of one of the nearest chunks, in billionths.
    pub(crate) fn similarity(&self, id: u64) -> Option<i64> {
        self.best.iter().find(|(_, near)| *near == id).map(|(similarity, _)| similarity.0)
    }

    /// The part of a chunk's score that its score by words makes, in thousandths.
    pub(crate) fn part_by_words(&self, id: u64) -> i64 {
        let has_vector = self.covered.iter().any(|[first, last]| (*first..=*last).contains(&id));
        if has_vector { 1000 - i64::from(self.question.weight) } else { 1000 }
    }

    /// This ranking and one by words as one ranking.
    ///
    /// A place by vectors has the score of the same place by words. So the scores keep the scale from which passages
    /// are made; reciprocal ranks, lying close together, would lose it. A chunk that has no vector yet keeps its score
    /// by words.
    pub(crate) fn fused_with(&self, words: &RankedChunks) -> RankedChunks {
        let mut score = words.first().map_or(FIRST_SCORE, |(score, _)| score.0);
        let by_place = self.best.iter().enumerate().map(|(place, (_, id))| {
            score = words.get(place).map_or(score - score / 32, |(score, _)| score.0);
            (*id, score)
        });
        let by_place: Vec<(u64, i64)> = by_place.collect();
        let covered = Spans::of(self.covered.clone());
        let with_words = words.iter().map(|(Reverse(by_words), id)| {
            let by_vector = match by_place.iter().find(|(near, _)| near == id) {
                Some((_, score)) => *score,
                None if covered.covers(*id) => 0,
                None => *by_words,
            };
            (self.fused_score(*by_words, by_vector), *id)
        });
        let has_words = |id: u64| words.iter().any(|(_, known)| *known == id);
        let without_words = by_place.iter().filter(|(id, _)| !has_words(*id));
        let without_words = without_words.map(|(id, score)| (self.fused_score(0, *score), *id));
        let fused = with_words.chain(without_words);
        // Where only one of the rankings counts, the other's chunks have no score.
        let mut fused: RankedChunks = fused.filter(|(score, _)| score.0 > 0).collect();
        fused.sort_unstable();
        fused
    }

    /// The score of a chunk, from its score by words and that of its place by vectors.
    fn fused_score(&self, by_words: i64, by_vector: i64) -> Reverse<i64> {
        let weight = i64::from(self.question.weight);
        Reverse(((1000 - weight) * by_words + weight * by_vector) / 1000)
    }

    /// Adds the chunks from `first` on, whose vectors follow one another.
    fn add(&mut self, first: u64, vectors: &[u8]) {
        let mut last = first;
        for (id, similarity) in (first..).zip(self.question.vector.similarities(vectors)) {
            last = id;
            let similarity = Reverse(similarity);
            // A chunk behind the last of the nearest has no place.
            if self.best.get(self.limit).is_some_and(|(last, _)| similarity >= *last) {
                continue;
            }
            self.best.push((similarity, id));
            // Only in a sorted list does the entry at `limit` bound the nearest.
            if self.best.len() == self.limit + 1 || self.best.len() > 2 * self.limit {
                self.shorten(self.limit + 1);
            }
        }
        self.covered.push([first, last]);
    }

    /// Sorts, and keeps the nearest `most`.
    fn shorten(&mut self, most: usize) {
        self.best.sort_unstable();
        self.best.truncate(most);
    }
}

/// The selected chunks from `from` up to `end`.
fn selected_spans(selection: &Selection, from: u64, end: u64) -> Vec<Span> {
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
    use crate::retrieval::vectors::quantized_vector::QuantizedVector;

    #[test]
    fn the_nearest_chunks_are_kept_in_whatever_order_they_come() {
        let question =
            QuestionVector { set: 1, vector: QuantizedVector::of(&[1.0, 0.0]), weight: 430 };
        // The larger the second number, the farther is the chunk.
        let stored = |far: u64| QuantizedVector::of(&[1.0, far as f32 / 10.0]).bytes().to_vec();
        let orders = (0..11).flat_map(|start| (1..11).map(move |step| (start, step)));
        for ((start, step), row) in orders.flat_map(|order| [(order, 2), (order, 5)]) {
            let order: Vec<u64> = (0..11).map(|place| (start + place * step) % 11).collect();
            let mut ranking = VectorRanking::new(&question, 3);
            for (number, chunks) in order.chunks(row).enumerate() {
                let vectors: Vec<u8> = chunks.iter().flat_map(|far| stored(*far)).collect();
                ranking.add((number * row) as u64, &vectors);
                ranking.shorten(if number % 2 == 0 { 3 } else { 4 });
            }
            ranking.shorten(3);
            let kept: Vec<u64> = ranking.best.iter().map(|(_, id)| order[*id as usize]).collect();
            assert_eq!(kept, [0, 1, 2], "{order:?} in rows of {row}");
        }
    }
}
