//! The grammars of the catalog's names, and which known name a wrong one was probably meant to be.
//!
//! Pure functions over text; the rules that use them are in [`super::check`] and its neighbours.

/// Longest piece of the document that a message repeats, in characters.
const QUOTED_CHARACTERS: usize = 80;
/// Longest name for which a near one is sought, in characters.
const NEAREST_CHARACTERS: usize = 128;

/// `^[A-Za-z0-9_.-]{1,64}$`: nothing in it can end or fake the `[MODE: key]` header of AGN-003 §3.
pub(super) fn is_mode_key(text: &str) -> bool {
    is_made_of(text, 64, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// `^[a-zA-Z0-9_-]{1,64}$`: what the model service takes as a function's name.
pub(super) fn is_tool_name(text: &str) -> bool {
    is_made_of(text, 64, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// `^[A-Za-z0-9._:-]{1,128}$`: the alphabet of the request's other ids.
pub(super) fn is_context_id(text: &str) -> bool {
    is_made_of(text, 128, |byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// `^[A-Za-z_][A-Za-z0-9_]{0,127}$`: what a Worker's secret can be called.
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

/// The known name a wrong one was probably meant to be, or nothing when none is close.
///
/// Case, `_` and `-` do not count; otherwise one edit in three characters is forgiven. A name longer
/// than any grammar here allows is near to none, which also bounds the work.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wanted = folded(name);
    known
        .into_iter()
        .filter_map(|candidate| {
            let folded = folded(candidate);
            let longer = wanted.len().max(folded.len());
            let allowed = (longer / 3).max(1);
            if wanted.is_empty()
                || wanted.len() > NEAREST_CHARACTERS
                || wanted.len().abs_diff(folded.len()) > allowed
            {
                return None;
            }
            let distance = edits(&wanted, &folded);
            (distance <= allowed).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A name of the document inside a message: in quotes, escaped and shortened.
pub(super) fn quoted(name: &str) -> String {
    let mut shown: String = name.chars().take(QUOTED_CHARACTERS).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

fn is_made_of(text: &str, longest: usize, allowed: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.len() <= longest && text.bytes().all(allowed)
}

fn folded(name: &str) -> Vec<char> {
    name.chars()
        .filter(|character| !matches!(character, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Levenshtein's distance, one row at a time.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above_first, from) in left.iter().enumerate() {
        let mut diagonal = above_first;
        let mut before = above_first + 1;
        let mut next = vec![before];
        for (to, above) in right.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(from != to);
            before = replaced.min(before + 1).min(above + 1);
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mode_key_can_break_out_of_its_header() {
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
    fn the_nearest_name_forgives_case_separators_and_a_slip() {
        let known = ["BootPrompt", "Mode", "Model", "Tools"];
        let found = |name| nearest(name, known);
        assert_eq!(found("boot_prompt"), Some("BootPrompt"));
        assert_eq!(found("BotPromt"), Some("BootPrompt"));
        assert_eq!(found("Modle"), Some("Mode"));
        assert_eq!(found("model"), Some("Model"));
        assert_eq!(found("Tool"), Some("Tools"));
        assert_eq!(found("Temperature"), None);
        assert_eq!(found(""), None);
        let long = "k".repeat(129);
        assert_eq!(nearest(&long, [long.as_str()]), None);
    }

    #[test]
    fn edits_are_counted_as_levenshtein_did() {
        let count = |left: &str, right: &str| {
            edits(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("flaw", "lawn"), 2);
        assert_eq!(count("same", "same"), 0);
    }

    #[test]
    fn a_quoted_name_is_escaped_and_short() {
        assert_eq!(quoted("a\n\"b"), r#""a\n\"b""#);
        assert_eq!(quoted(&"é".repeat(81)), format!("\"{}…\"", "é".repeat(80)));
    }
}
