//! From matching chunks to passages, the results of a search (interface §7).
//!
//! All matching chunks of a document add to the score of its best one. Eight passages are to show eight places, so a
//! document's second passage ranks far behind its first, and neighbouring chunks are one passage. A test repeats the
//! words of the code that it tests, so its score is lower unless the query is about tests.
//!
//! Any ranking of the chunks will do: this file reads their scores only.

use std::cmp::Reverse;

use super::chunking::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES};
use super::terms::mentions_tests;

/// A chunk that matches.
#[derive(Debug)]
pub(in crate::retrieval) struct Candidate {
    pub(in crate::retrieval) id: u64,
    pub(in crate::retrieval) path: String,
    pub(in crate::retrieval) start_line: usize,
    pub(in crate::retrieval) end_line: usize,
    pub(in crate::retrieval) bytes: usize,
    /// In billionths, as all scores.
    pub(in crate::retrieval) score: i64,
}

/// Neighbouring chunks of a document, with the parts of their score.
#[derive(Clone, Copy, Debug)]
pub(in crate::retrieval) struct Passage {
    pub(in crate::retrieval) first: u64,
    pub(in crate::retrieval) last: u64,
    /// The best of its chunks, and the score of that chunk alone.
    pub(in crate::retrieval) best: u64,
    pub(in crate::retrieval) chunk: i64,
    /// The part of all matching chunks of the document: the best one's score, half of the second's, and so on.
    pub(in crate::retrieval) document: i64,
    /// How many passages of the document are better.
    pub(in crate::retrieval) place: u32,
    /// The bytes of its text, and those of its best chunk.
    pub(in crate::retrieval) bytes: usize,
    pub(in crate::retrieval) best_bytes: usize,
}

impl Passage {
    /// The score, divided by four for each better passage of the same document.
    pub(in crate::retrieval) fn score(&self) -> i64 {
        (self.chunk + self.document).checked_shr(self.place.saturating_mul(2)).unwrap_or_default()
    }

    fn best_alone(self) -> Self {
        Self { first: self.best, last: self.best, bytes: self.best_bytes, ..self }
    }
}

/// The best passages of the candidates. The candidates come document by document, the best of each first. Path and line
/// order equal scores, so the same chunks always make the same passages.
///
/// Their text has at most `max_bytes` in all. If a passage exceeds the remaining bytes, its best chunk is returned; if
/// that does not fit, the passage is skipped.
pub(in crate::retrieval) fn passages(
    candidates: &[Candidate],
    about_tests: bool,
    limit: usize,
    max_bytes: usize,
) -> Vec<Passage> {
    let longest = HARD_LIMIT_BYTES.min(max_bytes);
    let documents = candidates.chunk_by(|a, b| a.path == b.path);
    let all: Vec<Passage> =
        documents.flat_map(|chunks| of_document(chunks, about_tests, longest)).collect();
    let mut order: Vec<_> =
        (0_u64..).zip(&all).map(|(at, passage)| (Reverse(passage.score()), at)).collect();
    order.sort_unstable();
    let best = order.iter().take(limit).filter_map(|(_, at)| all.get(*at as usize).copied());
    let mut room = max_bytes;
    let fitting = best.filter_map(|passage| {
        let passage = if passage.bytes > room { passage.best_alone() } else { passage };
        room = room.checked_sub(passage.bytes)?;
        Some(passage)
    });
    fitting.collect()
}

/// The score of a chunk or of one of its terms, reduced by a fifth in a document of tests unless the query is about
/// tests.
pub(in crate::retrieval) fn weighted_score(score: i64, path: &str, about_tests: bool) -> i64 {
    if about_tests || !mentions_tests(path) { score } else { score - score / 5 }
}

/// The passages of a document. Neighbours are one passage of up to `longest` bytes.
fn of_document(candidates: &[Candidate], about_tests: bool, longest: usize) -> Vec<Passage> {
    let score = |chunk: &Candidate| weighted_score(chunk.score, &chunk.path, about_tests);
    let share = |(place, chunk)| score(chunk).checked_shr(place).unwrap_or_default();
    let document = (0..).zip(candidates).map(share).sum();
    let mut free: Vec<&Candidate> = candidates.iter().collect();
    let mut passages: Vec<Passage> = Vec::new();
    for best in candidates {
        let Some(at) = free.iter().position(|chunk| chunk.id == best.id) else { continue };
        free.remove(at);
        let (mut first, mut last, mut bytes) = (best, best, best.bytes);
        // Extend by the better adjacent chunk that fits.
        while let Some(at) = free.iter().position(|next| {
            let start = first.start_line.min(next.start_line);
            (next.id + 1 == first.id || next.id == last.id + 1)
                && bytes + next.bytes <= longest
                && last.end_line.max(next.end_line) < start + HARD_LIMIT_LINES
        }) {
            let next = free.remove(at);
            bytes += next.bytes;
            *(if next.id < first.id { &mut first } else { &mut last }) = next;
        }
        passages.push(Passage {
            first: first.id,
            last: last.id,
            best: best.id,
            chunk: score(best),
            document,
            place: u32::try_from(passages.len()).unwrap_or(u32::MAX),
            bytes,
            best_bytes: best.bytes,
        });
    }
    passages
}
