//! `ContentHash` (IDX-016): equal hashes mean equal contents, for files and documents.
//!
//! It owns the normal form of a text, which ignores the kind of line endings and everything after the
//! 500th UTF-16 code unit of a line.

use sha2::{Digest, Sha256};

use super::hex::{hex, sha256_hex};
use super::lines::first_line;

/// The length of the part of a line that is hashed, in UTF-16 code units.
const LINE_UNITS: usize = 500;

/// The hash of a text, in lower-case hex: CRLF and CR become LF, each line is cut to 500 UTF-16 code
/// units, and every line, the last included, is followed by LF.
///
/// A cut through a surrogate pair leaves its first half, which becomes U+FFFD, as on platforms whose
/// strings are UTF-16.
pub fn content_hash_of_text(text: &str) -> String {
    let mut lines = LineHash::of(text, LINE_UNITS);
    while lines.rest.is_some() {
        lines.go_on();
    }
    lines.finished()
}

/// The bytes that are hashed at once.
const WINDOW: usize = 64 * 1024;

/// The `ContentHash` of a text, and the hash of the text with whole lines, which is empty when no line
/// was cut. They are computed bit by bit, because a text may be long.
pub struct TextHashes<'t> {
    text: &'t str,
    lines: LineHash<'t>,
    content_hash: Option<String>,
}

impl<'t> TextHashes<'t> {
    /// The hashes of a text; none of it has been read yet.
    pub fn of(text: &'t str) -> Self {
        Self { text, lines: LineHash::of(text, LINE_UNITS), content_hash: None }
    }

    /// Reads on, at most 64 KiB, and returns both hashes when they are complete.
    pub fn go_on(&mut self) -> Option<(String, String)> {
        self.lines.go_on();
        if self.lines.rest.is_some() {
            return None;
        }
        let whole = LineHash::of(self.text, usize::MAX);
        let was_cut = self.lines.was_cut;
        let hash = std::mem::replace(&mut self.lines, whole).finished();
        match self.content_hash.take() {
            Some(content_hash) => Some((content_hash, hash)),
            None if was_cut => {
                self.content_hash = Some(hash);
                None
            }
            None => Some((hash, String::new())),
        }
    }
}

/// The hash of a text with each line cut to `most_units` UTF-16 code units.
struct LineHash<'t> {
    /// The text from here on is still to come; `None` at its end.
    rest: Option<&'t str>,
    most_units: usize,
    /// The code units of the present line that have been read.
    units: usize,
    was_cut: bool,
    hash: Sha256,
}

impl<'t> LineHash<'t> {
    fn of(text: &'t str, most_units: usize) -> Self {
        Self { rest: Some(text), most_units, units: 0, was_cut: false, hash: Sha256::new() }
    }

    fn go_on(&mut self) {
        let Some(rest) = self.rest else { return };
        let window = rest.floor_char_boundary(WINDOW);
        let (mut window, behind) = rest.split_at_checked(window).unwrap_or((rest, ""));
        loop {
            let (line, ending, below) = first_line(window);
            self.read(line);
            // The rest of the line, or of its ending, may stand behind the window.
            if below.is_none_or(str::is_empty) && !behind.is_empty() {
                self.rest = rest.get(rest.len() - behind.len() - ending.len()..);
                return;
            }
            self.hash.update("\n");
            self.units = 0;
            let Some(below) = below else {
                self.rest = None;
                return;
            };
            window = below;
        }
    }

    /// Reads a part of a line.
    fn read(&mut self, part: &str) {
        if self.most_units == usize::MAX {
            return self.hash.update(part);
        }
        if self.units > self.most_units {
            return;
        }
        let cut = part.char_indices().find(|(_, c)| {
            self.units += c.len_utf16();
            self.units > self.most_units
        });
        self.was_cut |= cut.is_some();
        self.hash.update(cut.map_or(Some(part), |(at, _)| part.get(..at)).unwrap_or(part));
        // The limit cuts the character in two: its first half still fits.
        if cut.is_some_and(|(_, c)| self.units - c.len_utf16() < self.most_units) {
            self.hash.update("\u{fffd}");
        }
    }

    fn finished(self) -> String {
        hex(&self.hash.finalize())
    }
}

/// The hash of contents that are not text, in lower-case hex: SHA-256 of the bytes.
pub fn content_hash_of_bytes(bytes: &[u8]) -> String {
    sha256_hex(bytes)
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
        let of = |text: &str| {
            let mut hashes = TextHashes::of(text);
            std::iter::repeat_with(|| hashes.go_on()).find_map(|done| done).unwrap()
        };
        let (short, long) = ("x".repeat(500), "x".repeat(501));
        let hash = content_hash_of_text(&short);
        assert_eq!(of(&short), (hash.clone(), String::new()));
        assert_eq!(of(&long), (hash, content_hash_of_bytes(format!("{long}\n").as_bytes())));
        assert_eq!(of(&format!("{long}\r\na")), of(&format!("{long}\na")));
    }

    #[test]
    fn a_text_longer_than_a_window_has_the_hash_of_its_lines() {
        for ending in ["\n", "\r\n", "\r"] {
            for fill in ["", "é", "x"] {
                for length in WINDOW - 3..WINDOW + 3 {
                    let first = format!("{fill}{}", "x".repeat(length - fill.len()));
                    let text = format!("{first}{ending}{ending}y{ending}");
                    let whole = content_hash_of_bytes(format!("{first}\n\ny\n\n").as_bytes());
                    let mut hashes = TextHashes::of(&text);
                    let done = std::iter::repeat_with(|| hashes.go_on()).find_map(|done| done);
                    assert_eq!(done.unwrap().1, whole, "{length} {ending:?}");
                }
            }
        }
        let blank = "\r\n".repeat(WINDOW);
        let lines = content_hash_of_bytes("\n".repeat(WINDOW + 1).as_bytes());
        assert_eq!(content_hash_of_text(&blank), lines);
    }

    #[test]
    fn other_contents_have_the_hash_of_their_bytes() {
        assert_eq!(
            content_hash_of_bytes(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
