//! A small reader of Rust for the rules: it separates code from prose and finds the ends of bodies
//! and the lengths of functions.

use std::iter::Peekable;
use std::str::Chars;

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A file's code without comments, string contents and unit tests. Line numbers stay the same.
pub(crate) fn code_of(text: &str) -> String {
    without_unit_tests(&without_prose(text))
}

/// Drops comments and empties string literals.
fn without_prose(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => skip_block_comment(&mut rest, &mut code),
            ('"', _) => {
                code.push('"');
                match hashes_before_quote(&code) {
                    Some(hashes) => skip_raw_text(&mut rest, &mut code, hashes),
                    None => skip_text(&mut rest, &mut code),
                }
                code.push('"');
            }
            ('\'', _) => skip_character(&mut rest, &mut code),
            _ => code.push(c),
        }
    }
    code
}

/// The number of `#` in a raw string's opening `r#"`; `None` when the quote opens an ordinary
/// string.
fn hashes_before_quote(code: &str) -> Option<usize> {
    let before = code.strip_suffix('"')?;
    let start = before.trim_end_matches('#');
    let is_raw =
        start.ends_with('r') && !start.trim_end_matches(['r', 'b']).ends_with(|c: char| is_word(c));
    is_raw.then(|| before.len() - start.len())
}

fn keep_line_end(c: char, code: &mut String) {
    if c == '\n' {
        code.push(c);
    }
}

fn skip_block_comment(rest: &mut Peekable<Chars<'_>>, code: &mut String) {
    let mut depth = 0;
    let mut last = '/';
    for c in rest.by_ref() {
        keep_line_end(c, code);
        match (last, c) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                last = c;
                continue;
            }
        }
        if depth == 0 {
            return;
        }
        last = ' ';
    }
}

fn skip_text(rest: &mut Peekable<Chars<'_>>, code: &mut String) {
    while let Some(c) = rest.next() {
        keep_line_end(c, code);
        match c {
            '"' => return,
            '\\' => {
                if let Some(escaped) = rest.next() {
                    keep_line_end(escaped, code);
                }
            }
            _ => {}
        }
    }
}

fn skip_raw_text(rest: &mut Peekable<Chars<'_>>, code: &mut String, hashes: usize) {
    while let Some(c) = rest.next() {
        keep_line_end(c, code);
        if c == '"' && (0..hashes).all(|_| rest.next_if_eq(&'#').is_some()) {
            return;
        }
    }
}

/// Drops a character literal; a lifetime stays.
fn skip_character(rest: &mut Peekable<Chars<'_>>, code: &mut String) {
    let mut ahead = rest.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), _) => {
            rest.next();
            rest.next();
            while rest.next().is_some_and(|c| c != '\'') {}
        }
        (Some(_), Some('\'')) => {
            rest.next();
            rest.next();
        }
        _ => code.push('\''),
    }
}

/// Drops the modules of unit tests and leaves their lines empty.
fn without_unit_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut left = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        let (before, marked) = rest.split_at(at);
        left.push_str(before);
        let end = body_end(marked).unwrap_or(marked.len());
        left.extend(marked[..end].chars().filter(|c| *c == '\n'));
        rest = &marked[end..];
    }
    left + rest
}

/// The end of the first body, or of the first statement when that comes earlier.
pub(crate) fn body_end(code: &str) -> Option<usize> {
    let (mut braces, mut others) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => others += 1,
            ')' | ']' => others -= 1,
            '{' => braces += 1,
            '}' => braces -= 1,
            _ => {}
        }
        if others == 0 && braces == 0 && matches!(c, '}' | ';') {
            return Some(at + 1);
        }
    }
    None
}

/// Every function with a body: its name and its number of lines.
pub(crate) fn functions(code: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let name = code[at + 3..].split(|c: char| !is_word(c)).next().unwrap_or_default();
        // The type `fn (…)` has no name.
        if name.is_empty() || code[..at].ends_with(is_word) {
            continue;
        }
        let text = &code[at..at + body_end(&code[at..]).unwrap_or_default()];
        if text.ends_with('}') {
            found.push((name, text.lines().count()));
        }
    }
    found
}

#[test]
fn code_is_what_is_no_comment_no_text_and_no_test() {
    let text = "a // crate::b\n/* /* \" */\n */ c(\"\\\" crate::d\", r#\"\"e\"#, 'f', '\\'', &'g h)\n\
                #[cfg(test)]\nmod tests {\n}\ni";
    assert_eq!(code_of(text), "a \n\n c(\"\", r#\"\", , , &'g h)\n\n\n\ni");
}

#[test]
fn a_function_is_as_long_as_its_lines() {
    let code = "fn a() -> [u8; 2] {\n  if b {\n  }\n}\ntrait C {\n fn d();\n fn e() {}\n}\n";
    assert_eq!(functions(code), [("a", 4), ("e", 1)]);
}
