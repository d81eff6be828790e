//! The list of the pages that a final text cites (interface §4). It stands behind the text, so that a
//! stream of it only ever grows, and names no page that the text names already.

use std::collections::BTreeSet;

use crate::responses_api::Citation;

/// The most pages of one list.
const MAX_SOURCES: usize = 100;

/// The longest title, in characters.
const TITLE: usize = 200;

/// The most text that is searched for addresses, in bytes, all searches together: each takes the whole text. A
/// hundred pages of a text of 160 KB fit; a page for which there is no room is listed, named or not.
const SEARCHED_BYTES: usize = 16_000_000;

/// What follows a text for the pages that it cites, in Markdown; `None` when it names all of them.
pub(super) fn sources(text: &str, citations: &[Citation]) -> Option<String> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let (mut listed, mut searches) = (0, SEARCHED_BYTES / text.len().max(1));
    let mut list = String::new();
    for Citation { url, title } in citations {
        if listed >= MAX_SOURCES {
            break;
        }
        if !begins_as_web_url(url) || !seen.insert(url) {
            continue;
        }
        let is_searched = searches > 0;
        searches = searches.saturating_sub(1);
        if is_searched && names(text, url) {
            continue;
        }
        listed += 1;
        let title = if title.trim().is_empty() { url } else { title };
        list.push_str(&format!("\n- [{}]({})", link_text(title), link_target(url)));
    }
    let begin = if text.ends_with('\n') { "\n" } else { "\n\n" };
    (!list.is_empty() && !text.is_empty()).then(|| format!("{begin}Sources:\n{list}"))
}

/// Whether the text holds the address, and not only as the beginning of a longer one.
fn names(text: &str, url: &str) -> bool {
    text.match_indices(url).any(|(at, found)| {
        let behind = text.get(at + found.len()..).unwrap_or_default();
        // Punctuation ends a sentence, unless the address goes on behind it.
        let behind = behind.trim_start_matches(['.', ',', ';', ':', '!', '?', '/']);
        !behind.starts_with(|c: char| {
            c.is_alphanumeric() || matches!(c, '-' | '_' | '~' | '%' | '&' | '=' | '#' | '+' | '@')
        })
    })
}

/// Whether a link to it leads into the web. The rest of it can be anything: [`link_target`] escapes it.
fn begins_as_web_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// A title as the text of a link: one line, in which nothing ends the link.
fn link_text(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let mut text = String::new();
    for character in words.join(" ").chars().take(TITLE) {
        if matches!(character, '\\' | '[' | ']' | '`' | '<' | '*' | '_') {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// An address as the target of a link, in which nothing ends the link.
fn link_target(url: &str) -> String {
    let mut target = String::new();
    for character in url.chars() {
        match character {
            '(' => target.push_str("%28"),
            ')' => target.push_str("%29"),
            '<' => target.push_str("%3C"),
            '>' => target.push_str("%3E"),
            '\\' => target.push_str("%5C"),
            c if c.is_whitespace() || c.is_control() => target.push_str("%20"),
            c => target.push(c),
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, title: &str) -> Citation {
        Citation { url: url.to_owned(), title: title.to_owned() }
    }

    fn listed(text: &str, pages: &[(&str, &str)]) -> Option<String> {
        let pages: Vec<Citation> = pages.iter().map(|(url, title)| page(url, title)).collect();
        sources(text, &pages)
    }

    #[test]
    fn each_page_that_the_text_does_not_name_is_listed_once_in_order() {
        let pages = [
            ("https://b.example/2", "B"),
            ("https://a.example", "A"),
            ("https://b.example/2", "B again"),
            ("https://c.example", " "),
            ("https://named.example/x", "Named"),
        ];
        assert_eq!(
            listed("So ([n](https://named.example/x)).", &pages).as_deref(),
            Some(
                "\n\nSources:\n\n- [B](https://b.example/2)\n- [A](https://a.example)\n- [https://c.example](https://c.example)"
            )
        );
        assert_eq!(listed("See https://named.example/x.", &pages[4..]), None);
        assert_eq!(listed("", &pages), None);
        assert_eq!(listed("So.", &[]), None);
    }

    #[test]
    fn a_page_is_not_named_by_the_address_of_another() {
        let page = [("https://a.example/x", "A")];
        for text in
            ["See https://a.example/x-ray", "https://a.example/x/y", "https://a.example/x?q"]
        {
            assert!(listed(text, &page).is_some(), "{text}");
        }
        for text in ["https://a.example/x", "<https://a.example/x>", "(https://a.example/x), so"] {
            assert!(listed(text, &page).is_none(), "{text}");
        }
    }

    #[test]
    fn neither_title_nor_address_can_leave_its_place_in_the_list() {
        assert_eq!(
            listed("So.\n", &[("https://a.example/(x) y", "T]( [x]\n# h")]).as_deref(),
            Some("\nSources:\n\n- [T\\]( \\[x\\] # h](https://a.example/%28x%29%20y)")
        );
        assert_eq!(listed("So.", &[("javascript:alert(1)", "A"), ("https://", "B")]), None);
    }

    #[test]
    fn a_text_without_measure_is_not_searched_for_each_of_its_pages() {
        let pages: Vec<Citation> =
            (0..500).map(|n| page(&format!("https://a.example/{n}/"), "")).collect();
        let named: String = pages.iter().map(|page| format!("{} ", page.url)).collect();
        assert_eq!(sources(&named, &pages), None);
        // One search fits; the next hundred pages are listed without one.
        let text = named + &"x ".repeat(4_000_000);
        let list = sources(&text, &pages).unwrap();
        assert!(list.contains("https://a.example/100/") && !list.contains("https://a.example/0/"));
        assert_eq!(list.matches("\n- ").count(), MAX_SOURCES);
    }

    #[test]
    fn a_list_has_an_end() {
        let pages: Vec<Citation> =
            (0..200).map(|n| page(&format!("https://a.example/{n}/"), &"t".repeat(999))).collect();
        let list = sources("So.", &pages).unwrap();
        assert_eq!(list.matches("\n- ").count(), MAX_SOURCES);
        assert!(list.len() < MAX_SOURCES * (TITLE + 60));
    }
}
