//! How good eight chunks are, ours and the baseline's.

use super::{Hit, LIMIT};

/// The sums over the questions of one corpus.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quality {
    asked: f64,
    hits: f64,
    recalls: f64,
    reciprocal_ranks: f64,
}

impl Quality {
    /// Adds a question. `answers` are files, each with a text that the right chunk holds.
    pub(crate) fn add(&mut self, found: &[Hit], answers: &[(&str, &str)]) -> Option<usize> {
        let answers_with = |(path, text): &Hit, (file, symbol): &(&str, &str)| {
            path == file && text.contains(symbol)
        };
        let rank = found
            .iter()
            .position(|hit| answers.iter().any(|answer| answers_with(hit, answer)))
            .map(|at| at + 1);
        let are_found = |answer| found.iter().any(|hit| answers_with(hit, answer));
        let all = answers.iter().filter(|answer| are_found(answer)).count();
        self.asked += 1.0;
        self.hits += f64::from(u8::from(rank.is_some()));
        self.recalls += all as f64 / answers.len() as f64;
        self.reciprocal_ranks += rank.map_or(0.0, |rank| 1.0 / rank as f64);
        rank
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            hits: self.hits + other.hits,
            recalls: self.recalls + other.recalls,
            reciprocal_ranks: self.reciprocal_ranks + other.reciprocal_ranks,
        }
    }

    /// The share of the questions of which one answer is among the chunks.
    pub(crate) fn hit(&self) -> f64 {
        self.hits / self.asked
    }

    pub(crate) fn mrr(&self) -> f64 {
        self.reciprocal_ranks / self.asked
    }

    pub(crate) fn shown(&self) -> String {
        format!("{:.3} / {:.3} / {:.3}", self.hit(), self.recalls / self.asked, self.mrr())
    }
}

/// Prints one line of the table.
pub(crate) fn report(name: &str, ours: &Quality, strong: &Quality) {
    println!(
        "{name}, {} questions: hit@{LIMIT} / recall / MRR {}, strong FTS5 {}",
        ours.asked,
        ours.shown(),
        strong.shown(),
    );
}
