//! The title that a session's first instruction gives it.

/// The longest title that an instruction gives, in characters.
const INSTRUCTION_TITLE: usize = 80;

/// The title that an instruction gives: its first line with words in it, up to 80 characters, without the marks of
/// Markdown `#`, `*`, `` ` `` and `>`, and without the marks of a list before the line. Empty where no line has words.
pub fn title_of(instruction: &str) -> String {
    instruction.lines().map(title_of_line).find(|title| !title.is_empty()).unwrap_or_default()
}

fn title_of_line(line: &str) -> String {
    let text = without_list_marks(line.trim());
    let text: String = text.chars().filter(|c| !is_mark(*c)).collect();
    // White space, control characters among it, becomes single blanks.
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let text = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let cut: String = text.chars().take(INSTRUCTION_TITLE).collect();
    let is_rule = cut.chars().all(|c| matches!(c, '-' | '+' | '=' | '_' | '~' | '|' | ' '));
    if is_rule { String::new() } else { cut.trim_end().to_owned() }
}

fn is_mark(c: char) -> bool {
    matches!(c, '#' | '*' | '`' | '>')
}

/// The line without what stands before a list's item: `- `, `+ `, `* `, `1. `, `2) `, a box such as `[ ]`, and without
/// headings' and quotations' marks before those.
fn without_list_marks(line: &str) -> &str {
    let mut rest = line;
    loop {
        let before = rest;
        rest = rest.trim_start_matches(is_mark).trim_start();
        rest = after_item_mark(rest).unwrap_or(rest).trim_start();
        if rest == before {
            return rest;
        }
    }
}

fn after_item_mark(text: &str) -> Option<&str> {
    for mark in ["- ", "+ ", "\u{2022} ", "[ ] ", "[x] ", "[X] "] {
        if let Some(rest) = text.strip_prefix(mark) {
            return Some(rest);
        }
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    // Markdown numbers an item with up to nine digits.
    let digits = text.len() - rest.len();
    (1..=9).contains(&digits).then_some(())?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_without_marks() {
        for (instruction, title) in [
            ("Plan a trip", "Plan a trip"),
            ("\n  \n## **Plan** a `trip`\nto Rome", "Plan a trip"),
            ("> - [ ] 1. plan\ta  trip\u{7}", "plan a trip"),
            ("* one\n* two", "one"),
            ("- \n---\nwords", "words"),
            ("12) twelve", "twelve"),
            ("2026 was good", "2026 was good"),
            ("3.5 metres", "3.5 metres"),
            ("# #\n>\nlast", "last"),
            ("", ""),
            ("***", ""),
        ] {
            assert_eq!(title_of(instruction), title, "{instruction:?}");
        }
    }

    #[test]
    fn a_title_has_at_most_80_characters_and_no_blank_at_its_end() {
        assert_eq!(title_of(&"é".repeat(100)), "é".repeat(80));
        assert_eq!(title_of(&format!("{} b", "a".repeat(79))), "a".repeat(79));
    }
}
