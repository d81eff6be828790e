//! Compares a request body with its golden file, and both with the model service's own schema.
//!
//! A golden holds the body's members in the order in which they are sent, one to a line. It is
//! written anew only on demand: `UPDATE_GOLDENS=1 cargo test -p native composition::`.

use std::path::Path;

use bed::assert_published;

/// The body is what `goldens/composition/{name}.json` says, and the published schema accepts it.
pub(crate) fn assert_golden(name: &str, body: &str) {
    assert_published(body);
    let path = in_crate(&format!("goldens/composition/{name}.json"));
    let body = indented(body);
    if std::env::var("UPDATE_GOLDENS").is_ok_and(|update| update == "1") {
        std::fs::write(&path, &body).unwrap();
    }
    let golden = std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("{path} is missing; run with UPDATE_GOLDENS=1 and read it"));
    assert_eq!(body, golden, "{name}");
}

fn in_crate(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).display().to_string()
}

/// The same JSON text, one member or item to a line. Tokens and their order stay as they are, which
/// reading it into a value would not promise.
fn indented(json: &str) -> String {
    let mut text = String::new();
    let mut depth = 0;
    let mut tokens = json.chars().peekable();
    let mut in_string = false;
    while let Some(c) = tokens.next() {
        let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
        match c {
            '\\' if in_string => text.extend([c].into_iter().chain(tokens.next())),
            '"' => {
                in_string = !in_string;
                text.push(c);
            }
            _ if in_string => text.push(c),
            '{' | '[' if matches!(tokens.peek(), Some('}' | ']')) => {
                text.extend([c].into_iter().chain(tokens.next()));
            }
            '{' | '[' => {
                depth += 1;
                text.push(c);
                text.push_str(&line(depth));
            }
            '}' | ']' => {
                depth -= 1;
                text.push_str(&line(depth));
                text.push(c);
            }
            ',' => {
                text.push(c);
                text.push_str(&line(depth));
            }
            ':' => text.push_str(": "),
            _ => text.push(c),
        }
    }
    text.push('\n');
    text
}
