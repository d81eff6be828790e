//! The terms of texts and queries: words, and the parts of identifiers (interface §7).
//!
//! FTS5 itself folds case, diacritics and English endings (`porter` over `unicode61`, which splits
//! words at everything but letters and digits). This file splits identifiers such as `InvoiceManager`
//! and `HTTPServer2` into their words, in texts and queries alike.
//!
//! A query is anything a user writes, a megabyte of log included. Its FTS5 expression is bounded, and
//! cannot be a syntax error, because it quotes nothing but letters and digits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::str::Chars;

/// The most terms of a search.
pub const MAX_TERMS: usize = 32;

/// The bytes of a query that are read, because users ask before or after the text that they paste.
const HEAD_BYTES: usize = 32_768;
const TAIL_BYTES: usize = 8_192;

/// The longest word that is searched for, in bytes. Longer ones are encoded data.
const LONGEST_WORD: usize = 64;

/// Words that do not distinguish documents, in alphabetical order.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "both", "but", "by", "can", "could", "did", "do",
    "does", "doing", "done", "each", "else", "ever", "every", "for", "from", "get", "gets", "give",
    "go", "got", "had", "happen", "happens", "has", "have", "having", "he", "help", "here", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "may", "me", "might",
    "must", "my", "need", "no", "not", "now", "of", "on", "one", "only", "or", "other", "our",
    "out", "over", "own", "place", "please", "same", "shall", "she", "should", "show", "so",
    "some", "such", "tell", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "thing", "things", "this", "those", "through", "to", "too", "under", "until", "up",
    "us", "use", "used", "using", "very", "want", "was", "way", "we", "were", "what", "when",
    "where", "whether", "which", "while", "who", "why", "will", "with", "would", "you", "your",
];

/// A text with spaces between the words of its identifiers, as FTS5 indexes it.
pub fn searchable(text: &str) -> String {
    let mut separated = String::with_capacity(text.len() + text.len() / 8);
    add_searchable(text, &mut separated);
    separated
}

/// Writes a text behind another one, with spaces between the words of its identifiers.
pub(super) fn add_searchable(text: &str, separated: &mut String) {
    let mut rest = text.chars();
    let mut last = ' ';
    while let Some(c) = rest.next() {
        if splits_between(last, c, || rest.clone()) {
            separated.push(' ');
        }
        separated.push(c);
        // A mark belongs to the letter before it, which may be a capital.
        if !is_mark(c) {
            last = c;
        }
    }
}

/// Whether a path or an expression has a word for tests.
pub(super) fn mentions_tests(text: &str) -> bool {
    let words = ["test", "tests", "tested", "testing"];
    let separated = searchable(text);
    let mut all = separated.split(|c: char| !is_letter_or_digit(c));
    all.any(|word| words.iter().any(|test| word.eq_ignore_ascii_case(test)))
}

/// The FTS5 expression for a query; `None` when the query has no terms.
pub fn match_expression(query: &str) -> Option<String> {
    let mut terms = Terms::default();
    let head = query.floor_char_boundary(HEAD_BYTES);
    let (head, rest) = query.split_at_checked(head).unwrap_or((query, ""));
    terms.read(head);
    let tail = rest.ceil_char_boundary(rest.len().saturating_sub(TAIL_BYTES));
    terms.read(rest.get(tail..).unwrap_or_default());
    terms.expression()
}

/// The terms of a query, each once.
#[derive(Default)]
struct Terms(BTreeMap<String, TermRank>);

/// The rank of a term, for a query that has too many.
#[derive(Default)]
struct TermRank {
    /// Part of an identifier: rare in the index, so it distinguishes documents.
    specific: bool,
    count: usize,
    first: usize,
}

