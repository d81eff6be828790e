//! The comments of items: public types and functions have one, and none repeats the name of its item.

use syn::spanned::Spanned;

use super::sources::{Source, sources};

/// The comment of an item, of a member or of a variant.
pub(crate) struct Comment {
    /// What it is about.
    name: String,
    /// Its text without line ends; empty where there is none.
    text: String,
    /// A public type or function: its name does not say which shapes, units and errors it has.
    is_due: bool,
    /// The words of the name and of its type, in lower case.
    known: Vec<String>,
}

/// Words that add nothing to a name.
const FILLING: [&str; 8] = ["a", "an", "the", "its", "their", "of", "this", "s"];

pub(crate) fn comment_of(
    attributes: &[syn::Attribute],
    is_due: bool,
    name: &syn::Ident,
    kind: Option<&syn::Type>,
) -> Comment {
    let line = |attribute: &syn::Attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let mut known = words_of(&name.to_string());
    let kind = kind.and_then(|kind| kind.span().source_text()).unwrap_or_default();
    known.extend(words_of(&kind));
    Comment { name: name.to_string(), text: lines.join("").trim().to_owned(), is_due, known }
}

/// The words of a sentence or of a name in either spelling, in lower case and without the `s` of a plural.
fn words_of(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words.iter().map(|word| word.strip_suffix('s').unwrap_or(word).to_owned()).collect()
}

impl Comment {
    /// Whether every word stands in the item's name or type already.
    fn repeats(&self) -> bool {
        // What stands in backticks is a shape.
        let words = words_of(&self.text);
        let says_more =
            |word: &String| !FILLING.contains(&word.as_str()) && !self.known.contains(word);
        !self.text.is_empty() && !self.text.contains('`') && !words.iter().any(says_more)
    }
}

/// The places of comments, each with what it is about.
fn places(wrong: impl Fn(&Comment) -> bool) -> Vec<String> {
    let of_one = |file: &Source| -> Vec<String> {
        let wrong = file.code.comments.iter().filter(|comment| wrong(comment));
        wrong.map(|comment| format!("{}: {}", file.path, comment.name)).collect()
    };
    sources().iter().flat_map(of_one).collect()
}

#[test]
fn a_public_type_or_function_says_what_it_is() {
    assert_eq!(places(|comment| comment.is_due && comment.text.is_empty()), Vec::<String>::new());
}

#[test]
fn no_comment_repeats_the_name_of_its_item() {
    assert_eq!(places(Comment::repeats), Vec::<String>::new());
}

#[test]
fn a_comment_repeats_a_name_when_it_has_no_word_of_its_own() {
    let repeats = |name: &str, text: &str| {
        let comment = Comment {
            name: name.to_owned(),
            text: text.to_owned(),
            is_due: false,
            known: words_of(name),
        };
        comment.repeats()
    };
    assert!(repeats("documents", "The documents."));
    assert!(repeats("ToolCall", "A call of the tool."));
    assert!(!repeats("documents", "At most 100 documents."));
    assert!(!repeats("Search", "`POST /search`"));
    assert!(!repeats("documents", ""));
}
