//! The known name that a misspelt one most likely meant.
//!
//! It only suggests; nothing is ever accepted under a near name.

/// Names longer than this are not misspellings of ours.
const LONGEST: usize = 64;

/// The nearest of the known names: one that differs only in case, underscores or hyphens, else the
/// one within a third of its length in single-character edits, else none.
#[must_use]
pub(super) fn nearest_name<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<&'k str> {
    if name.len() > LONGEST {
        return None;
    }
    let wanted = folded(name);
    known
        .map(|candidate| (edits(&wanted, &folded(candidate)), candidate))
        .filter(|(edits, candidate)| *edits <= candidate.len() / 3)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

fn folded(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// The Levenshtein distance, one row at a time.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut cells = row.iter_mut();
        if let Some(first) = cells.next() {
            *first = left;
        }
        for (cell, b) in cells.zip(to) {
            let above = *cell;
            left = (above + 1).min(left + 1).min(diagonal + usize::from(a != b));
            diagonal = above;
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(from.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_character_edits() {
        let chars = |text: &str| text.chars().collect::<Vec<char>>();
        for (a, b, distance) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("abc", "abc", 0),
        ] {
            assert_eq!(edits(&chars(a), &chars(b)), distance, "{a} {b}");
        }
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["SessionId", "TurnId", "Instruction", "Repo", "ToolResults"];
        let nearest = |name: &str| nearest_name(name, known.iter().copied());
        assert_eq!(nearest("session_id"), Some("SessionId"));
        assert_eq!(nearest("turnID"), Some("TurnId"));
        assert_eq!(nearest("Instructions"), Some("Instruction"));
        assert_eq!(nearest("Instuction"), Some("Instruction"));
        assert_eq!(nearest("ToolResult"), Some("ToolResults"));
        assert_eq!(nearest("Colour"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"SessionId".repeat(100)), None);
    }
}