impl Terms {
    fn read(&mut self, text: &str) {
        let mut above: Option<String> = None;
        for run in runs(text) {
            let separated = searchable(run);
            let words: Vec<String> = separated
                .split(|c: char| !is_letter_or_digit(c))
                .filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD)
                .map(str::to_ascii_lowercase)
                .collect();
            let identifier = words.len() > 1;
            // A hash or encoded data fall into pieces of one or two characters, which distinguish nothing.
            let specific = identifier && run.len() >= 3 * words.len();
            for word in words {
                let is_content_word =
                    word.len() > 1 && STOP_WORDS.binary_search(&word.as_str()).is_err();
                if is_content_word {
                    self.add(word.clone(), specific);
                }
                if !is_content_word && !identifier {
                    above = None;
                    continue;
                }
                // A pair of neighbouring words ranks the chunks that hold them side by side.
                if let Some(above) = above.replace(word.clone()) {
                    self.add(format!("{above} {word}"), specific);
                }
            }
        }
    }

    fn add(&mut self, term: String, specific: bool) {
        let first = self.0.len();
        let rank = self.0.entry(term).or_insert(TermRank { first, ..TermRank::default() });
        rank.specific |= specific;
        rank.count += 1;
    }

    fn expression(self) -> Option<String> {
        // A pair has the length of its words on average: by its own, a long query would be pairs alone.
        let length = |term: &str| term.len() / term.split(' ').count();
        let ranked = |(term, rank): (String, TermRank)| {
            (rank.specific, rank.count, length(&term), Reverse(rank.first), term)
        };
        let mut terms: BinaryHeap<_> = self.0.into_iter().map(ranked).collect();
        let mut expression = String::new();
        for _ in 0..MAX_TERMS {
            let Some((.., term)) = terms.pop() else { break };
            expression.push_str(if expression.is_empty() { "\"" } else { " OR \"" });
            expression.push_str(&term);
            expression.push('"');
        }
        (!expression.is_empty()).then_some(expression)
    }
}

/// The words and identifiers of a text, these with the characters that join their parts.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let joins = |c: char| matches!(c, '_' | '-' | '.' | ':' | '/' | '\\');
    text.split(move |c: char| !is_letter_or_digit(c) && !joins(c)).filter(|run| !run.is_empty())
}

/// Whether a word of an identifier ends between two characters; `behind` returns those that follow.
fn splits_between<'t>(last: char, c: char, behind: impl FnOnce() -> Chars<'t>) -> bool {
    if !is_letter_or_digit(last) || !is_letter_or_digit(c) || is_mark(c) {
        return false;
    }
    if last.is_ascii_digit() != c.is_ascii_digit() || is_ideographic(last) || is_ideographic(c) {
        return true;
    }
    if !c.is_uppercase() {
        return false;
    }
    if !last.is_uppercase() {
        return true;
    }
    // `HTTPServer` is separated before its last capital, the plural `IDs` is not.
    let small = |c: char| is_letter_or_digit(c) && !c.is_uppercase() && !c.is_ascii_digit();
    let mut behind = behind().filter(|c| !is_mark(*c));
    match behind.next() {
        Some('s') => behind.next().is_some_and(small),
        next => next.is_some_and(small),
    }
}

/// Whether a character belongs to a word. Outside ASCII, whole blocks of punctuation and symbols do
/// not, and FTS5 decides on the rest: exact tables would be longer than this file.
fn is_letter_or_digit(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => c.is_ascii_alphanumeric(),
        '\u{80}'..='\u{bf}' => false,
        // Between them stand 々, 〆 and 〇.
        '\u{2000}'..='\u{2bff}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{303f}' => false,
        '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe6f}' | '\u{feff}'..='\u{ff0f}' => false,
        '\u{1f000}'..='\u{1ffff}' | '\u{e0000}'.. => false,
        // What stands around the letters of Thai, Lao, Burmese and Khmer: FTS5 ends a word there.
        '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' => false,
        '\u{eb1}' | '\u{eb4}'..='\u{ebc}' | '\u{ec8}'..='\u{ece}' => false,
        '\u{102b}'..='\u{103e}' | '\u{104a}'..='\u{104f}' | '\u{17b4}'..='\u{17d6}' => false,
        _ => true,
    }
}

/// Whether the character is an accent that stands by itself, as in names of files on macOS.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Whether the character belongs to a script without spaces between words.
fn is_ideographic(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_stand_in_order_and_once() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
