//! The chunks that match a query's words best, by SQLite's BM25 (interface §7).
//!
//! One slice ranks the matches between two ids, so no slice is long, however many chunks match.

use std::cmp::Reverse;

use super::fields::{FIELDS, RANK};
use super::scope::Selection;
use super::spans::Span;
use super::tables::Tables;
use crate::contract::{Result, json_text};
use crate::ports::{Database, Row, SqlValue};
use crate::retrieval::work_budget::{Work, WorkBudget};

/// The work of ranking a match for each term of the query, and for as many terms more as [`EXTRA_TERMS`].
const TERM_WORK: Work = Work::from_ns(200);
const EXTRA_TERMS: usize = 5;

/// The best chunks: scores in billionths and ids, best first. Equal scores are in the order of ids.
pub(crate) type RankedChunks = Vec<(Reverse<i64>, u64)>;

/// The ranking of chunks by a query's words.
pub(crate) struct WordRanking<'t, D> {
    tables: &'t Tables<D>,
    /// The query as an expression of FTS5.
    expression: String,
    match_work: Work,
    /// The most chunks in `best`.
    limit: usize,
    pub(crate) best: RankedChunks,
}

/// A term of the query in a chunk.
pub(crate) struct TermMatch<'q> {
    pub(crate) chunk: u64,
    /// In billionths.
    pub(crate) score: i64,
    pub(crate) term: &'q str,
    /// The fields that hold the term.
    pub(crate) fields: Vec<&'static str>,
}

impl<'t, D: Database> WordRanking<'t, D> {
    /// The `limit` best chunks; none yet.
    pub(crate) fn new(tables: &'t Tables<D>, expression: String, limit: usize) -> Self {
        let terms = EXTRA_TERMS + expression.split(" OR ").count();
        Self { tables, expression, match_work: TERM_WORK.times(terms), limit, best: Vec::new() }
    }

    /// Ranks the selected chunks from `floor` up to `end`.
    pub(crate) async fn rank<F: AsyncFn()>(
        &mut self,
        budget: &mut WorkBudget<F>,
        selection: &Selection,
        floor: u64,
        end: u64,
    ) -> Result<()> {
        let mut from = floor;
        while from < end {
            // A scope is searched from its first chunk to its last.
            let (begin, end) = match &selection.within {
                Some(within) => match within.bounds(from, end) {
                    Some(bounds) => bounds,
                    None => break,
                },
                None => (from, end),
            };
            let matches = self.slice_matches().min(end - begin);
            budget.spend(self.match_work.times(matches as usize)).await;
            let named = selection.within.as_ref().unwrap_or(&selection.without);
            let to = named.statement_end(begin, self.slice_end(begin, end)?);
            match &selection.within {
                Some(within) => match within.between(begin, to) {
                    (_, 0) => {}
                    (spans, _) => self.rank_slice(WITHIN, Some(&spans), [begin, to])?,
                },
                None => match selection.without.between(begin, to) {
                    (_, 0) => self.rank_slice("", None, [begin, to])?,
                    (spans, _) => self.rank_slice(WITHOUT, Some(&spans), [begin, to])?,
                },
            }
            from = to;
        }
        Ok(())
    }

    /// The terms of the query in each of some chunks.
    pub(crate) fn matches_in(&self, chunks: &[u64]) -> Result<Vec<TermMatch<'_>>> {
        let ids = json_text("A search", chunks)?;
        let statement = format!(
            "SELECT rowid AS id, {RANK} AS score, bm25(terms, 1, 0, 0) < 0 AS Text,
                bm25(terms, 0, 1, 0) < 0 AS Comments, bm25(terms, 0, 0, 1) < 0 AS Path
            FROM terms WHERE terms MATCH ? AND +terms.rowid IN (SELECT value FROM json_each(?))"
        );
        let mut matches = Vec::new();
        for term in self.expression.split(" OR ") {
            let parameters = [term.into(), ids.as_str().into()];
            for row in &self.tables.database.query(&statement, &parameters)? {
                matches.push(TermMatch {
                    chunk: row.get("id")?,
                    score: row.get("score")?,
                    term: term.trim_matches('"'),
                    fields: matched_fields(row)?,
                });
            }
        }
        Ok(matches)
    }

    /// The most matches that one slice ranks.
    fn slice_matches(&self) -> u64 {
        self.match_work.times_per_slice() as u64
    }

    /// The id behind the last chunk of the slice that begins at `from`.
    fn slice_end(&self, from: u64, end: u64) -> Result<u64> {
        if end - from <= self.slice_matches() {
            return Ok(end);
        }
        let last = self.tables.database.first(
            &format!("SELECT rowid FROM terms WHERE {MATCHING} ORDER BY rowid LIMIT 1 OFFSET ?"),
            &[
                self.expression.as_str().into(),
                from.into(),
                end.into(),
                (self.slice_matches() - 1).into(),
            ],
        )?;
        last.map_or(Ok(end), |row| Ok(row.get::<u64>("rowid")? + 1))
    }

    /// Ranks the matches of one slice, narrowed by a filter and the spans that it is about.
    fn rank_slice(
        &mut self,
        filter: &str,
        spans: Option<&[Span]>,
        [from, to]: [u64; 2],
    ) -> Result<()> {
        let mut parameters: Vec<SqlValue> =
            vec![self.expression.as_str().into(), from.into(), to.into()];
        if let Some(spans) = spans {
            let spans = json_text("A scope", spans)?;
            parameters.push(spans.into());
        }
        parameters.push(self.limit.into());
        let rows = self.tables.database.query(
            &format!(
                "SELECT rowid AS id, {RANK} AS score FROM terms WHERE {MATCHING} {filter}
                ORDER BY score DESC, id LIMIT ?"
            ),
            &parameters,
        )?;
        let ranked = |row: &Row| Ok((Reverse(row.get("score")?), row.get("id")?));
        let ranked = rows.iter().map(ranked).collect::<Result<RankedChunks>>()?;
        // A slice that is ranked again replaces its former result.
        self.best.retain(|(_, id)| *id < from || *id >= to);
        self.best.extend(ranked);
        self.best.sort_unstable();
        self.best.truncate(self.limit);
        Ok(())
    }
}

/// The fields that a term is in, by the row of a match.
fn matched_fields(row: &Row) -> Result<Vec<&'static str>> {
    let is_in = FIELDS.map(|field| Ok((field, row.get::<u8>(field)? == 1)));
    let is_in = is_in.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(is_in.into_iter().filter(|(_, is_in)| *is_in).map(|(field, _)| field).collect())
}

/// The matches of a slice. The casts are for the object's storage, which binds numbers as doubles: for a double, FTS5
/// would scan its whole table.
const MATCHING: &str =
    "terms MATCH ? AND terms.rowid >= CAST(? AS INTEGER) AND terms.rowid < CAST(? AS INTEGER)";

/// Limits a slice to the chunks of the bound spans. The unary `+` keeps SQLite from a query of FTS5 for
/// each id.
const WITHIN: &str =
    "AND +terms.rowid IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";

/// Limits a slice to all chunks but those of the bound spans.
const WITHOUT: &str =
    "AND +terms.rowid NOT IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";
