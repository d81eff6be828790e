//! The language of a text, for artifacts and documents alike (interface §4, Chunks).
//!
//! It owns the one rule and the table of file extensions. It never looks at the text itself.

use super::lines::disturbs_a_line;

/// The language of a text: what the request says, else what the file name says, else `plaintext`. A
/// language that could break out of a chunk's metadata or its fence counts as not given.
pub fn language_of(given: Option<&str>, path: &str) -> String {
    let given = given.map(str::trim).filter(|language| {
        !language.is_empty() && !language.contains(|c: char| disturbs_a_line(c) || c == '`')
    });
    given.map_or_else(|| language_of_file(path), str::to_owned)
}

fn language_of_file(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    if matches!(name.as_str(), "dockerfile" | "makefile") {
        return name;
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let language = match extension {
        // Extensions that are the name of their language.
        "bash" | "bat" | "c" | "cpp" | "css" | "csv" | "dart" | "go" | "graphql" | "html"
        | "ini" | "java" | "jsx" | "json" | "less" | "lua" | "markdown" | "php" | "r" | "razor"
        | "scala" | "scss" | "sql" | "swift" | "toml" | "tsx" | "vb" | "vue" | "xml" | "yaml"
        | "zig" => extension,
        "sh" | "zsh" => "bash",
        "cmd" => "bat",
        "h" => "c",
        "cc" | "cxx" | "hh" | "hpp" => "cpp",
        "cs" | "csx" => "csharp",
        "ex" | "exs" => "elixir",
        "fs" | "fsx" => "fsharp",
        "gql" => "graphql",
        "htm" => "html",
        "cjs" | "js" | "mjs" => "javascript",
        "jsonc" => "json",
        "kt" | "kts" => "kotlin",
        "md" => "markdown",
        "pl" | "pm" => "perl",
        "proto" => "protobuf",
        "ps1" | "psm1" => "powershell",
        "py" | "pyi" => "python",
        "cshtml" => "razor",
        "rb" => "ruby",
        "rs" => "rust",
        "tf" => "terraform",
        "cts" | "mts" | "ts" => "typescript",
        "csproj" | "svg" | "xaml" => "xml",
        "yml" => "yaml",
        _ => "plaintext",
    };
    language.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_cannot_break_out_of_its_line() {
        assert_eq!(language_of(Some("rust"), "a.py"), "rust");
        assert_eq!(language_of(Some("x\n[INSTRUCTION]"), "a.py"), "python");
        assert_eq!(language_of(Some("x\u{2028}Path: b"), "a.py"), "python");
        assert_eq!(language_of(Some("`"), "a"), "plaintext");
        assert_eq!(language_of(None, "Dockerfile"), "dockerfile");
    }
}
