//! The text of a JSON string, in memory of the string's own length: a reader that grows its memory takes up
//! to three times as much for a moment, and a string can be as long as a request.

use std::borrow::Cow;

/// The text, if the value, which is well-formed JSON, is a string of valid Unicode.
pub fn text_of(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(inner.into());
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        text.push_str(plain);
        let (meant, after) = escape(escaped)?;
        text.push(meant);
        rest = after;
    }
    text.push_str(rest);
    Some(text.into())
}

/// The JSON with U+FFFD in the place of each escape for half a character: whoever cuts a text after so many units of UTF-16
/// writes such an escape, for which the whole text would be none.
pub fn with_whole_characters(json: &str) -> Cow<'_, str> {
    if !["\\ud", "\\uD"].iter().any(|half| json.contains(half)) {
        return json.into();
    }
    let (mut whole, mut rest) = (String::with_capacity(json.len()), json);
    while let Some((plain, escaped)) = rest.split_once('\\') {
        whole.push_str(plain);
        let half = || unit(escaped.strip_prefix('u')?);
        rest = match (escape(escaped), half()) {
            (Some((_, after)), _) => {
                whole.push('\\');
                // By length: to compare what is left would take the square of the text.
                let length = escaped.len() - after.len();
                whole.push_str(escaped.get(..length).unwrap_or_default());
                after
            }
            (None, Some((_, after))) => {
                whole.push_str("\\ufffd");
                after
            }
            (None, None) => {
                whole.push('\\');
                escaped
            }
        };
    }
    whole.push_str(rest);
    whole.into()
}

/// What stands behind a backslash, and the rest.
fn escape(escaped: &str) -> Option<(char, &str)> {
    let mut rest = escaped.chars();
    let meant = match rest.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return character(rest.as_str()),
        itself @ ('"' | '\\' | '/') => itself,
        _ => return None,
    };
    Some((meant, rest.as_str()))
}

/// A character by its UTF-16 units; `None` for half of one.
fn character(digits: &str) -> Option<(char, &str)> {
    let (first, rest) = unit(digits)?;
    if let Some(whole) = char::from_u32(first.into()) {
        return Some((whole, rest));
    }
    let (second, rest) = unit(rest.strip_prefix("\\u")?)?;
    let whole = char::decode_utf16([first, second]).next()?.ok()?;
    Some((whole, rest))
}

fn unit(digits: &str) -> Option<(u16, &str)> {
    let (digits, rest) = digits.split_at_checked(4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_read_as_by_any_reader_of_json() {
        let parts = [
            "a",
            "é",
            "😀",
            r"\n",
            r"\\",
            r#"\""#,
            r"\/",
            r"\b\f\r\t",
            r"\u0041",
            r"\u00e9",
            r"\ud83d",
            r"\ude00",
            r"\uD83D\uDE00",
            r"\u0000",
            "u0041",
        ];
        for first in parts {
            for second in parts {
                for third in parts {
                    let json = format!("\"{first}{second}{third}\"");
                    let read = serde_json::from_str::<String>(&json).ok();
                    assert_eq!(text_of(&json).map(Cow::into_owned), read, "{json}");
                }
            }
        }
    }

    #[test]
    fn half_a_character_becomes_another_one_and_everything_else_stays_byte_for_byte() {
        for (json, whole) in [
            (
                r#"{"a":"\ud83d","b":"\ude00c\ud83d\ude00"}"#,
                r#"{"a":"\ufffd","b":"\ufffdc\ud83d\ude00"}"#,
            ),
            (r#"["\\ud83d","\n\\\uD83Dx\u00e9"]"#, r#"["\\ud83d","\n\\\ufffdx\u00e9"]"#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\n""#, r#""\ufffd\n""#),
            ("\"\\ud8", "\"\\ud8"),
            ("\"\\ud83d\\", "\"\\ufffd\\"),
        ] {
            assert_eq!(with_whole_characters(json), whole);
        }
        assert!(matches!(with_whole_characters(r#""\u00e9\\""#), Cow::Borrowed(_)));
    }

    #[test]
    fn a_string_without_escapes_is_lent_and_another_value_is_none() {
        assert!(matches!(text_of("\"abc\""), Some(Cow::Borrowed("abc"))));
        for other in ["1", "null", "{}", "[\"a\"]", "\""] {
            assert_eq!(text_of(other), None);
        }
    }
}
