//! A search of the index: the best chunks for a query within a scope (interface §7).
//!
//! It goes through the chunks in the order of their ids, which are never used twice. So a document that
//! is replaced meanwhile is met again behind, what was hidden is looked at once it is not, and what has
//! gone is left out at the end: a search shows documents as they are when it ends.

use std::cmp::Reverse;

use super::Chunk;
use super::pace::{Pace, SLICE};
use super::scope::Selection;
use super::spans::Spans;
use super::tables::{State, Tables};
use super::terms::match_expression;
use crate::contract::{Fault, RagScope};
use crate::ports::{Database, Value};

/// The nanoseconds that ranking a match takes for each term of the query, and besides as many as
/// [`MATCH_TERMS`].
const TERM_NS: usize = 200;
const MATCH_TERMS: usize = 5;

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The user's words.
    pub query: &'a str,
    /// Narrows the search.
    pub scope: Option<&'a RagScope>,
    /// The most chunks.
    pub limit: usize,
    /// The most bytes of text in all.
    pub max_bytes: usize,
}

/// A chunk that was found, in rank order. Path and line order equal scores, so the same index always
/// gives the same chunks.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    score: Reverse<i64>,
    path: String,
    start_line: u64,
    id: u64,
}

/// The best chunks, best first. A chunk that does not fit into what is left of `max_bytes` is passed
/// over.
pub(super) async fn found<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    pace: &mut Pace<F>,
    search: Search<'_>,
) -> Result<Vec<Chunk>, Fault> {
    let Some(terms) = match_expression(search.query) else { return Ok(Vec::new()) };
    if !tables.exist()? {
        return Ok(Vec::new());
    }
    let conditions = search.scope.map_or(&[][..], |scope| &scope.conditions);
    if !conditions.is_empty() {
        tables.describe_all(pace).await?;
    }
    let mut ranking = Ranking::new(tables, terms, search.limit);
    let (mut ranked, mut passed_over) = (0, Spans::default());
    loop {
        let State { next_chunk: end, hidden } = tables.state()?;
        // What was hidden before and no longer is may be a document by now.
        passed_over.leave_out(&hidden);
        let from = passed_over.first().unwrap_or(ranked);
        if from >= end {
            return ranking.chunks(search.max_bytes);
        }
        let mut selection = Selection::of(tables, pace, conditions, from).await?;
        selection.leave_out(&hidden);
        if !selection.is_empty() {
            ranking.rank(pace, &selection, from, end).await?;
        }
        (ranked, passed_over) = (end, hidden);
    }
}

struct Ranking<'t, D> {
    tables: &'t Tables<D>,
    terms: String,
    /// The nanoseconds that ranking a match takes.
    match_ns: usize,
    limit: usize,
    best: Vec<Hit>,
}

impl<'t, D: Database> Ranking<'t, D> {
    fn new(tables: &'t Tables<D>, terms: String, limit: usize) -> Self {
        let match_ns = TERM_NS * (MATCH_TERMS + 1 + terms.matches(" OR ").count());
        Self { tables, terms, match_ns, limit, best: Vec::new() }
    }

    /// The most matches that one slice ranks.
    fn most_matches(&self) -> u64 {
        (SLICE * 1_000 / self.match_ns) as u64
    }

    /// Ranks the selected chunks from `floor` up to `end`.
    async fn rank<F: AsyncFn()>(
        &mut self,
        pace: &mut Pace<F>,
        selection: &Selection,
        floor: u64,
        end: u64,
    ) -> Result<(), Fault> {
        let mut from = floor;
        while from < end {
            let matches = self.most_matches().min(end - from) as usize;
            pace.before(matches * self.match_ns / 1_000).await;
            let to = self.slice_end(from, end)?;
            let (filter, (ids, length)) = match &selection.within {
                Some(within) => (WITHIN, within.between(from, to)),
                None => (WITHOUT, selection.without.between(from, to)),
            };
            match (filter, length) {
                (WITHIN, 0) => {}
                (WITHOUT, 0) => self.rank_slice("", None, from, to)?,
                _ => {
                    let ids =
                        serde_json::to_string(&ids).map_err(|_| Fault::unwritable("A scope"))?;
                    self.rank_slice(filter, Some(ids.into()), from, to)?;
                }
            }
            from = to;
        }
        Ok(())
    }

