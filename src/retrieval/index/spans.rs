//! Sets of documents, by the ids of their chunks.
//!
//! A document's chunks have consecutive ids that are never used again, so its span names it: two spans
//! are equal or have no id in common.

use crate::contract::{Result, json_text};

/// The most documents that one statement names. As JSON their ids stay far below the 2 MB that the object's storage takes
/// as one value.
const STATEMENT_SPANS: usize = 8_192;

/// The first and the last chunk of a document.
pub(crate) type Span = [u64; 2];

/// A set of documents, in the order of their chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans(Vec<Span>);

impl Spans {
    pub(crate) fn of(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable();
        spans.dedup();
        Self(spans)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.0.first().map(|[first, _]| *first)
    }

    /// Whether one of the spans holds the id.
    pub(crate) fn covers(&self, id: u64) -> bool {
        let at = self.0.partition_point(|[_, last]| *last < id);
        self.0.get(at).is_some_and(|[first, _]| *first <= id)
    }

    fn contains(&self, span: &Span) -> bool {
        self.0.binary_search(span).is_ok()
    }

    /// Keeps the documents that the other set also has.
    pub(crate) fn intersect(&mut self, other: &Self) {
        self.0.retain(|span| other.contains(span));
    }

    /// Removes the documents that the other set has.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.0.retain(|span| !other.contains(span));
    }

    /// Adds the documents of the other set.
    pub(crate) fn unite(&mut self, other: Self) {
        let mut both = std::mem::take(&mut self.0);
        both.extend(other.0);
        *self = Self::of(both);
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The documents, at most so many at a time.
    pub(crate) fn pieces(&self, most: usize) -> std::slice::Chunks<'_, Span> {
        self.0.chunks(most)
    }

    /// The end, `end` at most, of the ids from `from` on of which one statement can name the documents.
    pub(crate) fn statement_end(&self, from: u64, end: u64) -> u64 {
        let start = self.0.partition_point(|[_, last]| *last < from);
        self.0.get(start + STATEMENT_SPANS).map_or(end, |[first, _]| end.min(*first))
    }

    /// The set as a JSON array.
    pub(crate) fn json(&self) -> Result<String> {
        json_text("A scope", &self.0)
    }

    /// The first id from `from` up to `end` that the set covers, and the id behind the last one.
    pub(crate) fn bounds(&self, from: u64, end: u64) -> Option<(u64, u64)> {
        let (covered, _) = self.between(from, end);
        Some((covered.first()?[0], covered.last()?[1] + 1))
    }

    /// The ids from `from` up to `end` that the set covers: spans as long as possible, and their length
    /// in all.
    pub(crate) fn between(&self, from: u64, end: u64) -> (Vec<Span>, u64) {
        let mut covered: Vec<Span> = Vec::new();
        let mut length = 0;
        let start = self.0.partition_point(|[_, last]| *last < from);
        for [first, last] in self.0.iter().skip(start).take_while(|[first, _]| *first < end) {
            let (first, last) = (from.max(*first), (*last).min(end - 1));
            length += 1 + last - first;
            match covered.last_mut() {
                Some([_, above]) if *above + 1 == first => *above = last,
                _ => covered.push([first, last]),
            }
        }
        (covered, length)
    }
}
