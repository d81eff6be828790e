//! A service's JSON without the secrets that were sent to it: a service that shows the headers of its
//! requests must not show them to clients and to the model (interface §6).

/// Takes the place of a secret.
const MASK: &str = "***";

/// The shortest secret that is masked, in characters. A shorter one occurs by chance in texts that have nothing to do
/// with it: masking it would garble them, and hide nothing that could not be guessed.
const SHORTEST: usize = 4;

/// The bytes that one slice searches.
const SLICE_BYTES: usize = 256 * 1024;

/// The secrets that a request carried.
pub(super) struct SentSecrets<'a>(Vec<&'a str>);

impl<'a> SentSecrets<'a> {
    /// The secrets that headers hold, so in visible ASCII.
    pub(super) fn of(secrets: &'a [impl AsRef<str>]) -> Self {
        let mut repeated: Vec<&str> = Vec::with_capacity(secrets.len());
        for secret in secrets.iter().filter_map(|secret| as_repeated(secret.as_ref())) {
            // The longer of two secrets that begin alike comes first.
            let place = repeated.partition_point(|other| other.len() >= secret.len());
            repeated.insert(place, secret);
        }
        Self(repeated)
    }

    /// JSON in which `***` stands for each secret: in a string however it is escaped, and for a number
    /// as a whole. Everything else stays byte for byte. `yield_now` is awaited between the slices of a long text.
    pub(super) async fn redact(&self, json: String, yield_now: impl AsyncFn()) -> String {
        let is_held = |secret: &&str| json.contains(*secret);
        if self.0.is_empty() || !(json.contains('\\') || self.0.iter().any(is_held)) {
            return json;
        }
        let text = json.as_bytes();
        let (mut clean, mut copied, mut at, mut in_string) = (String::new(), 0, 0, false);
        let mut slice_end = SLICE_BYTES;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if at >= slice_end {
                yield_now().await;
                slice_end = at + SLICE_BYTES;
            }
            let (step, mask) = match rest {
                [b'"', ..] => {
                    in_string = !in_string;
                    (1, None)
                }
                _ if in_string => match self.0.iter().find_map(|secret| length(rest, secret)) {
                    Some(length) => (length, Some(MASK.to_owned())),
                    None => (character(rest).map_or(1, |(_, length)| length), None),
                },
                _ => {
                    let number = rest.iter().take_while(|byte| is_of_number(**byte)).count();
                    let text = json.get(at..at + number).unwrap_or_default();
                    let holds = self.0.iter().any(|secret| text.contains(*secret));
                    (number.max(1), holds.then(|| format!("\"{MASK}\"")))
                }
            };
            if let Some(mask) = mask {
                clean.push_str(json.get(copied..at).unwrap_or_default());
                clean.push_str(&mask);
                copied = at + step;
            }
            at += step;
        }
        clean.push_str(json.get(copied..).unwrap_or_default());
        clean
    }
}

/// The text by which a service would repeat a secret that it got in a header, where white space at the
/// ends is lost; `None` for a secret that is too short to be recognized in other text.
pub fn as_repeated(secret: &str) -> Option<&str> {
    Some(secret.trim_matches([' ', '\t', '\r', '\n'])).filter(|text| text.len() >= SHORTEST)
}

/// The bytes that a secret takes at the beginning of `text`, which lies within a string.
fn length(text: &[u8], secret: &str) -> Option<usize> {
    secret.bytes().try_fold(0, |at, wanted| {
        let (byte, length) = character(text.get(at..)?)?;
        (byte == wanted).then_some(at + length)
    })
}

/// The first character of `text`, unescaped, and the bytes that it takes; `None` at the string's end. Returns 0xFF for
/// anything outside ASCII; secrets hold none.
fn character(text: &[u8]) -> Option<(u8, usize)> {
    Some(match text {
        [] | [b'"', ..] => return None,
        [b'\\', b'u', digits @ ..] => {
            let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            (u8::try_from(code).unwrap_or(u8::MAX), 6)
        }
        [b'\\', b't', ..] => (b'\t', 2),
        // The other control characters are in no header.
        [b'\\', b'b' | b'f' | b'n' | b'r', ..] => (u8::MAX, 2),
        [b'\\', plain, ..] => (*plain, 2),
        [plain, ..] => (*plain, 1),
    })
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn cleaned(secrets: &[impl AsRef<str>], json: &str) -> String {
        let secrets = SentSecrets::of(secrets);
        secrets.redact(json.to_owned(), async || ()).now_or_never().unwrap()
    }

    #[test]
    fn a_secret_is_replaced_however_it_is_written_and_the_rest_stays_byte_for_byte() {
        let sent = [" sk-tool\t\r\n", r#"a"b\c/d"#, "12345", "sk-tool-2"];
        for (text, clean) in [
            (r#"{ "A":"Bearer sk-tool", "n": 1.50e2 }"#, r#"{ "A":"Bearer ***", "n": 1.50e2 }"#),
            (r#""sk-tool-2 sk-toolsk-tool""#, r#""*** ******""#),
            (r#""\u0073k\u002dtool\n\u00e9\ud800""#, r#""***\n\u00e9\ud800""#),
            (r#"["a\"b\\c\/d","a\"b\\c/d"]"#, r#"["***","***"]"#),
            (r#"{"sk-tool":"\\sk-tool\"é"}"#, r#"{"***":"\\***\"é"}"#),
            (r"[12345,-9123456,1234.5,true]", r#"["***","***",1234.5,true]"#),
            (r#"["sk-to","ol",["a","b\\c/d"]]"#, r#"["sk-to","ol",["a","b\\c/d"]]"#),
            (r#""\\u0073k-tool""#, r#""\\u0073k-tool""#),
        ] {
            assert_eq!(cleaned(&sent, text), clean);
            assert!(serde_json::from_str::<&serde_json::value::RawValue>(clean).is_ok());
        }
    }

    #[test]
    fn a_secret_too_short_to_be_recognised_in_other_text_garbles_nothing() {
        let text = r#"{"a":"abc 1 \u0020","b":123}"#;
        assert_eq!(cleaned(&["", " ", "a", "abc", "123", "  12 "], text), text);
    }

    #[test]
    fn a_secret_across_the_end_of_a_slice_is_replaced() {
        for before in SLICE_BYTES - 12..SLICE_BYTES + 2 {
            let json = |said: &str| format!("\"{}{said}\"", "x".repeat(before));
            assert_eq!(cleaned(&["sk-tool"], &json(r"\u0073k-tool")), json(MASK));
        }
    }

    proptest! {
        #[test]
        fn no_secret_is_left_in_any_string_of_an_answer_and_it_stays_json(
            secret in "[ -~]{4,8}",
            around in prop::collection::vec("[ -~é\n]{0,6}", 2..5),
            escaped in any::<u64>(),
        ) {
            let Some(repeated) = as_repeated(&secret) else { return Ok(()) };
            let said = around.join(repeated);
            // Each character as it is, or by its number.
            let written: String = said.chars().enumerate().map(|(at, c)| {
                if escaped >> (at % 64) & 1 == 1 || c == '"' || c == '\\' || c.is_control() {
                    format!("\\u{:04x}", u32::from(c))
                } else {
                    c.to_string()
                }
            }).collect();
            let clean = cleaned(&[&secret], &format!("{{\"a\":[\"{written}\"]}}"));
            let read: Value = serde_json::from_str(&clean).unwrap();
            let text = read["a"][0].as_str().unwrap().replace(MASK, "\n");
            prop_assert!(!text.contains(repeated), "{text}");
        }
    }
}