    /// The id behind the last chunk of the slice that begins at `from`.
    fn slice_end(&self, from: u64, end: u64) -> Result<u64, Fault> {
        if end - from <= self.most_matches() {
            return Ok(end);
        }
        let last = self.tables.database.first(
            &format!("SELECT rowid FROM terms WHERE {MATCHING} ORDER BY rowid LIMIT 1 OFFSET ?"),
            &[
                self.terms.as_str().into(),
                from.into(),
                end.into(),
                (self.most_matches() - 1).into(),
            ],
        )?;
        last.map_or(Ok(end), |row| Ok(row.get::<u64>("rowid")? + 1))
    }

    /// Ranks one slice.
    fn rank_slice(
        &mut self,
        filter: &str,
        ids: Option<Value>,
        from: u64,
        to: u64,
    ) -> Result<(), Fault> {
        let mut parameters = vec![self.terms.as_str().into(), from.into(), to.into()];
        parameters.extend(ids);
        parameters.push(self.limit.into());
        let rows = self.tables.database.query(
            &format!(
                "SELECT c.id AS id, c.path AS path, c.start_line AS start_line,
                    CAST(bm25(terms) * -1000000 AS INTEGER) AS score
                FROM terms CROSS JOIN chunks AS c ON c.id = terms.rowid
                WHERE {MATCHING} {filter}
                ORDER BY score DESC, c.path, c.start_line LIMIT ?"
            ),
            &parameters,
        )?;
        // A slice that is ranked again replaces what it gave.
        self.best.retain(|hit| hit.id < from || hit.id >= to);
        for row in &rows {
            self.best.push(Hit {
                score: Reverse(row.get("score")?),
                path: row.get("path")?,
                start_line: row.get("start_line")?,
                id: row.get("id")?,
            });
        }
        self.best.sort_unstable();
        self.best.truncate(self.limit);
        Ok(())
    }

    /// The best chunks of those that their documents still have.
    fn chunks(&self, max_bytes: usize) -> Result<Vec<Chunk>, Fault> {
        let ids: Vec<u64> = self.best.iter().map(|hit| hit.id).collect();
        let ids = serde_json::to_string(&ids).map_err(|_| Fault::unwritable("A search"))?;
        let rows = self.tables.database.query(
            "SELECT c.path, c.start_line, c.end_line, c.text, d.language
            FROM json_each(?) AS hit CROSS JOIN chunks AS c ON c.id = hit.value
            CROSS JOIN documents AS d ON d.path = c.path
            WHERE c.id >= d.first_chunk AND c.id < d.first_chunk + d.chunks
            ORDER BY hit.key",
            &[ids.into()],
        )?;
        let mut room = max_bytes;
        let mut chunks = Vec::new();
        for row in &rows {
            let text: String = row.get("text")?;
            if text.len() > room {
                continue;
            }
            room -= text.len();
            chunks.push(Chunk {
                path: row.get("path")?,
                start_line: row.get("start_line")?,
                end_line: row.get("end_line")?,
                language: row.get("language")?,
                text,
            });
        }
        Ok(chunks)
    }
}

/// The matches of a slice. The casts are for the object's storage, which binds numbers as doubles, for
/// which FTS5 would scan its whole table.
const MATCHING: &str =
    "terms MATCH ? AND terms.rowid >= CAST(? AS INTEGER) AND terms.rowid < CAST(? AS INTEGER)";

/// Limits a slice to the chunks of the bound spans. The unary `+` keeps SQLite from a query of FTS5 for
/// each id.
const WITHIN: &str = "AND +c.id IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";

/// The same, for all chunks but these.
const WITHOUT: &str =
    "AND +c.id NOT IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";
