//! `ContentHash` (IDX-016): equal hashes mean equal contents, for files and documents.
//!
//! It owns the normal form of a text, which ignores the kind of line endings and everything after the
//! 500th UTF-16 code unit of a line.

use sha2::{Digest, Sha256};

use super::hex::{hex, sha256_hex};

/// The length of the part of a line that is hashed, in UTF-16 code units.
const LINE_UNITS: usize = 500;

/// The hash of a text, in lower-case hex: CRLF and CR become LF, each line is cut to 500 UTF-16 code
/// units, and every line, the last included, is followed by LF.
///
/// A cut through a surrogate pair leaves its first half, which becomes U+FFFD, as on platforms whose
/// strings are UTF-16.
pub fn content_hash_of_text(text: &str) -> String {
    hash_of_lines(text, LINE_UNITS).0
}

/// The `ContentHash` of a text, and the hash of the text with whole lines, which is empty when no line
/// was cut.
pub fn content_hashes_of_text(text: &str) -> (String, String) {
    let (hash, cut) = hash_of_lines(text, LINE_UNITS);
    let whole = if cut { hash_of_lines(text, usize::MAX).0 } else { String::new() };
    (hash, whole)
}

/// The hash of a text with each line cut to `most_units` UTF-16 code units, and whether any was cut.
fn hash_of_lines(text: &str, most_units: usize) -> (String, bool) {
    let mut hash = Sha256::new();
    let mut was_cut = false;
    let mut rest = Some(text);
    while let Some(remaining) = rest {
        let (line, _, below) = first_line(remaining);
        let mut units = 0;
        let cut = line.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > most_units
        });
        was_cut |= cut.is_some();
        let kept = cut.map_or(Some(line), |(at, _)| line.get(..at)).unwrap_or(line);
        hash.update(kept);
        // The limit cuts the character in two: its first half still fits.
        if cut.is_some_and(|(_, c)| units - c.len_utf16() < most_units) {
            hash.update("\u{fffd}");
        }
        hash.update("\n");
        rest = below;
    }
    (hex(&hash.finalize()), was_cut)
}

/// The hash of contents that are not text, in lower-case hex: SHA-256 of the bytes.
pub fn content_hash_of_bytes(bytes: &[u8]) -> String {
    sha256_hex(bytes)
}

/// The first line of a text, its line ending (LF, CRLF, CR, or nothing at the end of the text), and
/// the rest; `None` when the text has no line ending.
pub fn first_line(text: &str) -> (&str, &str, Option<&str>) {
    let end = text.find(['\n', '\r']).and_then(|at| text.split_at_checked(at));
    let Some((line, rest)) = end else { return (text, "", None) };
    let length = if rest.starts_with("\r\n") { 2 } else { 1 };
    let (ending, below) = rest.split_at_checked(length).unwrap_or((rest, ""));
    (line, ending, Some(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_hash_of_its_normal_form() {
        let lines = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
        let long = "8fd45c9cb8f53330c161ffaa51a9ccfdc03b7f706384d41e578a5f671cb2e8a9";
        for (text, hash) in [
            ("", "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b"),
            ("a", "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"),
            ("a\n", "a7da489976d0047490617adb4f7a1f27f7af8b52a5176fd002ffe471863520ab"),
            ("a\nb", lines),
            ("a\r\nb", lines),
            ("a\rb", lines),
            (&"x".repeat(500), long),
            (&"x".repeat(501), long),
        ] {
            assert_eq!(content_hash_of_text(text), hash, "{text:?}");
        }
    }

    #[test]
    fn a_cut_through_a_character_leaves_a_replacement_for_its_first_half() {
        let odd = "x".repeat(499);
        let of = |text: &str| content_hash_of_bytes(format!("{text}\n").as_bytes());
        assert_eq!(content_hash_of_text(&format!("{odd}😀")), of(&format!("{odd}\u{fffd}")));
        assert_eq!(content_hash_of_text(&format!("{odd}é😀")), of(&format!("{odd}é")));
        let even = "😀".repeat(250);
        assert_eq!(content_hash_of_text(&format!("{even}😀")), of(&even));
    }

    #[test]
    fn a_second_hash_covers_the_text_after_the_cut() {
        let of = |text: &str| content_hashes_of_text(text);
        let (short, long) = ("x".repeat(500), "x".repeat(501));
        let hash = content_hash_of_text(&short);
        assert_eq!(of(&short), (hash.clone(), String::new()));
        assert_eq!(of(&long), (hash, content_hash_of_bytes(format!("{long}\n").as_bytes())));
        assert_eq!(of(&format!("{long}\r\na")), of(&format!("{long}\na")));
    }

    #[test]
    fn other_contents_have_the_hash_of_their_bytes() {
        assert_eq!(
            content_hash_of_bytes(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
