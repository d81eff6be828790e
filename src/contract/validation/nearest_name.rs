//! The known name that is nearest to an unknown one.
//!
//! It only suggests; nothing is ever accepted under a near name.

/// What a name holds behind so many characters makes it no nearer.
const LONGEST: usize = 64;

/// The nearest of the known names, in single-character edits, and whether it is likely what was
/// meant: it differs only in case, underscores or hyphens, or within a third of its length.
#[must_use]
pub(super) fn nearest_name<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<(&'k str, bool)> {
    let wanted = folded(name);
    known
        .map(|candidate| (edits(&wanted, &folded(candidate)), candidate))
        .min_by_key(|(edits, _)| *edits)
        .map(|(edits, candidate)| (candidate, edits <= candidate.len() / 3))
}

fn folded(name: &str) -> Vec<char> {
    let counting = name.chars().take(LONGEST).filter(|c| !matches!(c, '_' | '-'));
    counting.map(|c| c.to_ascii_lowercase()).collect()
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
    fn the_nearest_name_is_found_and_a_far_one_is_not_taken_for_what_was_meant() {
        let known = ["SessionId", "TurnId", "Instruction", "Repo", "ToolResults"];
        let nearest = |name: &str| nearest_name(name, known.iter().copied());
        assert_eq!(nearest("session_id"), Some(("SessionId", true)));
        assert_eq!(nearest("turnID"), Some(("TurnId", true)));
        assert_eq!(nearest("Instructions"), Some(("Instruction", true)));
        assert_eq!(nearest("Instuction"), Some(("Instruction", true)));
        assert_eq!(nearest("ToolResult"), Some(("ToolResults", true)));
        assert_eq!(nearest("Colour"), Some(("Repo", false)));
        assert_eq!(nearest(""), Some(("Repo", false)));
        assert_eq!(nearest(&"SessionId".repeat(100)).map(|(_, likely)| likely), Some(false));
        assert_eq!(nearest_name("SessionId", std::iter::empty()), None);
    }
}
