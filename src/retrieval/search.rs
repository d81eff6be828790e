//! A search of the index: the best chunks for a query within a scope (interface §7).
//!
//! The search passes the chunks in the order of their ids. Ids only grow: a document replaced during the search is
//! found again further on; hidden chunks are revisited once visible; deleted ones are dropped at the end. So the
//! result shows the documents as they are when the search ends.

use serde_json::json;

use super::Chunk;
use super::index::{
    AskedKinds, Candidate, Passage, RankedChunks, Selection, Spans, State, Tables, WordRanking,
    documents_among, match_expression, passages, weighted_score,
};
use super::vectors::{QuestionVector, VectorRanking};
use super::work_budget::WorkBudget;
use crate::contract::{RagScope, Result, json_text};
use crate::ports::{Database, Row, read_row};

/// The candidates for each chunk of the limit, and the least limit by which they are counted: the best chunk is the same
/// under every limit.
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
    /// Whether a chunk that does not fit these is returned besides, for whoever says what was left out.
    pub shows_unfit: bool,
    /// The query's vector, where embeddings are configured and serve.
    pub vector: Option<&'a QuestionVector>,
    /// Whether each chunk explains its score.
    pub explain: bool,
}

/// The best chunks, best first, within `max_bytes`.
pub(super) async fn search<D: Database, F: AsyncFn()>(
    tables: &Tables<D>,
    budget: &mut WorkBudget<F>,
    search: Search<'_>,
) -> Result<Vec<Chunk>> {
    let expression = match_expression(search.query);
    if (expression.is_none() && search.vector.is_none()) || !tables.exist()? {
        return Ok(Vec::new());
    }
    let conditions = search.scope.map_or(&[][..], |scope| &scope.conditions);
    let candidates = search.limit.max(LEAST_LIMIT).saturating_mul(CANDIDATES);
    let asked = AskedKinds::of(expression.as_deref().unwrap_or(""));
    let words = expression.map(|expression| WordRanking::new(tables, expression, candidates));
    let vectors = search.vector.map(|vector| VectorRanking::new(vector, candidates));
    let mut ranked = Ranked { tables, search, words, vectors, asked };
    let (mut next, mut skipped) = (0, Spans::default());
    loop {
        let State { next_chunk: end, hidden } = tables.state()?;
        // Chunks that were hidden in the round before may belong to a document now, or be gone.
        skipped.subtract(&hidden);
        let shown = match skipped.is_empty() {
            true => skipped,
            false => documents_among(tables, &skipped)?,
        };
        let from = shown.first().unwrap_or(next);
        if from >= end {
            return ranked.chunks();
        }
        let mut selection = Selection::of(tables, budget, conditions, [from, end]).await?;
        selection.exclude(&hidden);
        if !selection.is_empty() {
            if let Some(words) = &mut ranked.words {
                words.rank(budget, &selection, from, end).await?;
            }
            if let Some(vectors) = &mut ranked.vectors {
                vectors.rank(tables, budget, &selection, from, end).await?;
            }
        }
        (next, skipped) = (end, hidden);
    }
}

/// A search, and the rankings of its chunks.
struct Ranked<'s, D> {
    tables: &'s Tables<D>,
    search: Search<'s>,
    /// `None` for a query without terms.
    words: Option<WordRanking<'s, D>>,
    vectors: Option<VectorRanking<'s>>,
    asked: AskedKinds,
}

