//! The paths that may be named: relative ones only (AGN-034 §4.2, interface §2 and §7).
//!
//! It owns the definition of "no absolute path in any spelling" for artifacts, documents, routes and the
//! chunks of a retrieval service. It never touches a file system and never repairs a path.

use crate::encoding::disturbs_a_line;

/// What is wrong with a relative path, in words that follow its name. The empty path is the root itself.
pub fn relative_path_problem(path: &str) -> Option<&'static str> {
    if is_disturbed(path) {
        return Some(
            "must not hold a control character, a line separator or a bidirectional control",
        );
    }
    // Programs that resolve paths drop leading white space.
    let start = path.trim_start();
    if start.starts_with(['/', '\\']) {
        return Some("must be relative: it must not begin with a separator");
    }
    if has_scheme(start) {
        return Some("must be relative: it must not begin with a drive letter or a URL scheme");
    }
    if path.contains("..") && path.split(['/', '\\']).any(|segment| segment.trim() == "..") {
        return Some("must stay inside the root: it must not hold a \"..\" segment");
    }
    None
}

/// What is wrong with a file name, in words that follow its name.
pub(super) fn file_name_problem(name: &str) -> Option<&'static str> {
    if matches!(name.trim(), "" | ".") {
        return Some("must name a file");
    }
    relative_path_problem(name).or_else(|| {
        name.contains(['/', '\\'])
            .then_some("must not hold a separator; put the folder into RelativePath")
    })
}

/// Whether a character in the path disturbs a line. A request may hold megabytes of paths, most of them ASCII.
fn is_disturbed(path: &str) -> bool {
    if path.is_ascii() {
        path.bytes().any(|byte| byte.is_ascii_control())
    } else {
        path.chars().any(disturbs_a_line)
    }
}

/// Whether the text begins like `C:` or `https:`.
fn has_scheme(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_refused_in_every_spelling() {
        for path in [
            "/etc/passwd",
            "\\windows",
            "\\\\server\\share",
            "//server/share",
            "\\\\?\\C:\\x",
            "C:\\x",
            "c:/x",
            "C:x",
            " /etc",
            "\u{a0}C:\\x",
            "file:///etc",
            "file:etc",
            "https://host/x",
            "vscode-remote://x",
            "..",
            "../x",
            "a/../b",
            "a\\..\\b",
            "a/..",
            "a/.. /b",
            "a\0b",
            "a\nb",
            "a\u{7f}b",
            "a\u{85}b",
            "a\u{2028}b",
            "a\u{2029}b",
            "invoice\u{202e}gpj.exe",
            "a\u{2066}b\u{2069}",
            "a\u{200f}b",
        ] {
            assert!(relative_path_problem(path).is_some(), "{path:?}");
            assert!(file_name_problem(path).is_some(), "{path:?}");
        }
    }

    #[test]
    fn an_ordinary_relative_path_is_accepted() {
        for path in [
            "",
            ".",
            "./src/",
            "src/a.rs",
            "src\\a.rs",
            "...",
            "a..b/..c",
            "my file (1).txt",
            "Größe/文件.md",
            "a/b:c",
            "1:2",
            "100%2f.txt",
            "~/x",
        ] {
            assert_eq!(relative_path_problem(path), None, "{path:?}");
        }
        for name in ["a.rs", ".gitignore", "a b", "文件.md", "...", "Makefile"] {
            assert_eq!(file_name_problem(name), None, "{name:?}");
        }
        for name in ["", " ", ".", "a/b", "a\\b", "a/"] {
            assert!(file_name_problem(name).is_some(), "{name:?}");
        }
    }
}
