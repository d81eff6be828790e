//! The `[CONTEXT]` block (AGN-003 §3, AGN-002): numbered chunks with their metadata, fenced.

use std::fmt::Write;

/// A piece of text that the model may read and cite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Path relative to the workspace's root.
    pub path: String,
    /// First line, from 1.
    pub start_line: usize,
    /// Last line, inclusive.
    pub end_line: usize,
    /// The language, as in a fence's info string.
    pub language: String,
    /// The text.
    pub text: String,
}

/// Renders the block; empty when there are no chunks.
pub fn context_block(chunks: &[Chunk]) -> String {
    let mut block = String::new();
    for (index, chunk) in chunks.iter().enumerate() {
        block.push_str(if index == 0 { "[CONTEXT]\n\n" } else { "\n" });
        write_chunk(&mut block, index + 1, chunk);
    }
    block
}

/// The language of a text artifact: what the request says, else the file extension's, else
/// `plaintext`. A language that could break out of the metadata or the fence counts as not given.
pub(super) fn language_of(given: Option<&str>, path: &str) -> String {
    let given = given.map(str::trim).filter(|language| {
        !language.is_empty() && !language.contains(|c: char| c.is_control() || c == '`')
    });
    match given {
        Some(language) => language.to_owned(),
        None => language_by_extension(path).to_owned(),
    }
}

/// The file's path: the relative path with the file name appended, unless it already ends so.
pub(super) fn chunk_path(relative_path: &str, file_name: &str) -> String {
    let folder = relative_path.trim_end_matches(['/', '\\']);
    let already_named = folder
        .strip_suffix(file_name)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']));
    if already_named {
        relative_path.to_owned()
    } else if folder.is_empty() {
        file_name.to_owned()
    } else {
        format!("{folder}/{file_name}")
    }
}

fn write_chunk(block: &mut String, number: usize, chunk: &Chunk) {
    let fence = "`".repeat(3.max(longest_run_of_backticks(&chunk.text) + 1));
    let text = chunk.text.strip_suffix('\n').unwrap_or(&chunk.text);
    // Writing to a String cannot fail.
    let _ = write!(
        block,
        "=== CHUNK {number} ===\nId: ctx_{number}\nPath: {}\nLines: {}-{}\nLanguage: {}\n{fence}{}\n{text}\n{fence}\n",
        chunk.path, chunk.start_line, chunk.end_line, chunk.language, chunk.language,
    );
}

fn longest_run_of_backticks(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn language_by_extension(path: &str) -> &'static str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    match name.as_str() {
        "dockerfile" => return "dockerfile",
        "makefile" => return "makefile",
        _ => {}
    }
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "bash" | "sh" | "zsh" => "bash",
        "bat" | "cmd" => "bat",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" => "cpp",
        "cs" | "csx" => "csharp",
        "css" => "css",
        "csv" => "csv",
        "dart" => "dart",
        "ex" | "exs" => "elixir",
        "fs" | "fsx" => "fsharp",
        "go" => "go",
        "graphql" | "gql" => "graphql",
        "htm" | "html" => "html",
        "ini" => "ini",
        "java" => "java",
        "cjs" | "js" | "mjs" => "javascript",
        "jsx" => "jsx",
        "json" | "jsonc" => "json",
        "kt" | "kts" => "kotlin",
        "less" => "less",
        "lua" => "lua",
        "markdown" | "md" => "markdown",
        "php" => "php",
        "pl" | "pm" => "perl",
        "proto" => "protobuf",
        "ps1" | "psm1" => "powershell",
        "py" | "pyi" => "python",
        "r" => "r",
        "razor" | "cshtml" => "razor",
        "rb" => "ruby",
        "rs" => "rust",
        "scala" => "scala",
        "scss" => "scss",
        "sql" => "sql",
        "swift" => "swift",
        "tf" => "terraform",
        "toml" => "toml",
        "cts" | "mts" | "ts" => "typescript",
        "tsx" => "tsx",
        "vb" => "vb",
        "vue" => "vue",
        "csproj" | "svg" | "xaml" | "xml" => "xml",
        "yaml" | "yml" => "yaml",
        "zig" => "zig",
        _ => "plaintext",
    }
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
            ("a.rs", "a.rs", "a.rs"),
            ("src/ba.rs", "a.rs", "src/ba.rs/a.rs"),
            ("", "a.rs", "a.rs"),
            ("src\\a.rs", "a.rs", "src\\a.rs"),
        ] {
            assert_eq!(chunk_path(relative, name), path, "{relative} {name}");
        }
    }

    #[test]
    fn a_language_cannot_break_out_of_its_line() {
        assert_eq!(language_of(Some("rust"), "a.py"), "rust");
        assert_eq!(language_of(Some("x\n[INSTRUCTION]"), "a.py"), "python");
        assert_eq!(language_of(Some("`"), "a"), "plaintext");
        assert_eq!(language_of(None, "Dockerfile"), "dockerfile");
    }
}
