//! From matching chunks to passages, the results of a search (interface §7).
//!
//! All matching chunks of a document add to the score of its best one. Eight passages are to show eight places, so a
//! document's second passage ranks far behind its first, and neighbouring chunks are one passage. A test repeats the
//! words of the code that it tests, and a record those of many documents, so their scores are lower unless the query is
//! about them; and a test shows what its file is about, so the file gets a part of the test's score.
//!
//! Any ranking of the chunks will do: this file reads their scores only.

use std::cmp::Reverse;

use super::chunking::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES};
use super::document_kind::{AskedKinds, tested_files};

/// The percentage of a test's score that is added to the score of the file that it tests.
const LENT_PERCENT: i64 = 30;

/// A chunk that matches.
pub(crate) struct Candidate {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) start_line: usize,
    pub(crate) end_line: usize,
    pub(crate) bytes: usize,
    /// In billionths, as all scores.
    pub(crate) score: i64,
}

/// Neighbouring chunks of a document, with the parts of their score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The best of its chunks, and the score of that chunk alone.
    pub(crate) best: u64,
    pub(crate) chunk: i64,
    /// The part of all matching chunks of the document: the best one's score, half of the second's, and so on; and
    /// [`LENT_PERCENT`] of the scores of its tests.
    pub(crate) document: i64,
    /// How many passages of the document are better.
    pub(crate) place: u32,
    /// The bytes of its text, and those of its best chunk.
    pub(crate) bytes: usize,
    pub(crate) best_bytes: usize,
}

impl Passage {
    /// The score, divided by four for each better passage of the same document.
    pub(crate) fn score(&self) -> i64 {
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
/// that does not fit, the passage is skipped, or with `shows_unfit` returned besides.
pub(crate) fn passages(
    candidates: &[Candidate],
    asked: &AskedKinds,
    limit: usize,
    (max_bytes, shows_unfit): (usize, bool),
) -> Vec<Passage> {
    let longest = HARD_LIMIT_BYTES.min(max_bytes);
    let documents = MatchingDocument::all(candidates, asked);
    let all: Vec<Passage> =
        documents.iter().flat_map(|document| document.passages(longest)).collect();
    let mut order: Vec<_> =
        (0_u64..).zip(&all).map(|(at, passage)| (Reverse(passage.score()), at)).collect();
    order.sort_unstable();
    let best = order.iter().take(limit).filter_map(|(_, at)| all.get(*at as usize).copied());
    let mut room = max_bytes;
    let fitting = best.filter_map(|passage| {
        let passage = if passage.bytes > room { passage.best_alone() } else { passage };
        let rest = room.checked_sub(passage.bytes);
        room = rest.unwrap_or(room);
        (rest.is_some() || shows_unfit).then_some(passage)
    });
    fitting.collect()
}

/// The part of the score of a chunk or of one of its terms that a document at the path keeps.
pub(crate) fn weighted_score(score: i64, path: &str, asked: &AskedKinds) -> i64 {
    score * asked.tenths(path) / 10
}

/// The chunks of a document that match, the best first.
struct MatchingDocument<'c> {
    chunks: &'c [Candidate],
    /// The tenths of a chunk's score that count.
    tenths: i64,
    /// The part of all chunks, and of tests.
    score: i64,
}

impl<'c> MatchingDocument<'c> {
    fn all(candidates: &'c [Candidate], asked: &AskedKinds) -> Vec<Self> {
        let path = |chunks: &'c [Candidate]| chunks.first().map_or("", |chunk| &chunk.path);
        let documents = candidates.chunk_by(|a, b| a.path == b.path);
        let document = |chunks| Self { chunks, tenths: asked.tenths(path(chunks)), score: 0 };
        let mut documents: Vec<Self> = documents.map(document).collect();
        for document in &mut documents {
            let share = |(place, chunk)| document.chunk_score(chunk).checked_shr(place);
            document.score = (0..).zip(document.chunks).filter_map(share).sum();
        }
        if !asked.tests {
            let paths: Vec<&str> = documents.iter().map(|document| path(document.chunks)).collect();
            let lent = |(test, file): (usize, usize)| {
                let test = documents.get(test)?;
                let best = test.chunks.first().map_or(0, |chunk| test.chunk_score(chunk));
                Some((file, (best + test.score) * LENT_PERCENT / 100))
            };
            let lent: Vec<_> = tested_files(&paths).into_iter().filter_map(lent).collect();
            for (file, score) in lent {
                if let Some(file) = documents.get_mut(file) {
                    file.score += score;
                }
            }
        }
        documents
    }

    fn chunk_score(&self, chunk: &Candidate) -> i64 {
        chunk.score * self.tenths / 10
    }

    /// The passages. Neighbours are one passage of up to `longest` bytes.
    fn passages(&self, longest: usize) -> Vec<Passage> {
        let mut free: Vec<&Candidate> = self.chunks.iter().collect();
        let mut passages: Vec<Passage> = Vec::new();
        for best in self.chunks {
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
                chunk: self.chunk_score(best),
                document: self.score,
                place: u32::try_from(passages.len()).unwrap_or(u32::MAX),
                bytes,
                best_bytes: best.bytes,
            });
        }
        passages
    }
}
