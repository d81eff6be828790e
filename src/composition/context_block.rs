//! The `[CONTEXT]` block (AGN-003 §3, AGN-002): numbered chunks with their metadata, fenced.

use std::fmt::Write;

use crate::retrieval::Chunk;

/// Renders the block; empty when there are no chunks.
pub(super) fn context_block(chunks: &[Chunk]) -> String {
    let mut block = String::new();
    for (index, chunk) in chunks.iter().enumerate() {
        block.push_str(if index == 0 { "[CONTEXT]\n\n" } else { "\n" });
        write_chunk(&mut block, index + 1, chunk);
    }
    block
}

/// The file's path: the relative path with the file name appended, unless it already ends so.
pub(super) fn chunk_path(relative_path: &str, file_name: &str) -> String {
    let folder = relative_path.trim_end_matches(['/', '\\']);
    let already_named = folder
        .strip_suffix(file_name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']));
    if already_named {
        folder.to_owned()
    } else if folder.is_empty() {
        file_name.to_owned()
    } else {
        format!("{folder}/{file_name}")
    }
}

fn write_chunk(block: &mut String, number: usize, chunk: &Chunk) {
    let longest_run = chunk.text.split(|c: char| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest_run + 1));
    let text = chunk.text.strip_suffix('\n').unwrap_or(&chunk.text);
    // Writing to a String cannot fail.
    let _ = write!(
        block,
        "=== CHUNK {number} ===\nId: ctx_{number}\nPath: {}\nLines: {}-{}\nLanguage: {}\n{fence}{}\n{text}\n{fence}\n",
        chunk.path, chunk.start_line, chunk.end_line, chunk.language, chunk.language,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(path: &str, text: &str) -> Chunk {
        Chunk {
            path: path.to_owned(),
            start_line: 1,
            end_line: 2,
            language: "rust".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn chunks_are_numbered_fenced_and_separated_by_one_blank_line() {
        assert_eq!(
            context_block(&[chunk("src/a.rs", "fn a() {}\nfn b() {}\n"), chunk("b.rs", "x")]),
            "[CONTEXT]\n\n=== CHUNK 1 ===\nId: ctx_1\nPath: src/a.rs\nLines: 1-2\nLanguage: rust\n```rust\nfn a() {}\nfn b() {}\n```\n\n=== CHUNK 2 ===\nId: ctx_2\nPath: b.rs\nLines: 1-2\nLanguage: rust\n```rust\nx\n```\n"
        );
        assert_eq!(context_block(&[]), "");
    }

    #[test]
    fn a_fence_is_longer_than_any_run_of_backticks_inside() {
        let block = context_block(&[chunk("a.md", "```rust\n````\n```")]);
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
