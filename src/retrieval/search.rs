//! A search of the index: the best chunks for a query within a scope (interface §7).
//!
//! It goes through the chunks in the order of their ids, which are never used twice. So a document that
//! is replaced meanwhile is met again behind, what was hidden is looked at once it is not, and what has
//! gone is left out at the end: a search shows documents as they are when it ends.

use std::cmp::Reverse;

use serde_json::json;

use super::Chunk;
use super::index::{
    Candidate, FIELDS, Passage, RANK, Selection, Spans, State, Tables, match_expression, passages,
    speaks_of_tests, weighed,
};
use super::pace::{Pace, SLICE};
use super::vectors::{Meaning, Ranked, Similar};
use crate::contract::{Fault, RagScope};
use crate::ports::{Database, Row, Value};

/// The nanoseconds that ranking a match takes for each term of the query, and besides as many as
/// [`MATCH_TERMS`].
const TERM_NS: usize = 200;
const MATCH_TERMS: usize = 5;

/// The chunks that are looked at for each that is wanted, and the least number that counts as wanted: the
/// best chunk is the same, however many are asked for.
const CANDIDATES: usize = 16;
const LEAST_LIMIT: usize = 8;

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub query: &'a str,
    pub scope: Option<&'a RagScope>,
    pub limit: usize,
    /// The most bytes of text in all.
    pub max_bytes: usize,
    /// What the query means, where embeddings are configured and serve.
    pub meaning: Option<&'a Meaning>,
    /// Whether each chunk is to say what made its score.
    pub explain: bool,
}

/// The best chunks, best first, within `max_bytes`.
pub(super) async fn found<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    pace: &mut Pace<F>,
    search: Search<'_>,
) -> Result<Vec<Chunk>, Fault> {
    let terms: String = match_expression(search.query).into_iter().collect();
    if (terms.is_empty() && search.meaning.is_none()) || !tables.exist()? {
        return Ok(Vec::new());
    }
    let conditions = search.scope.map_or(&[][..], |scope| &scope.conditions);
    tables.index_all(pace).await?;
    if !conditions.is_empty() {
        tables.describe_all(pace).await?;
    }
    let candidates = search.limit.max(LEAST_LIMIT).saturating_mul(CANDIDATES);
    let mut ranking = Ranking::new(tables, terms, candidates);
    let mut similar = search.meaning.map(|meaning| Similar::new(meaning, candidates));
    let (mut ranked, mut passed_over) = (0, Spans::default());
    loop {
        let State { next_chunk: end, hidden } = tables.state()?;
        // What was hidden before and no longer is may be a document by now.
        passed_over.leave_out(&hidden);
        let from = passed_over.first().unwrap_or(ranked);
        if from >= end {
            return ranking.chunks(search, similar.as_ref());
        }
        let mut selection = Selection::of(tables, pace, conditions, from).await?;
        selection.leave_out(&hidden);
        if !selection.is_empty() {
            ranking.rank(pace, &selection, from, end).await?;
            if let Some(similar) = &mut similar {
                similar.rank(tables, pace, &selection, (from, end)).await?;
            }
        }
        (ranked, passed_over) = (end, hidden);
    }
}

struct Ranking<'t, D> {
    tables: &'t Tables<D>,
    /// The query as FTS5 takes it; empty when it has no terms, which match nothing.
    terms: String,
    /// The nanoseconds that ranking a match takes.
    match_ns: usize,
    candidates: usize,
    /// Their scores, in billionths, and their ids, best first. Equal ones stand in the order in which they
    /// were written.
    best: Ranked,
}

