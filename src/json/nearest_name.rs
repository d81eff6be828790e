//! The known name that is nearest to an unknown one.
//!
//! The name is only a suggestion; nothing is ever accepted under a near name.

/// Characters compared; bounds the work.
const LONGEST: usize = 128;

/// The nearest of several known names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearestName<'k> {
    pub name: &'k str,
    /// Whether it is likely the intended one: at most one edit in three characters apart; case, `_`
    /// and `-` do not count.
    pub is_likely: bool,
}

/// The nearest of the known names in single-character edits; of several, the first.
pub fn nearest_name<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<NearestName<'k>> {
    let wanted = folded(name);
    let is_compared_whole = name.chars().nth(LONGEST).is_none();
    let measured = known.map(|name| {
        let folded = folded(name);
        let longer = wanted.chars().count().max(folded.chars().count());
        (strsim::levenshtein(&wanted, &folded), longer, name)
    });
    measured.min_by_key(|(edits, ..)| *edits).map(|(edits, longer, name)| NearestName {
        name,
        is_likely: is_compared_whole && !wanted.is_empty() && edits <= (longer / 3).max(1),
    })
}

fn folded(name: &str) -> String {
    let counting = name.chars().take(LONGEST).filter(|c| !matches!(c, '_' | '-'));
    counting.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<(&'k str, bool)> {
        let nearest = nearest_name(name, known.iter().copied());
        nearest.map(|nearest| (nearest.name, nearest.is_likely))
    }

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_taken_for_what_was_meant() {
        let known = ["SessionId", "TurnId", "Instruction", "Repo", "ToolResults"];
        for (name, found) in [
            ("session_id", ("SessionId", true)),
            ("turnID", ("TurnId", true)),
            ("Instructions", ("Instruction", true)),
            ("Instuction", ("Instruction", true)),
            ("ToolResult", ("ToolResults", true)),
            ("Colour", ("Repo", false)),
            ("", ("Repo", false)),
        ] {
            assert_eq!(nearest(name, &known), Some(found), "{name}");
        }
        let long = "SessionId".repeat(100);
        assert_eq!(nearest(&long, &known).map(|(_, is_likely)| is_likely), Some(false));
        assert_eq!(nearest("SessionId", &[]), None);
    }

    #[test]
    fn case_separators_and_a_slip_are_forgiven() {
        let known = ["BootPrompt", "Mode", "Model", "Tools"];
        for (name, found) in [
            ("boot_prompt", "BootPrompt"),
            ("BotPromt", "BootPrompt"),
            ("Modle", "Mode"),
            ("model", "Model"),
            ("Tool", "Tools"),
        ] {
            assert_eq!(nearest(name, &known), Some((found, true)), "{name}");
        }
        for name in ["Temperature", ""] {
            assert!(nearest(name, &known).is_some_and(|(_, is_likely)| !is_likely), "{name}");
        }
        let long = "k".repeat(129);
        assert_eq!(nearest(&long, &[&long]), Some((long.as_str(), false)));
    }
}
