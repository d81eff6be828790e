//! Reads Rust by `syn`: the paths, items, functions and comments of a file, without its unit tests.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::closed_lists::{beside_wildcards, pattern_of};
use super::comments::{Comment, comment_of};

/// What the rules ask about one file's code.
#[derive(Default)]
pub(crate) struct Code {
    /// The tokens, separated by spaces, with empty string literals and without comments.
    pub(crate) text: String,
    /// Every identifier.
    pub(crate) words: BTreeSet<String>,
    /// Every identifier outside a `use` and outside a `mod`.
    pub(crate) words_outside_uses: BTreeSet<String>,
    /// Every string literal that is no comment.
    pub(crate) literals: Vec<String>,
    pub(crate) uses: Vec<Use>,
    /// Every path of two or more segments outside a `use`, those inside of macros included.
    pub(crate) paths: Vec<Vec<String>>,
    /// The names of the items that stand at the top of the file.
    pub(crate) items: BTreeSet<String>,
    /// Each function that has a body, with its number of lines.
    pub(crate) functions: Vec<(String, usize)>,
    /// The comments of items and of their members.
    pub(crate) comments: Vec<Comment>,
    /// The enums that `closed_list!` declares.
    pub(crate) closed_lists: Vec<String>,
    /// The enums of which a `match` or a `matches!` does not name every member.
    pub(crate) beside_wildcards: BTreeSet<String>,
    /// The type of the `impl` that is being read.
    own_type: Option<String>,
}

/// One path of a `use`.
#[derive(Debug, PartialEq)]
pub(crate) struct Use {
    /// Its segments, a `*` included; an `as` and its new name are left out.
    pub(crate) path: Vec<String>,
    /// A re-export, which the file need not use itself.
    pub(crate) is_shown: bool,
}

impl Code {
    /// Reads a file. The error says where the text is no Rust.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let place = |fault: syn::Error| format!("line {}: {fault}", fault.span().start().line);
        let tokens: TokenStream =
            text.parse().map_err(|fault: proc_macro2::LexError| fault.to_string())?;
        let tokens = without_unit_tests(tokens);
        let mut code = Self::default();
        code.read_tokens(tokens.clone());
        let file: syn::File = syn::parse2(tokens).map_err(place)?;
        code.items = file.items.iter().flat_map(names_of).collect();
        code.visit_file(&file);
        Ok(code)
    }

    /// Whether the code contains a word.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// The first segments of its paths, among them the names of other crates.
    pub(crate) fn roots(&self) -> BTreeSet<String> {
        let used = self.uses.iter().map(|used| &used.path);
        used.chain(&self.paths).filter_map(|path| path.first().cloned()).collect()
    }

    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut rest = tokens.into_iter().peekable();
        while let Some(token) = rest.next() {
            match &token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    // The comments of a file are `#![doc = "…"]`.
                    rest.next_if(
                        |next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'),
                    );
                    if rest.next_if(|next| is_attribute(next, "doc")).is_none() {
                        self.text.push_str("# ");
                    }
                }
                TokenTree::Punct(mark) => {
                    self.text.push(mark.as_char());
                    if mark.spacing() == Spacing::Alone {
                        self.text.push(' ');
                    }
                }
                TokenTree::Ident(word) => {
                    self.words.insert(word.to_string());
                    self.text.push_str(&format!("{word} "));
                }
                TokenTree::Literal(literal) => match string_of(literal) {
                    Some(text) => {
                        self.literals.push(text);
                        self.text.push_str("\"\" ");
                    }
                    None => self.text.push_str(&format!("{literal} ")),
                },
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("( ", ") "),
                        Delimiter::Brace => ("{ ", "} "),
                        Delimiter::Bracket => ("[ ", "] "),
                        Delimiter::None => ("", ""),
                    };
                    self.text.push_str(open);
                    self.read_tokens(group.stream());
                    self.text.push_str(close);
                }
            }
        }
    }

    /// Finds the paths in tokens that `syn` leaves as they are: those of a macro or of an attribute.
    fn read_paths(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    self.words_outside_uses.insert(word.to_string());
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.add_path(std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Group(group) => self.read_paths(group.stream()),
                        // `#[serde(with = "crate::…")]`
                        TokenTree::Literal(literal) => {
                            let text = string_of(&literal).unwrap_or_default();
                            if let Ok(path) = syn::parse_str::<syn::Path>(&text) {
                                self.visit_path(&path);
                            }
                        }
                        TokenTree::Ident(_) | TokenTree::Punct(_) => {}
                    }
                }
            }
        }
        self.add_path(path);
    }

    fn add_path(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.paths.push(path);
        }
    }

    fn add_match(&mut self, patterns: &[&syn::Pat]) {
        let own = self.own_type.clone();
        let resolved = |name: String| own.clone().filter(|_| name == "Self").unwrap_or(name);
        self.beside_wildcards.extend(beside_wildcards(patterns).into_iter().map(resolved));
    }

    fn add_function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let lines = body.span().end().line - signature.span().start().line + 1;
        self.functions.push((signature.ident.to_string(), lines));
    }

    fn add_comment(
        &mut self,
        attributes: &[syn::Attribute],
        is_public: bool,
        name: &syn::Ident,
        kind: Option<&syn::Type>,
    ) {
        self.comments.push(comment_of(attributes, is_public, name, kind));
    }
}

