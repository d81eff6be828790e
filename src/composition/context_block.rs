//! The `[CONTEXT]` block (AGN-003 §3, AGN-002): numbered chunks with their metadata, fenced.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use crate::retrieval::Chunk;

/// The block. It is written straight into the request, since a chunk can be as long as a request.
#[derive(Default)]
pub(super) struct ContextBlock<'a> {
    pub(super) chunks: Vec<ContextChunk<'a>>,
    /// How many chunks stand before these: the block goes on after them.
    pub(super) shown: usize,
}

/// A chunk of the block.
pub(super) struct ContextChunk<'a> {
    pub(super) path: Cow<'a, str>,
    pub(super) start_line: usize,
    pub(super) end_line: usize,
    pub(super) language: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

impl<'a> From<&'a Chunk> for ContextChunk<'a> {
    fn from(chunk: &'a Chunk) -> Self {
        Self {
            path: chunk.path.as_str().into(),
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            language: chunk.language.as_str().into(),
            text: chunk.text.as_str().into(),
        }
    }
}

impl Display for ContextBlock<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, chunk) in (self.shown + 1..).zip(&self.chunks) {
            let opening = if number == 1 { "[CONTEXT]\n\n" } else { "\n" };
            let fence = "`".repeat(3.max(longest_run_of_backticks(&chunk.text) + 1));
            let text = chunk.text.strip_suffix('\n').unwrap_or(&chunk.text);
            let ContextChunk { path, start_line, end_line, language, .. } = chunk;
            write!(
                f,
                "{opening}=== CHUNK {number} ===\nId: ctx_{number}\nPath: {path}\nLines: {start_line}-{end_line}\nLanguage: {language}\n{fence}{language}\n{text}\n{fence}\n",
            )?;
        }
        Ok(())
    }
}

fn longest_run_of_backticks(text: &str) -> usize {
    let (mut longest, mut rest) = (0, text);
    while let Some((_, behind)) = rest.split_once('`') {
        rest = behind.trim_start_matches('`');
        longest = longest.max(1 + behind.len() - rest.len());
    }
    longest
}

/// The file's path: the relative path with the file name appended, unless it already ends so.
pub(super) fn chunk_path(relative_path: &str, file_name: &str) -> String {
    let folder = relative_path.trim_end_matches(['/', '\\']);
    match folder.strip_suffix(file_name) {
        Some(rest) if rest.is_empty() || rest.ends_with(['/', '\\']) => folder.to_owned(),
        _ if folder.is_empty() => file_name.to_owned(),
        _ => format!("{folder}/{file_name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context_block(chunks: &[(&'static str, &'static str)]) -> String {
        let chunk = |(path, text): &(&'static str, &'static str)| ContextChunk {
            path: (*path).into(),
            start_line: 1,
            end_line: 2,
            language: "rust".into(),
            text: (*text).into(),
        };
        ContextBlock { chunks: chunks.iter().map(chunk).collect(), shown: 0 }.to_string()
    }

    #[test]
    fn chunks_are_numbered_fenced_and_separated_by_one_blank_line() {
        assert_eq!(
            context_block(&[("src/a.rs", "fn a() {}\nfn b() {}\n"), ("b.rs", "x")]),
            "[CONTEXT]\n\n=== CHUNK 1 ===\nId: ctx_1\nPath: src/a.rs\nLines: 1-2\nLanguage: rust\n```rust\nfn a() {}\nfn b() {}\n```\n\n=== CHUNK 2 ===\nId: ctx_2\nPath: b.rs\nLines: 1-2\nLanguage: rust\n```rust\nx\n```\n"
        );
        assert_eq!(context_block(&[]), "");
    }

    #[test]
    fn a_fence_is_longer_than_any_run_of_backticks_inside() {
        let block = context_block(&[("a.md", "```rust\n````\n```")]);
        assert!(block.contains("`````rust\n```rust\n````\n```\n`````\n"), "{block}");
    }

    #[test]
    fn a_path_gets_its_file_name_once() {
        for (relative, name, path) in [
            ("src", "a.rs", "src/a.rs"),
            ("src/", "a.rs", "src/a.rs"),
            ("src/a.rs", "a.rs", "src/a.rs"),
            ("src/a.rs/", "a.rs", "src/a.rs"),
            ("a.rs", "a.rs", "a.rs"),
            ("src/ba.rs", "a.rs", "src/ba.rs/a.rs"),
            ("", "a.rs", "a.rs"),
            ("src\\a.rs", "a.rs", "src\\a.rs"),
        ] {
            assert_eq!(chunk_path(relative, name), path, "{relative} {name}");
        }
    }
}
