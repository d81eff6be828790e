//! The quality and speed of retrieval against plain FTS5 over the same chunks (`make
//! bench-retrieval`).
//!
//! Quality: labelled questions over three corpora (this project, C# sources, a Markdown handbook).
//! Speed: ratios to plain FTS5 in the same run, on a workspace of ten thousand chunks.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench prints its figures and reads the machine's clock"
)]

mod corpus;
mod plain_fts5;
mod questions;

use std::time::Instant;

use aptix_edge::contract::Document;
use corpus::Corpus;
use plain_fts5::PlainFts5;

use super::Index;
use super::storage::Storage;

/// The number of chunks for a question, the same as a turn's default.
const LIMIT: usize = 8;

/// The identity of a chunk in this bench.
type Hit = (String, String);

#[derive(Default)]
struct Quality {
    asked: usize,
    found: usize,
    reciprocal_ranks: f64,
}

impl Quality {
    fn add(&mut self, rank: Option<usize>) {
        self.asked += 1;
        self.found += usize::from(rank.is_some());
        self.reciprocal_ranks += rank.map_or(0.0, |rank| 1.0 / rank as f64);
    }

    fn recall(&self) -> f64 {
        self.found as f64 / self.asked as f64
    }

    fn mrr(&self) -> f64 {
        self.reciprocal_ranks / self.asked as f64
    }
}

fn rank(hits: &[Hit], answers: &[(&str, &str)]) -> Option<usize> {
    let answers = |(path, text): &Hit| {
        answers.iter().any(|(file, symbol)| path == file && text.contains(symbol))
    };
    hits.iter().position(answers).map(|at| at + 1)
}

fn index_of(documents: &[Document]) -> (Index<Storage>, usize) {
    let index = Index::new(Storage::new());
    let mut chunks = 0;
    for batch in documents.chunks(100) {
        chunks += index.upsert(batch).unwrap().iter().map(|done| done.chunks).sum::<usize>();
    }
    (index, chunks)
}

fn ask(index: &Index<Storage>, question: &str) -> Vec<Hit> {
    let found = index.search(question, None, LIMIT, usize::MAX).unwrap();
    found.into_iter().map(|found| (found.path, found.text)).collect()
}

#[test]
fn the_answer_of_every_question_stands_where_its_label_says() {
    let stale: Vec<String> = Corpus::all().iter().flat_map(Corpus::stale_labels).collect();
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
#[ignore = "a bench: make bench-retrieval"]
fn eight_chunks_hold_the_answer_more_often_than_with_plain_fts5() {
    let (mut ours, mut plain) = (Quality::default(), Quality::default());
    // One workspace holds all corpora, so that no question is easy for lack of other texts.
    let documents: Vec<Document> = Corpus::all().into_iter().flat_map(|c| c.documents).collect();
    let (index, chunks) = index_of(&documents);
    let baseline = PlainFts5::of(&documents);
    println!("one workspace of {} documents, {chunks} chunks", documents.len());
    for corpus in Corpus::all() {
        let (mut here, mut there) = (Quality::default(), Quality::default());
        for (question, answers) in corpus.questions {
            let place = rank(&ask(&index, question), answers);
            let plain_place = rank(&baseline.search(question, LIMIT), answers);
            if place != Some(1) {
                let shown = |p: Option<usize>| p.map_or("-".to_owned(), |p| p.to_string());
                println!("  rank {} (plain {}): {question}", shown(place), shown(plain_place));
            }
            for (quality, place) in [
                (&mut here, place),
                (&mut there, plain_place),
                (&mut ours, place),
                (&mut plain, plain_place),
            ] {
                quality.add(place);
            }
        }
        report(corpus.name, &here, &there);
    }
    report("all", &ours, &plain);
    // Room for one more question without its answer, since this project's texts change.
    assert!(ours.recall() >= 0.83 && ours.recall() > plain.recall());
    assert!(ours.mrr() > plain.mrr());
}

fn report(name: &str, ours: &Quality, plain: &Quality) {
    println!(
        "{name}, {} questions: recall@{LIMIT} {:.3} (plain FTS5 {:.3}), MRR {:.3} (plain {:.3})",
        ours.asked,
        ours.recall(),
        plain.recall(),
        ours.mrr(),
        plain.mrr(),
    );
}

/// The median of several runs, in milliseconds.
fn median_ms(runs: usize, mut what: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let begun = Instant::now();
            what();
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
#[ignore = "a bench: make bench-retrieval"]
fn ten_thousand_chunks_are_indexed_and_searched_about_as_fast_as_by_plain_fts5() {
    let documents = corpus::large(10_000);
    let megabytes = documents.iter().map(|d| d.contents.len()).sum::<usize>() as f64 / 1e6;
    let begun = Instant::now();
    let (index, chunks) = index_of(&documents);
    let indexing = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let baseline = PlainFts5::of(&documents);
    let plain = begun.elapsed().as_secs_f64();
    println!(
        "indexing {chunks} chunks, {megabytes:.1} MB: {:.1} MB/s, plain FTS5 {:.1} MB/s, ratio {:.2}",
        megabytes / indexing,
        megabytes / plain,
        indexing / plain,
    );
    let begun = Instant::now();
    for batch in documents.chunks(100) {
        assert!(index.upsert(batch).unwrap().iter().all(|done| !done.changed));
    }
    println!("sent again unchanged: {:.1} MB/s", megabytes / begun.elapsed().as_secs_f64());

    let asked: Vec<&str> = questions::OWN.iter().map(|(question, ..)| *question).collect();
    let each = |search: &mut dyn FnMut(&str)| {
        let mut times: Vec<f64> = asked.iter().map(|q| median_ms(5, || search(q))).collect();
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() - 1])
    };
    let (ours, worst) = each(&mut |question| _ = ask(&index, question));
    let (plain, plain_worst) = each(&mut |question| _ = baseline.search(question, LIMIT));
    println!(
        "search: {ours:.2} ms (slowest question {worst:.2}), plain FTS5 {plain:.2} ms (slowest {plain_worst:.2}), ratio {:.2}",
        ours / plain
    );
    let scope = corpus::scope_of_one_folder();
    let scoped = each(&mut |question| _ = index.search(question, Some(&scope), LIMIT, usize::MAX));
    println!("search within a scope: {:.2} ms (slowest {:.2})", scoped.0, scoped.1);
    let log: String = questions::OWN.iter().map(|q| q.0).cycle().take(200_000).collect();
    let long = median_ms(5, || _ = ask(&index, &log));
    println!("search with a query of {:.1} MB: {long:.2} ms", log.len() as f64 / 1e6);
    // The bounds are ratios, since the machine may be busy with other work.
    assert!(ours <= 1.5 * plain && megabytes / indexing >= 1.0);
}
