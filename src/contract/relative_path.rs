//! The paths that may be named: relative ones only, each in one form (AGN-034 §4.2, interface §2 and §7).
//!
//! It owns the definition of "no absolute path in any spelling" for artifacts, documents, routes and the
//! chunks of a retrieval service, and the one form of a path that a client names. It never touches a file system.

use crate::encoding::disturbs_a_line;

/// The most characters of a path that a fault repeats.
const SHOWN_CHARACTERS: usize = 128;

/// The one form of a relative path: folders are separated by one `/` each, and no segment is `.`. A folder keeps the `/`
/// at its end; the empty path is the root itself.
///
/// # Errors
/// What is wrong with the path, in words that follow its name.
pub fn normal_path(path: &str) -> Result<String, &'static str> {
    if let Some(problem) = relative_path_problem(path) {
        return Err(problem);
    }
    if path.contains('\\') {
        return Err("must separate folders with \"/\", not with \"\\\"");
    }
    if !path.is_ascii() && hides_a_character(path) {
        return Err("must not hold an invisible character: another path looks the same");
    }
    let segments = path.split('/').filter(|segment| !matches!(*segment, "" | "."));
    let mut normal = segments.collect::<Vec<_>>().join("/");
    if (path.ends_with('/') || path.ends_with("/.")) && !normal.is_empty() {
        normal.push('/');
    }
    // `./C:x` begins with a drive letter once its first segment is gone.
    relative_path_problem(&normal).map_or(Ok(normal), Err)
}

/// The form of a path that names a file.
pub(super) fn normal_file_path(path: &str) -> Result<String, &'static str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if is_no_name(name) { Err(NO_NAME) } else { normal_path(path) }
}

/// The form of a file's name.
pub(super) fn normal_file_name(name: &str) -> Result<String, &'static str> {
    if is_no_name(name) {
        return Err(NO_NAME);
    }
    if let Some(problem) = relative_path_problem(name) {
        return Err(problem);
    }
    if name.contains(['/', '\\']) {
        return Err("must not hold a separator; put the folder into RelativePath");
    }
    normal_path(name)
}

/// A path in quotation marks as a fault repeats it: cut where it is long, with its invisible characters escaped.
pub fn quoted_path(path: &str) -> String {
    let mut shown = String::from("\"");
    for (at, c) in path.chars().enumerate() {
        if at == SHOWN_CHARACTERS {
            shown.push('…');
            break;
        }
        if disturbs_a_line(c) || is_invisible(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.push('"');
    shown
}

/// What is wrong with a relative path in any form, in words that follow its name. The empty path is the root itself.
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

const NO_NAME: &str = "must name a file";

fn is_no_name(name: &str) -> bool {
    matches!(name.trim(), "" | ".")
}

/// Whether a path that looks the same lacks one of its characters. Within an emoji, a joiner and the selector of its
/// picture are seen.
fn hides_a_character(path: &str) -> bool {
    let mut before = ' ';
    let mut rest = path.chars();
    while let Some(c) = rest.next() {
        let is_seen = match c {
            '\u{200d}' => is_of_an_emoji(before),
            '\u{fe0f}' => {
                is_of_an_emoji(before)
                    || matches!(before, '©' | '®' | '〰' | '〽' | '㊗' | '㊙')
                    || rest.clone().next() == Some('\u{20e3}')
            }
            _ => !is_invisible(c),
        };
        if !is_seen {
            return true;
        }
        before = c;
    }
    false
}

/// Whether the character has no width of its own and no mark (Unicode's `Default_Ignorable_Code_Point`, and the
/// annotation characters beside it).
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a joiner or the selector of a picture may follow the character: an emoji, or its selector.
fn is_of_an_emoji(c: char) -> bool {
    matches!(c, '\u{203c}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}')
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
            assert!(normal_path(path).is_err(), "{path:?}");
            assert!(normal_file_name(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn every_spelling_of_a_path_has_one_form() {
        for (path, normal) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            ("./src/", "src/"),
            ("src/.", "src/"),
            ("src/a.rs", "src/a.rs"),
            ("./src//./a.rs", "src/a.rs"),
            (".//a", "a"),
            ("...", "..."),
            ("a..b/..c", "a..b/..c"),
            ("my file (1).txt", "my file (1).txt"),
            ("Größe/文件.md", "Größe/文件.md"),
            ("a/b:c", "a/b:c"),
            ("1:2", "1:2"),
            ("100%2f.txt", "100%2f.txt"),
            ("~/x", "~/x"),
            ("©\u{fe0f} ㊙\u{fe0f}.md", "©\u{fe0f} ㊙\u{fe0f}.md"),
            (
                "❤\u{fe0f}/👩\u{200d}💻 1\u{fe0f}\u{20e3}.md",
                "❤\u{fe0f}/👩\u{200d}💻 1\u{fe0f}\u{20e3}.md",
            ),
        ] {
            assert_eq!(normal_path(path).as_deref(), Ok(normal), "{path:?}");
            assert_eq!(normal_path(normal).as_deref(), Ok(normal), "{path:?}");
        }
        for name in ["a.rs", ".gitignore", "a b", "文件.md", "...", "Makefile"] {
            assert_eq!(normal_file_name(name).as_deref(), Ok(name));
        }
        for name in ["", " ", ".", "a/b", "a\\b", "a/"] {
            assert!(normal_file_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_path_that_looks_like_another_one_is_refused() {
        for c in "\u{200b}\u{feff}\u{200c}\u{200d}\u{2060}\u{ad}\u{180e}\u{fe0f}\u{e0041}\u{3164}"
            .chars()
        {
            for path in [format!("a{c}b"), format!("{c}a/b"), format!("a/b{c}")] {
                assert!(normal_path(&path).is_err(), "{path:?}");
                assert!(normal_file_name(&path.replace('/', "")).is_err(), "{path:?}");
            }
        }
        for path in ["src\\a.rs", "a\\", "./C:/x", "././/C:x", "./ /etc"] {
            assert!(normal_path(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn a_fault_repeats_a_path_with_what_cannot_be_seen_and_not_without_end() {
        assert_eq!(quoted_path("a\u{200b}\n\\b"), r#""a\u{200b}\u{a}\b""#);
        let long = quoted_path(&"é".repeat(1_000));
        assert!(long.ends_with("é…\"") && long.chars().count() == SHOWN_CHARACTERS + 3);
    }
}