impl<'t, D: Database> Ranking<'t, D> {
    fn new(tables: &'t Tables<D>, terms: String, candidates: usize) -> Self {
        let match_ns = TERM_NS * (MATCH_TERMS + 1 + terms.matches(" OR ").count());
        Self { tables, terms, match_ns, candidates, best: Vec::new() }
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
        while from < end && !self.terms.is_empty() {
            // A scope is searched from its first chunk to its last.
            let (begin, end) = match &selection.within {
                Some(within) => match within.bounds(from, end) {
                    Some(bounds) => bounds,
                    None => break,
                },
                None => (from, end),
            };
            from = begin;
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

    fn rank_slice(
        &mut self,
        filter: &str,
        ids: Option<Value>,
        from: u64,
        to: u64,
    ) -> Result<(), Fault> {
        let mut parameters = vec![self.terms.as_str().into(), from.into(), to.into()];
        parameters.extend(ids);
        parameters.push(self.candidates.into());
        let rows = self.tables.database.query(
            &format!(
                "SELECT rowid AS id, {RANK} AS score FROM terms WHERE {MATCHING} {filter}
                ORDER BY score DESC, id LIMIT ?"
            ),
            &parameters,
        )?;
        // A slice that is ranked again replaces what it gave.
        self.best.retain(|(_, id)| *id < from || *id >= to);
        for row in &rows {
            self.best.push((Reverse(row.get("score")?), row.get("id")?));
        }
        self.best.sort_unstable();
        self.best.truncate(self.candidates);
        Ok(())
    }

    /// The best passages of the chunks that their documents still have.
    fn chunks(
        &self,
        search: Search<'_>,
        similar: Option<&Similar<'_>>,
    ) -> Result<Vec<Chunk>, Fault> {
        let fused = similar.map(|similar| similar.fused_with(&self.best));
        let best = fused.as_ref().unwrap_or(&self.best);
        let best: Vec<_> = best.iter().map(|(score, id)| (id, score.0)).collect();
        let best = serde_json::to_string(&best).map_err(|_| Fault::unwritable("A search"))?;
        let rows = self.tables.database.query(
            "SELECT c.id, c.path, c.start_line, c.end_line, hit.value ->> 1 AS score,
                length(CAST(c.text AS BLOB)) AS bytes
            FROM json_each(?) AS hit CROSS JOIN chunks AS c ON c.id = hit.value ->> 0
            CROSS JOIN documents AS d ON d.path = c.path
            WHERE c.id >= d.first_chunk AND c.id < d.first_chunk + d.chunks
            ORDER BY c.path, hit.key",
            &[best.into()],
        )?;
        let candidate = |row: &Row| {
            Ok::<_, Fault>(Candidate {
                id: row.get("id")?,
                path: row.get("path")?,
                start_line: row.get("start_line")?,
                end_line: row.get("end_line")?,
                bytes: row.get("bytes")?,
                score: row.get("score")?,
            })
        };
        let candidates: Vec<_> = rows.iter().map(candidate).collect::<Result<_, _>>()?;
        let about_tests = speaks_of_tests(&self.terms);
        let passages = passages(&candidates, about_tests, search.limit, search.max_bytes);
        let mut chunks = self.read(&passages)?;
        for (chunk, passage) in chunks.iter_mut().zip(&passages) {
            chunk.score = Some(shown(passage.score()));
        }
        if search.explain {
            self.explain(&passages, &mut chunks, about_tests, similar)?;
        }
        Ok(chunks)
    }

    /// The passages as clients see them.
    fn read(&self, passages: &[Passage]) -> Result<Vec<Chunk>, Fault> {
        let ids: Vec<_> = passages.iter().map(|passage| [passage.first, passage.last]).collect();
        let ids = serde_json::to_string(&ids).map_err(|_| Fault::unwritable("A search"))?;
        let rows = self.tables.database.query(
            "SELECT c.path, c.start_line, c.end_line, c.text, d.language, hit.value ->> 0 < c.id AS more
            FROM json_each(?) AS hit CROSS JOIN chunks AS c
                ON c.id BETWEEN hit.value ->> 0 AND hit.value ->> 1
            CROSS JOIN documents AS d ON d.path = c.path
            ORDER BY hit.key, c.id",
            &[ids.into()],
        )?;
        let mut chunks: Vec<Chunk> = Vec::new();
        for row in &rows {
            let (end_line, text) = (row.get("end_line")?, row.get::<String>("text")?);
            let goes_on = row.get::<u8>("more")? == 1;
            if let Some(chunk) = chunks.last_mut().filter(|_| goes_on) {
                chunk.end_line = end_line;
                chunk.text.push_str(&text);
                continue;
            }
            chunks.push(Chunk {
                path: row.get("path")?,
                start_line: row.get("start_line")?,
                end_line,
                language: row.get("language")?,
                text,
                ..Chunk::default()
            });
        }
        Ok(chunks)
    }

    /// Says of each passage what made its score: the terms of its best chunk, and its document.
    fn explain(
        &self,
        passages: &[Passage],
        chunks: &mut [Chunk],
        about_tests: bool,
        similar: Option<&Similar<'_>>,
    ) -> Result<(), Fault> {
        let ids: Vec<u64> = passages.iter().map(|passage| passage.best).collect();
        let ids = serde_json::to_string(&ids).map_err(|_| Fault::unwritable("A search"))?;
        let statement = format!(
            "SELECT rowid AS id, {RANK} AS score, bm25(terms, 1, 0, 0) < 0 AS Text,
                bm25(terms, 0, 1, 0) < 0 AS Comments, bm25(terms, 0, 0, 1) < 0 AS Path
            FROM terms WHERE terms MATCH ? AND +terms.rowid IN (SELECT value FROM json_each(?))"
        );
        let mut found = Vec::new();
        for term in self.terms.split(" OR ").filter(|term| !term.is_empty()) {
            let parameters = [term.into(), ids.as_str().into()];
            for row in &self.tables.database.query(&statement, &parameters)? {
                let mut fields = Vec::new();
                for field in FIELDS {
                    fields.extend((row.get::<u8>(field)? == 1).then_some(field));
                }
                found.push((row.get::<u64>("id")?, row.get::<i64>("score")?, term, fields));
            }
        }
        for (chunk, passage) in chunks.iter_mut().zip(passages) {
            let terms = found.iter().filter(|(id, ..)| *id == passage.best);
            let terms: Vec<_> = terms
                .map(|(_, score, term, fields)| {
                    json!({
                        "Term": term.trim_matches('"'),
                        "Score": shown(weighed(*score, &chunk.path, about_tests)),
                        "Fields": fields,
                    })
                })
                .collect();
            let mut explained = json!({
                "Chunk": shown(passage.chunk),
                "Document": shown(passage.document),
                "Place": passage.place,
                "Terms": terms,
            });
            let near = similar.and_then(|similar| similar.similarity(passage.best));
            if let (Some(similarity), Some(members)) = (near, explained.as_object_mut()) {
                members.insert("Similarity".to_owned(), shown(similarity).into());
            }
            chunk.explain = Some(explained);
        }
        Ok(())
    }
}

/// A score in billionths as clients see it.
fn shown(score: i64) -> f64 {
    score as f64 / 1e9
}

/// The matches of a slice. The casts are for the object's storage, which binds numbers as doubles, for
/// which FTS5 would scan its whole table.
const MATCHING: &str =
    "terms MATCH ? AND terms.rowid >= CAST(? AS INTEGER) AND terms.rowid < CAST(? AS INTEGER)";

/// Limits a slice to the chunks of the bound spans. The unary `+` keeps SQLite from a query of FTS5 for
/// each id.
const WITHIN: &str =
    "AND +terms.rowid IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";

/// The same, for all chunks but these.
const WITHOUT: &str =
    "AND +terms.rowid NOT IN (SELECT p.id FROM json_each(?) AS span CROSS JOIN chunks AS p
    ON p.id BETWEEN span.value ->> 0 AND span.value ->> 1)";
