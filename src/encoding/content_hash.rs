//! `ContentHash` (IDX-016): equal hashes mean equal contents, for files and documents.
//!
//! It owns the normal form of a text, which ignores the kind of line endings and everything after the
//! 500th UTF-16 code unit of a line.

use sha2::{Digest, Sha256};

use super::hex::hex;
use super::lines::first_line;

/// The length of the part of a line that is hashed, in UTF-16 code units.
const LINE_UNITS: usize = 500;

/// The bytes that are hashed at once.
const WINDOW: usize = 64 * 1024;

/// The hashes of a text, in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextHashes {
    /// CRLF and CR become LF, each line is cut to 500 UTF-16 code units, and every line, the last included, is followed
    /// by LF. A cut through a surrogate pair leaves its first half, which becomes U+FFFD, as on platforms whose strings
    /// are UTF-16.
    pub content: String,
    /// The hash of the text with whole lines; empty when no line was cut.
    pub whole: String,
    /// SHA-256 of the text as it is.
    pub sha256: String,
}

/// The hashes of a text on their way. They are computed bit by bit, because a text may be long.
pub struct TextHashing<'t> {
    /// The text from here on is still to come; `None` at its end.
    rest: Option<&'t str>,
    /// The code units of the present line that have been read, up to its cut.
    units: usize,
    content: Sha256,
    /// The hash of whole lines. It is that of the content until the first line is cut.
    whole: Option<Sha256>,
    bytes: Sha256,
}

impl<'t> TextHashing<'t> {
    /// The most bytes that are read at once.
    pub const STEP_BYTES: usize = WINDOW;

    /// The hashes of a text; none of it has been read yet.
    pub fn of(text: &'t str) -> Self {
        let (content, bytes) = (Sha256::new(), Sha256::new());
        Self { rest: Some(text), units: 0, content, whole: None, bytes }
    }

    /// Reads on, at most [`Self::STEP_BYTES`], and returns the hashes when they are complete.
    pub fn advance(&mut self) -> Option<TextHashes> {
        let unread = self.rest.take()?;
        self.rest = self.read_window(unread);
        let read = unread.len() - self.rest.map_or(0, str::len);
        self.bytes.update(unread.get(..read).unwrap_or(unread));
        if self.rest.is_some() {
            return None;
        }
        let finished = |hash: &mut Sha256| hex(&std::mem::take(hash).finalize());
        Some(TextHashes {
            content: finished(&mut self.content),
            whole: self.whole.as_mut().map(finished).unwrap_or_default(),
            sha256: finished(&mut self.bytes),
        })
    }

    /// Reads the first window of a text, and returns what is still to come.
    fn read_window(&mut self, text: &'t str) -> Option<&'t str> {
        let window = text.floor_char_boundary(WINDOW);
        let (mut window, behind) = text.split_at_checked(window).unwrap_or((text, ""));
        loop {
            let (line, ending, below) = first_line(window);
            self.read(line);
            // The rest of the line, or of its ending, may stand behind the window.
            if below.is_none_or(str::is_empty) && !behind.is_empty() {
                return text.get(text.len() - behind.len() - ending.len()..);
            }
            self.content.update("\n");
            if let Some(whole) = &mut self.whole {
                whole.update("\n");
            }
            self.units = 0;
            window = below?;
        }
    }

    /// Reads a part of a line.
    fn read(&mut self, part: &str) {
        let cut = part.char_indices().find(|(_, c)| {
            self.units += c.len_utf16();
            self.units > LINE_UNITS
        });
        if cut.is_some() {
            self.whole.get_or_insert_with(|| self.content.clone());
        }
        if let Some(whole) = &mut self.whole {
            whole.update(part);
        }
        self.content.update(cut.map_or(Some(part), |(at, _)| part.get(..at)).unwrap_or(part));
        // The limit cuts the character in two: its first half still fits.
        if cut.is_some_and(|(_, c)| self.units - c.len_utf16() < LINE_UNITS) {
            self.content.update("\u{fffd}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::sha256_hex;

    fn hashes_of(text: &str) -> TextHashes {
        let mut hashing = TextHashing::of(text);
        std::iter::repeat_with(|| hashing.advance()).find_map(|done| done).unwrap()
    }

    fn content_hash_of(text: &str) -> String {
        hashes_of(text).content
    }

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
            assert_eq!(content_hash_of(text), hash, "{text:?}");
        }
    }

    #[test]
    fn a_cut_through_a_character_leaves_a_replacement_for_its_first_half() {
        let odd = "x".repeat(499);
        let of = |text: &str| sha256_hex(format!("{text}\n").as_bytes());
        assert_eq!(content_hash_of(&format!("{odd}😀")), of(&format!("{odd}\u{fffd}")));
        assert_eq!(content_hash_of(&format!("{odd}é😀")), of(&format!("{odd}é")));
        let even = "😀".repeat(250);
        assert_eq!(content_hash_of(&format!("{even}😀")), of(&even));
    }

    #[test]
    fn a_second_hash_covers_the_text_after_the_cut() {
        let hashes = |text: &str, content: &str, whole: String| TextHashes {
            content: content.to_owned(),
            whole,
            sha256: sha256_hex(text.as_bytes()),
        };
        let (short, long) = ("x".repeat(500), "x".repeat(501));
        let hash = content_hash_of(&short);
        assert_eq!(hashes_of(&short), hashes(&short, &hash, String::new()));
        let whole = sha256_hex(format!("{long}\n").as_bytes());
        assert_eq!(hashes_of(&long), hashes(&long, &hash, whole));
        let (other, text) = (hashes_of(&format!("{long}\na")), format!("{long}\r\na"));
        assert_eq!(hashes_of(&text), hashes(&text, &other.content, other.whole));
        assert_eq!(hashes_of("").sha256, sha256_hex(b""));
    }

    #[test]
    fn a_text_longer_than_a_window_has_the_hash_of_its_lines() {
        for ending in ["\n", "\r\n", "\r"] {
            for fill in ["", "é", "x"] {
                for length in WINDOW - 3..WINDOW + 3 {
                    let first = format!("{fill}{}", "x".repeat(length - fill.len()));
                    let text = format!("{first}{ending}{ending}y{ending}");
                    let whole = sha256_hex(format!("{first}\n\ny\n\n").as_bytes());
                    let done = hashes_of(&text);
                    assert_eq!(done.whole, whole, "{length} {ending:?}");
                    assert_eq!(done.sha256, sha256_hex(text.as_bytes()), "{length} {ending:?}");
                }
            }
        }
        let blank = "\r\n".repeat(WINDOW);
        let lines = sha256_hex("\n".repeat(WINDOW + 1).as_bytes());
        assert_eq!(content_hash_of(&blank), lines);
    }
}