impl<'a> Visit<'a> for Code {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let is_shown = !matches!(item.vis, syn::Visibility::Inherited);
        open(&item.tree, &mut Vec::new(), is_shown, &mut self.uses);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        // The name of a module is no use of an item of that name.
        item.content.iter().flat_map(|(_, items)| items).for_each(|item| self.visit_item(item));
    }

    fn visit_ident(&mut self, word: &'a syn::Ident) {
        self.words_outside_uses.insert(word.to_string());
    }

    /// `pub(in crate::…)` uses nothing of that module.
    fn visit_vis_restricted(&mut self, _: &'a syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        visit::visit_macro(self, call);
        if call.path.is_ident("matches")
            && let Some(pattern) = pattern_of(call.tokens.clone())
        {
            let rest = syn::Pat::Wild(syn::PatWild {
                attrs: Vec::new(),
                underscore_token: Default::default(),
            });
            self.add_match(&[&pattern, &rest]);
        }
        match syn::parse2::<syn::File>(call.tokens.clone()) {
            // Some macros hold items.
            Ok(file) if !file.items.is_empty() => {
                if call.path.is_ident("closed_list") {
                    self.closed_lists.extend(file.items.iter().flat_map(names_of));
                }
                self.visit_file(&file);
            }
            _ => self.read_paths(call.tokens.clone()),
        }
    }

    fn visit_expr_match(&mut self, expression: &'a syn::ExprMatch) {
        let patterns: Vec<&syn::Pat> = expression.arms.iter().map(|arm| &arm.pat).collect();
        self.add_match(&patterns);
        visit::visit_expr_match(self, expression);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(of) => of.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.own_type, name);
        visit::visit_item_impl(self, item);
        self.own_type = outer;
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.read_paths(list.tokens.clone());
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add_function(&item.sig, &item.block);
        self.add_comment(&item.attrs, is_public(&item.vis), &item.sig.ident, None);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add_function(&item.sig, &item.block);
        let is_public = is_public(&item.vis) && !is_getter(&item.sig);
        self.add_comment(&item.attrs, is_public, &item.sig.ident, None);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add_function(&item.sig, body);
        }
        self.add_comment(&item.attrs, !is_getter(&item.sig), &item.sig.ident, None);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add_comment(&item.attrs, is_public(&item.vis), &item.ident, None);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add_comment(&item.attrs, is_public(&item.vis), &item.ident, None);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add_comment(&item.attrs, is_public(&item.vis), &item.ident, None);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add_comment(&item.attrs, is_public(&item.vis), &item.ident, None);
        visit::visit_item_type(self, item);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if let Some(name) = &field.ident {
            self.add_comment(&field.attrs, false, name, Some(&field.ty));
        }
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.add_comment(&variant.attrs, false, &variant.ident, None);
        visit::visit_variant(self, variant);
    }
}

/// `pub` without a restriction: code outside the crate can reach the item (`unreachable_pub`).
fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// A method that takes `self` and nothing else, and changes nothing.
fn is_getter(signature: &syn::Signature) -> bool {
    let receiver = signature.receiver().filter(|_| signature.inputs.len() == 1);
    receiver.is_some_and(|of| !matches!(of.kind, syn::ReceiverKind::Reference(_, _, Some(_))))
}

