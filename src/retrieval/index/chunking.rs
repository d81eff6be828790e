//! Cutting a document into chunks (interface §7).
//!
//! A chunk ends at a pause of the text: before a heading or a definition that follows a blank line,
//! after a closing brace, else at any line. The rule reads only blank lines, indentation and a
//! line's first characters, so it holds for every language and for prose.
//!
//! Architecture Invariant: the pieces, joined, are the document, byte for byte.

use crate::encoding::first_line;

/// The best length of a chunk, in bytes: a function or a section with its comment.
const TARGET_BYTES: usize = 1_400;

/// A cut before this many bytes is no candidate, while more text follows.
const LEAST_BYTES: usize = 300;

/// The most bytes of a chunk, the ending of an overlong line aside. Eight such chunks fit into 24,576
/// bytes, the defaults of an agent context.
pub const HARD_LIMIT_BYTES: usize = 3_072;

/// The most lines of a chunk, blank ones not counted.
pub const HARD_LIMIT_LINES: usize = 80;

/// The weight of a cut's distance from [`TARGET_BYTES`] against the merit of its place.
const LENGTH_WEIGHT: i64 = 5;

/// A piece of a document: whole lines, or a part of one that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'t> {
    /// First line, from 1.
    pub start_line: usize,
    /// Last line, inclusive.
    pub end_line: usize,
    /// The lines with their ends.
    pub text: &'t str,
}

/// Cuts a document, piece by piece. Lines end in LF, CRLF or CR; the empty document has no pieces.
pub fn pieces(text: &str) -> Pieces<'_> {
    Pieces { rest: text, line: 1, long_line: None }
}

/// The pieces of a document.
#[derive(Clone, Debug)]
pub struct Pieces<'t> {
    rest: &'t str,
    /// The number of the first line of `rest`.
    line: usize,
    /// What is left of a line that is too long, and the length of its ending.
    long_line: Option<(&'t str, usize)>,
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        if self.rest.is_empty() && self.long_line.is_none() {
            return None;
        }
        if self.long_line.is_none() {
            let (content, ending, below) = first_line(self.rest);
            if content.len() > HARD_LIMIT_BYTES {
                let (whole, _) = split(self.rest, content.len() + ending.len());
                self.long_line = Some((whole, ending.len()));
                self.rest = below.unwrap_or_default();
            }
        }
        let Some((whole, ending)) = self.long_line else {
            let (bytes, lines) = next_cut(self.rest);
            let (text, behind) = split(self.rest, bytes);
            let piece = Piece { start_line: self.line, end_line: self.line + lines - 1, text };
            (self.rest, self.line) = (behind, self.line + lines);
            return Some(piece);
        };
        // One line, in parts, the last with its ending.
        let fits = whole.len() - ending <= HARD_LIMIT_BYTES;
        let end = if fits { whole.len() } else { whole.floor_char_boundary(HARD_LIMIT_BYTES) };
        let (text, behind) = split(whole, end);
        let piece = Piece { start_line: self.line, end_line: self.line, text };
        self.long_line = (!behind.is_empty()).then_some((behind, ending));
        self.line += usize::from(behind.is_empty());
        Some(piece)
    }
}

fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
}

/// The length of the first piece, in bytes and in lines. It holds at least one line.
fn next_cut(text: &str) -> (usize, usize) {
    let (mut bytes, mut lines, mut full_lines) = (0, 0, 0);
    let mut above: Option<Line<'_>> = None;
    let mut best: Option<(i64, usize, usize)> = None;
    let mut rest = text;
    loop {
        if bytes > 0 && (bytes >= LEAST_BYTES || rest.is_empty()) {
            let off = i64::try_from(bytes.abs_diff(TARGET_BYTES)).unwrap_or(i64::MAX);
            let merit = match &above {
                Some(_) if rest.is_empty() => Line::MOST_MERIT,
                Some(above) => Line::of(first_line(rest).0).merit_below(above),
                None => 0,
            };
            let score = merit * 100 - off.saturating_mul(LENGTH_WEIGHT * 100) / 1_000;
            if best.is_none_or(|(known, ..)| score >= known) {
                best = Some((score, bytes, lines));
            }
        }
        if rest.is_empty() {
            break;
        }
        let (content, ending, below) = first_line(rest);
        let line = Line::of(content);
        let length = content.len() + ending.len();
        full_lines += usize::from(!line.blank);
        if lines > 0 && (bytes + length > HARD_LIMIT_BYTES || full_lines > HARD_LIMIT_LINES) {
            break;
        }
        (bytes, lines) = (bytes + length, lines + 1);
        above = Some(line);
        rest = below.unwrap_or_default();
    }
    best.map_or((bytes, lines), |(_, bytes, lines)| (bytes, lines))
}

/// The properties of a line that the rule reads.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    blank: bool,
    /// Steps of indentation, 4 spaces or a tab each.
    depth: i64,
}

impl<'t> Line<'t> {
    /// The merit of a cut at the end of the document.
    const MOST_MERIT: i64 = 8;

    fn of(content: &'t str) -> Self {
        let text = content.trim_start();
        let indentation = content.len() - text.len();
        let tabs = content.bytes().take(indentation).filter(|byte| *byte == b'\t').count();
        let depth = tabs + (indentation - tabs) / 4;
        Self { text, blank: text.is_empty(), depth: i64::try_from(depth).unwrap_or(i64::MAX) }
    }

    /// The merit of a cut between the line above and this one, from -4 to 12.
    fn merit_below(&self, above: &Self) -> i64 {
        let depth = self.depth.min(3);
        if self.blank {
            // A blank line belongs to the chunk above it.
            -1
        } else if self.text.starts_with(['}', ')', ']']) || self.text.starts_with("end") {
            -4
        } else if above.blank {
            let heading =
                self.text.trim_start_matches('#').starts_with(' ') && self.text.starts_with('#');
            if heading && self.depth == 0 { 12 } else { 8 - 2 * depth }
        } else if above.text.starts_with(['}', ')', ']']) {
            5 - 2 * depth
        } else if above.explains() {
            -4
        } else {
            -depth
        }
    }

    /// Whether the line belongs to the one below: a comment, an attribute, an opening brace.
    fn explains(&self) -> bool {
        ["//", "#", "/*", "*", "--", "@", "["].iter().any(|mark| self.text.starts_with(mark))
            || self.text.trim_end().ends_with(['{', '(', '[', ':', ','])
    }
}