impl<D: Database> Ranked<'_, D> {
    /// The best passages of the chunks that still belong to a document.
    fn chunks(&self) -> Result<Vec<Chunk>> {
        let Search { limit, max_bytes, shows_unfit, explain, .. } = self.search;
        let room = (max_bytes, shows_unfit);
        let passages = passages(&self.candidates()?, &self.asked, limit, room);
        let mut chunks = self.read(&passages)?;
        for (chunk, passage) in chunks.iter_mut().zip(&passages) {
            chunk.score = Some(score_for_client(passage.score()));
        }
        if explain {
            self.explain(&passages, &mut chunks)?;
        }
        Ok(chunks)
    }

    /// The best chunks by both rankings, document by document.
    fn candidates(&self) -> Result<Vec<Candidate>> {
        let none = RankedChunks::new();
        let by_words = self.words.as_ref().map_or(&none, |words| &words.best);
        let fused = self.vectors.as_ref().map(|vectors| vectors.fused_with(by_words));
        let best = fused.as_ref().unwrap_or(by_words);
        let best: Vec<_> = best.iter().map(|(score, id)| (id, score.0)).collect();
        let best = json_text("A search", &best)?;
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
            Ok(read_row!(Candidate of row { id, path, start_line, end_line, bytes, score }))
        };
        rows.iter().map(candidate).collect()
    }

    /// The passages as clients see them.
    fn read(&self, passages: &[Passage]) -> Result<Vec<Chunk>> {
        let ids: Vec<_> = passages.iter().map(|passage| [passage.first, passage.last]).collect();
        let ids = json_text("A search", &ids)?;
        let rows = self.tables.database.query(
            "SELECT c.path, c.start_line, c.end_line, c.text, d.language, hit.value ->> 0 < c.id AS continues
            FROM json_each(?) AS hit CROSS JOIN chunks AS c
                ON c.id BETWEEN hit.value ->> 0 AND hit.value ->> 1
            CROSS JOIN documents AS d ON d.path = c.path
            ORDER BY hit.key, c.id",
            &[ids.into()],
        )?;
        let mut chunks: Vec<Chunk> = Vec::new();
        for row in &rows {
            let (end_line, text) = (row.get("end_line")?, row.get::<String>("text")?);
            let continues = row.get::<u8>("continues")? == 1;
            if let Some(chunk) = chunks.last_mut().filter(|_| continues) {
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

    /// How much of a chunk's score by words is in its score, in thousandths.
    fn part_by_words(&self, chunk: u64) -> i64 {
        let Some(vectors) = &self.vectors else { return 1000 };
        let mut ranked = self.words.iter().flat_map(|words| &words.best);
        // A chunk that only its vector has ranked has nothing by words.
        if ranked.any(|(_, id)| *id == chunk) { vectors.part_by_words(chunk) } else { 0 }
    }

    /// Explains the score of each passage: the terms of its best chunk, and its document.
    fn explain(&self, passages: &[Passage], chunks: &mut [Chunk]) -> Result<()> {
        let best: Vec<u64> = passages.iter().map(|passage| passage.best).collect();
        let matches = match &self.words {
            Some(words) => words.matches_in(&best)?,
            None => Vec::new(),
        };
        for (chunk, passage) in chunks.iter_mut().zip(passages) {
            let terms = matches.iter().filter(|of_term| of_term.chunk == passage.best);
            let thousandths = self.part_by_words(passage.best);
            let terms: Vec<_> = terms
                .map(|of_term| {
                    let score = of_term.score * thousandths / 1000;
                    let score = weighted_score(score, &chunk.path, &self.asked);
                    json!({
                        "Term": of_term.term,
                        "Score": score_for_client(score),
                        "Fields": of_term.fields,
                    })
                })
                .collect();
            let mut explanation = json!({
                "Chunk": score_for_client(passage.chunk),
                "Document": score_for_client(passage.document),
                "Place": passage.place,
                "Terms": terms,
            });
            let vectors = self.vectors.as_ref();
            let similarity = vectors.and_then(|vectors| vectors.similarity(passage.best));
            if let (Some(similarity), Some(members)) = (similarity, explanation.as_object_mut()) {
                members.insert("Similarity".to_owned(), score_for_client(similarity).into());
            }
            chunk.explain = Some(explanation);
        }
        Ok(())
    }
}

/// A score in billionths as clients see it.
fn score_for_client(score: i64) -> f64 {
    score as f64 / 1e9
}
