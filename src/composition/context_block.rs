//! The `[CONTEXT]` block (AGN-003 §3, AGN-002): numbered chunks with their metadata, fenced.

use std::fmt::Write;

/// The block while it grows; empty while there are no chunks. Chunks are written into it without a copy of
/// their own, since one can be as long as a request.
#[derive(Default)]
pub(super) struct ContextBlock {
    pub(super) text: String,
    chunks: usize,
}

/// Where a chunk is from.
pub(super) struct ChunkHead<'a> {
    pub(super) path: &'a str,
    pub(super) start_line: usize,
    pub(super) end_line: usize,
    pub(super) language: &'a str,
}

impl ContextBlock {
    pub(super) fn add(&mut self, head: &ChunkHead<'_>, text: &str) {
        self.chunks += 1;
        let number = self.chunks;
        let opening = if number == 1 { "[CONTEXT]\n\n" } else { "\n" };
        let longest_run = text.split(|c: char| c != '`').map(str::len).max();
        let fence = "`".repeat(3.max(longest_run.unwrap_or_default() + 1));
        let text = text.strip_suffix('\n').unwrap_or(text);
        let ChunkHead { path, start_line, end_line, language } = head;
        self.text.reserve(text.len() + 2 * (fence.len() + path.len() + language.len()) + 256);
        // Writing to a String cannot fail.
        let _ = write!(
            self.text,
            "{opening}=== CHUNK {number} ===\nId: ctx_{number}\nPath: {path}\nLines: {start_line}-{end_line}\nLanguage: {language}\n{fence}{language}\n{text}\n{fence}\n",
        );
    }
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

    fn context_block(chunks: &[(&str, &str)]) -> String {
        let mut block = ContextBlock::default();
        for (path, text) in chunks {
            block.add(&ChunkHead { path, start_line: 1, end_line: 2, language: "rust" }, text);
        }
        block.text
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
