//! Contents of files inside the final text (AGN-033 §4, §6.1). They belong only in `Files[]` or in a
//! fenced code block with a language tag.

/// The shortest run of base64 that counts as contents, in characters: longer than any hash or key.
const RUN: usize = 200;

/// The shortest line that a run may continue after. Encoders break lines at 64 or 76 characters.
const WRAPPED_LINE: usize = 60;

/// The longest head of a `data:` URL (media type and parameters), in characters.
const HEAD: usize = 128;

/// Whether a Markdown text holds contents outside of tagged code blocks: a `data:` URL with a media
/// type, or a long run of base64.
pub fn embeds_contents(markdown: &str) -> bool {
    let mut fence: Option<Fence> = None;
    let mut run = Run::default();
    for line in markdown.lines() {
        match &fence {
            Some(open) if open.is_closed_by(line) => fence = None,
            Some(open) if open.has_language => {}
            None if Fence::opened_by(line).is_some() => fence = Fence::opened_by(line),
            Some(_) | None => {
                if has_data_url(line) || run.takes(line) {
                    return true;
                }
                continue;
            }
        }
        run = Run::default();
    }
    false
}

/// A fenced code block (CommonMark, section 4.5).
struct Fence {
    mark: char,
    length: usize,
    has_language: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let tag = text.trim_start_matches(mark);
        let length = text.len() - tag.len();
        let is_fence =
            length >= 3 && line.len() - text.len() <= 3 && !(mark == '`' && tag.contains('`'));
        is_fence.then(|| Self { mark, length, has_language: !tag.trim().is_empty() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        Self::opened_by(line).is_some_and(|end| {
            end.mark == self.mark && end.length >= self.length && !end.has_language
        })
    }
}

/// Whether the line holds `data:type/subtype…,` and data after the comma.
fn has_data_url(line: &str) -> bool {
    line.match_indices("data:").any(|(at, scheme)| {
        let rest = line.as_bytes().get(at + scheme.len()..).unwrap_or_default();
        // The limit keeps a line of many heads from being read once for each of them.
        let is_head = |b: &u8| b.is_ascii_alphanumeric() || b"/;=+-._".contains(b);
        let length = rest.iter().take(HEAD).take_while(|b| is_head(b)).count();
        let (head, data) = rest.split_at_checked(length).unwrap_or_default();
        head.contains(&b'/') && matches!(data, [b',', first, ..] if !first.is_ascii_whitespace())
    })
}

/// A run of base64, possibly over several lines.
#[derive(Default)]
struct Run {
    length: usize,
    upper: bool,
    lower: bool,
    digit: bool,
}

impl Run {
    /// Continues the run through a line. True once the run counts as contents.
    fn takes(&mut self, line: &str) -> bool {
        let line = line.trim_ascii();
        let begins = self.length;
        for b in line.bytes() {
            match b {
                b'A'..=b'Z' => self.upper = true,
                b'a'..=b'z' => self.lower = true,
                b'0'..=b'9' => self.digit = true,
                b'+' | b'/' | b'=' | b'-' | b'_' => {}
                _ => {
                    *self = Self::default();
                    continue;
                }
            }
            self.length += 1;
            // Base64 mixes cases and digits, unlike lines of dashes and long words.
            if self.length >= RUN && self.upper && self.lower && self.digit {
                return true;
            }
        }
        let whole_line = self.length - begins.min(self.length) == line.len();
        if !whole_line || line.len() < WRAPPED_LINE {
            *self = Self::default();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many characters of base64.
    fn base64(length: usize) -> String {
        "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24s/+4"
            .chars()
            .cycle()
            .take(length)
            .collect()
    }

    #[test]
    fn contents_outside_of_tagged_blocks_are_found() {
        let wrapped: String = base64(300)
            .as_bytes()
            .chunks(76)
            .map(|line| format!("{}\n", std::str::from_utf8(line).unwrap()))
            .collect();
        for text in [
            "See ![chart](data:image/png;base64,iVBORw0KGgo=).".to_owned(),
            "data:text/plain,hello".to_owned(),
            "data:text/html;charset=utf-8,<p>".to_owned(),
            format!("Here: {}", base64(200)),
            format!("A\n\n{wrapped}\nB"),
            format!("    {}", base64(250)),
            // A code block without a language tag.
            format!("```\n{}\n```", base64(250)),
            format!("```json\n{{}}\n```\n{}", base64(250)),
            format!("~~~ csv\n```\n~~~\n{}", base64(250)),
            format!("````json\n```\n````\n{}", base64(250)),
        ] {
            assert!(embeds_contents(&text), "{text}");
        }
    }

    #[test]
    fn a_line_of_many_beginnings_is_read_once() {
        assert!(!embeds_contents(&"data:".repeat(2_000_000)));
        assert!(!embeds_contents(&"```".repeat(2_000_000)));
    }

    #[test]
    fn ordinary_texts_and_tagged_blocks_hold_no_contents() {
        for text in [
            String::new(),
            "The data: one, two, three. metadata:a/b".to_owned(),
            "Send data:image/png, then wait.".to_owned(),
            format!("{} {}", base64(199), base64(199)),
            format!("{}\n{}", base64(59), base64(199)),
            "-".repeat(400),
            "=".repeat(400),
            "a".repeat(400),
            "0123456789abcdef".repeat(20),
            format!("```aptix-json\n{{\"Data\":\"{}\"}}\n```", base64(400)),
            format!("~~~text\n{}\n~~~", base64(400)),
            format!("```text\n{}", base64(400)),
            format!("````text\n```\n{}\n````", base64(400)),
            format!("{}\n```text\n{}\n```\n{}", base64(150), base64(400), base64(150)),
        ] {
            assert!(!embeds_contents(&text), "{text}");
        }
    }
}
