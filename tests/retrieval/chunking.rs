//! Cutting a document: its chunks are whole, in order, have exact line numbers and end at pauses.

use aptix_edge::retrieval::{HARD_LIMIT_BYTES, HARD_LIMIT_LINES, Piece, pieces};
use proptest::prelude::*;

/// Lines with their ends, split without the code under test.
fn lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        lines.last_mut().unwrap().push(c);
        if c == '\n' || (c == '\r' && chars.peek() != Some(&'\n')) {
            lines.push(String::new());
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Lines of every length with every ending.
fn texts() -> impl Strategy<Value = String> {
    let content = prop_oneof![
        6 => "[ a-z{}#/é😀]{0,30}",
        2 => Just(String::new()),
        1 => "    [a-z]{1,90}",
        1 => (prop_oneof![Just("x"), Just("é"), Just("x😀")], 500..4000_usize).prop_map(|(c, n)| c.repeat(n)),
    ];
    let end = prop_oneof![4 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let line = (content, end).prop_map(|(content, end)| content + end);
    (prop::collection::vec(line, 0..150), "[a-z]{0,9}")
        .prop_map(|(lines, last)| lines.concat() + &last)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pieces_are_the_document_with_the_lines_that_they_say(text in texts()) {
        let pieces: Vec<_> = pieces(&text).collect();
        prop_assert_eq!(pieces.iter().map(|piece| piece.text).collect::<String>(), text.as_str());
        let lines = lines(&text);
        let mut next = 1;
        for (at, piece) in pieces.iter().enumerate() {
            let said = lines[piece.start_line - 1..piece.end_line].concat();
            let is_part = said != piece.text;
            if is_part {
                // A part of one overlong line, whose parts make up that line.
                prop_assert_eq!(piece.start_line, piece.end_line);
                prop_assert!(said.len() > HARD_LIMIT_BYTES && said.contains(piece.text));
            }
            let goes_on = at > 0 && pieces[at - 1].end_line == piece.start_line;
            prop_assert!(piece.start_line == next || (goes_on && is_part));
            next = piece.end_line + 1;
            prop_assert!(!piece.text.is_empty() && piece.text.len() <= HARD_LIMIT_BYTES + 2);
            let full = piece.text.lines().filter(|line| !line.trim().is_empty()).count();
            prop_assert!(full <= HARD_LIMIT_LINES);
        }
        prop_assert_eq!(next, lines.len() + 1);
    }
}

fn starts(text: &str) -> Vec<&str> {
    pieces(text).map(|piece| piece.text.lines().next().unwrap()).collect()
}

#[test]
fn a_document_that_is_short_is_one_piece_and_an_empty_one_is_none() {
    assert_eq!(pieces("").count(), 0);
    assert_eq!(pieces("a").collect::<Vec<_>>(), [Piece { start_line: 1, end_line: 1, text: "a" }]);
    assert_eq!(
        pieces("a\r\n\r\nb\r").collect::<Vec<_>>(),
        [Piece { start_line: 1, end_line: 3, text: "a\r\n\r\nb\r" }]
    );
}

#[test]
fn code_is_cut_before_definitions_with_their_comments() {
    let function = |name: &str| {
        format!(
            "/// What {name} does.\n#[must_use]\nfn {name}() {{\n{}\n    let end = 1;\n}}\n\n",
            "    statement();\n".repeat(50)
        )
    };
    let text: String = ["one", "two", "three", "four", "five"].map(function).concat();
    let starts = starts(&text);
    assert_eq!(
        starts,
        ["one", "two", "three", "four", "five"].map(|name| format!("/// What {name} does."))
    );
}

#[test]
fn prose_is_cut_before_headings() {
    let section =
        |name: &str| format!("## {name}\n\n{}\n", "A sentence of some words.\n\n".repeat(40));
    let text: String = ["One", "Two", "Three"].map(section).concat();
    assert_eq!(starts(&text), ["## One", "## Two", "## Three"]);
}

#[test]
fn members_of_a_class_are_cut_between_and_not_inside() {
    let member = |name: &str| {
        let body = "            Work();\n".repeat(40);
        format!("        public void {name}()\n        {{\n{body}        }}\n\n")
    };
    let members: String = ["A", "B", "C", "D"].map(member).concat();
    let text = format!("namespace N\n{{\n    class C\n    {{\n{members}    }}\n}}\n");
    let starts = starts(&text);
    assert!(starts.len() > 2, "{starts:?}");
    for start in &starts[1..] {
        assert!(start.starts_with("        public void"), "{starts:?}");
    }
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters() {
    let long = "é".repeat(HARD_LIMIT_BYTES - 5);
    let text = format!("before\n{long}\r\nafter\n");
    let pieces: Vec<_> = pieces(&text).collect();
    assert_eq!(
        pieces
            .iter()
            .map(|piece| (piece.start_line, piece.end_line, piece.text.len()))
            .collect::<Vec<_>>(),
        [(1, 1, 7), (2, 2, HARD_LIMIT_BYTES), (2, 2, HARD_LIMIT_BYTES - 8), (3, 3, 6)]
    );
}

#[test]
fn a_document_of_nothing_but_line_ends_does_not_become_a_row_for_each() {
    assert!(pieces(&"\n".repeat(1_000_000)).count() < 1_000);
}
