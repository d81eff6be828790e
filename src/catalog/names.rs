//! The grammars of the catalog's names, and the form in which a message repeats one.

/// The longest name that a message repeats whole, in characters.
const QUOTED_CHARACTERS: usize = 80;

/// `^[A-Za-z0-9_.-]{1,64}$`: no key can end or imitate the `[MODE: key]` header of AGN-003 §3.
pub(super) fn is_mode_key(text: &str) -> bool {
    is_made_of(text, 64, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// `^[a-zA-Z0-9_-]{1,64}$`: the model service's grammar of a function's name.
pub(super) fn is_tool_name(text: &str) -> bool {
    is_made_of(text, 64, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// `^[A-Za-z0-9_-]{1,32}$`: half of a tool's name, so that the tool's own name mostly fits behind it.
pub(super) fn is_mcp_server_key(text: &str) -> bool {
    text.len() <= 32 && is_tool_name(text)
}

/// `^[A-Za-z0-9._:-]{1,128}$`: the alphabet of the request's other ids.
pub(super) fn is_context_id(text: &str) -> bool {
    is_made_of(text, 128, |byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// `^[A-Za-z0-9._:-]{1,64}$`: half of a context's id.
pub(super) fn is_version(text: &str) -> bool {
    text.len() <= 64 && is_context_id(text)
}

/// `^[A-Za-z_][A-Za-z0-9_]{0,127}$`: the grammar of a Worker's secret's name.
pub(super) fn is_secret_name(text: &str) -> bool {
    is_made_of(text, 128, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

/// A `token` of RFC 9110 §5.6.2, at most 128 bytes.
pub(super) fn is_header_name(text: &str) -> bool {
    is_made_of(text, 128, |byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A character that `fetch` accepts in a header's value: visible ASCII, space and tab.
pub(super) fn is_header_value_character(character: char) -> bool {
    matches!(character, ' '..='~' | '\t')
}

/// A name from the document in quotes, escaped and shortened, for a message.
pub(super) fn quoted(name: &str) -> String {
    format!("{:?}", shortened(name, QUOTED_CHARACTERS))
}

/// A text of at most `most` characters; a longer one is cut and ends in `…`.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn is_made_of(text: &str, longest: usize, allowed: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.len() <= longest && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mode_key_can_end_its_header() {
        for key in ["general", "ddr_authoring", "v1.2-b", &"k".repeat(64)] {
            assert!(is_mode_key(key), "{key:?}");
        }
        for key in ["", "a]", "[a", "a b", "a\n", "a\r\n[INSTRUCTION]", "é", &"k".repeat(65)] {
            assert!(!is_mode_key(key), "{key:?}");
        }
    }

    #[test]
    fn secret_names_are_identifiers() {
        assert!(is_secret_name("OPENAI_API_KEY") && is_secret_name("_k2"));
        for name in ["", "2K", "sk-live", "A B", "A.B"] {
            assert!(!is_secret_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_quoted_name_is_escaped_and_short() {
        assert_eq!(quoted("a\n\"b"), r#""a\n\"b""#);
        assert_eq!(quoted(&"é".repeat(81)), format!("\"{}…\"", "é".repeat(80)));
    }
}
