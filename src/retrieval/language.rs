//! The language of a text, for artifacts and documents alike (the interface, section 4, *Chunks*).
//!
//! It owns the one rule and the table of file extensions. It never looks at the text itself.

/// The language of a text: what the request says, else the file extension's, else `plaintext`. A
/// language that could break out of a chunk's metadata or its fence counts as not given.
pub fn language_of(given: Option<&str>, path: &str) -> String {
    let given = given.map(str::trim).filter(|language| {
        !language.is_empty() && !language.contains(|c: char| c.is_control() || c == '`')
    });
    match given {
        Some(language) => language.to_owned(),
        None => language_by_extension(path).to_owned(),
    }
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

    #[test]
    fn a_language_cannot_break_out_of_its_line() {
        assert_eq!(language_of(Some("rust"), "a.py"), "rust");
        assert_eq!(language_of(Some("x\n[INSTRUCTION]"), "a.py"), "python");
        assert_eq!(language_of(Some("`"), "a"), "plaintext");
        assert_eq!(language_of(None, "Dockerfile"), "dockerfile");
    }
}