fn names_of(item: &syn::Item) -> Vec<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Mod(item) => &item.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        syn::Item::Macro(item) => match &item.ident {
            Some(name) => name,
            None => {
                let inner = syn::parse2::<syn::File>(item.mac.tokens.clone());
                let items = inner.map(|file| file.items).unwrap_or_default();
                return items.iter().flat_map(names_of).collect();
            }
        },
        _ => return Vec::new(),
    };
    vec![name.to_string()]
}

/// Expands the braces of a `use` into paths.
fn open(tree: &syn::UseTree, before: &mut Vec<String>, is_shown: bool, found: &mut Vec<Use>) {
    let last = match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            open(&path.tree, before, is_shown, found);
            before.pop();
            return;
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| open(tree, before, is_shown, found));
            return;
        }
        syn::UseTree::Name(name) => name.ident.to_string(),
        syn::UseTree::Rename(rename) => rename.ident.to_string(),
        syn::UseTree::Glob(_) => "*".to_owned(),
    };
    let path = before.iter().cloned().chain([last]).collect();
    found.push(Use { path, is_shown });
}

/// The value of a string literal; `None` for a number, a byte string or a character.
fn string_of(literal: &proc_macro2::Literal) -> Option<String> {
    syn::parse_str::<syn::LitStr>(&literal.to_string()).ok().map(|text| text.value())
}

/// Whether a token is `[name…]`, the bracket of an attribute.
fn is_attribute(token: &TokenTree, name: &str) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let first = group.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(word)) if word == name)
        && group.delimiter() == Delimiter::Bracket
}

/// Whether a token is `[cfg(test)]`.
fn is_for_tests(token: &TokenTree) -> bool {
    is_attribute(token, "cfg") && token.to_string().replace(' ', "") == "[cfg(test)]"
}

/// Drops every item that only unit tests have.
fn without_unit_tests(tokens: TokenStream) -> TokenStream {
    let mut left = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let is_mark = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '#');
        if is_mark && rest.next_if(is_for_tests).is_some() {
            // The item ends with its body, or with its semicolon.
            rest.by_ref().find(|token| match token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(mark) => mark.as_char() == ';',
                _ => false,
            });
            continue;
        }
        left.push(match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), without_unit_tests(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        });
    }
    left.into_iter().collect()
}

#[test]
fn code_is_what_is_no_comment_no_text_and_no_test() {
    let text = "//! a\n/* \" */ fn b<'g>() { c(\"\\\" crate::d\", r#\"\"e\"#, 'f', 1); h.mode = i == j }\n\
                #[cfg(test)]\nmod tests {\n use k::l;\n}\n/// m\nstruct N;";
    let code = Code::of(text).unwrap();
    let left = "fn b <'g > ( ) { c ( \"\" , \"\" , 'f' , 1 ) ; h . mode = i == j } struct N ; ";
    assert_eq!(code.text, left);
    assert_eq!(code.literals, ["\" crate::d", "\"e"]);
    assert!(code.uses.is_empty());
}

#[test]
fn the_braces_of_a_use_are_opened() {
    let code = Code::of("pub use crate::a::{B, c::{self, D as E}};\nuse f::*;").unwrap();
    let paths: Vec<_> =
        code.uses.iter().map(|used| (used.path.join("::"), used.is_shown)).collect();
    let expected = [
        ("crate::a::B", true),
        ("crate::a::c::self", true),
        ("crate::a::c::D", true),
        ("f::*", false),
    ];
    assert_eq!(paths, expected.map(|(path, is_shown)| (path.to_owned(), is_shown)));
}

#[test]
fn a_path_is_found_in_code_in_a_macro_and_in_an_attribute() {
    let text = "#[serde(with = \"crate::a\")]\nstruct S(crate::b::C<d::E>);\n\
                fn f() { json!({ \"k\": [g::h::<u8>(i), !crate::j::K { l: m::n }] }) }\n\
                closed_list! { /// O.\n pub enum P { Q(crate::r::T) } }";
    let paths: Vec<String> =
        Code::of(text).unwrap().paths.iter().map(|path| path.join("::")).collect();
    let expected =
        ["crate::a", "crate::b::C", "d::E", "g::h", "crate::j::K", "m::n", "crate::r::T"];
    assert_eq!(paths, expected);
}

#[test]
fn a_function_is_as_long_as_its_lines() {
    let code =
        Code::of("fn a() -> [u8; 2] {\n  if b {\n  }\n}\ntrait C {\n fn d();\n fn e() {}\n}\n");
    assert_eq!(code.unwrap().functions, [("a".to_owned(), 4), ("e".to_owned(), 1)]);
}
