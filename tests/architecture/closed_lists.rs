//! A closed list (`closed_list!`) is matched member by member, so that the compiler finds every place that a new member
//! concerns. The lint `wildcard_enum_match_arm`, which is off, would say so of all enums; this rule is for closed lists
//! alone, in `matches!` and in patterns of which a part is a wildcard as well.

use std::collections::BTreeSet;

use syn::parse::{ParseStream, Parser};

use super::sources::sources;

/// The enums that a `match` or a `matches!` names in places where a wildcard stands for their other members. `Self` is
/// not resolved.
pub(crate) fn beside_wildcards(patterns: &[&syn::Pat]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let width = patterns.iter().map(|pattern| parts(pattern).len()).max().unwrap_or_default();
    for place in 0..width {
        let at_place = patterns.iter().map(|pattern| parts(pattern).get(place).copied());
        let (mut has_wildcard, mut named) = (false, BTreeSet::new());
        for part in at_place {
            match part {
                Some(part) => read(part, &mut named, &mut has_wildcard),
                // `_` for the whole tuple.
                None => has_wildcard = true,
            }
        }
        if has_wildcard {
            found.append(&mut named);
        }
    }
    found
}

/// The pattern of a `matches!`; `None` for other tokens.
pub(crate) fn pattern_of(tokens: proc_macro2::TokenStream) -> Option<syn::Pat> {
    let parser = |input: ParseStream<'_>| {
        input.parse::<syn::Expr>()?;
        input.parse::<syn::Token![,]>()?;
        let pattern = syn::Pat::parse_multi_with_leading_vert(input)?;
        input.parse::<proc_macro2::TokenStream>()?;
        Ok(pattern)
    };
    parser.parse2(tokens).ok()
}

/// The elements of a tuple, or the pattern itself.
fn parts(pattern: &syn::Pat) -> Vec<&syn::Pat> {
    match pattern {
        syn::Pat::Tuple(tuple) => tuple.elems.iter().collect(),
        syn::Pat::Paren(inner) => parts(&inner.pat),
        other => vec![other],
    }
}

/// Collects the enums that a pattern names, and whether a part of it fits everything.
fn read(pattern: &syn::Pat, named: &mut BTreeSet<String>, has_wildcard: &mut bool) {
    let enum_of =
        |path: &syn::Path| path.segments.iter().rev().nth(1).map(|of| of.ident.to_string());
    match pattern {
        syn::Pat::Wild(_) => *has_wildcard = true,
        syn::Pat::Ident(name) => match &name.subpat {
            Some((_, inner)) => read(inner, named, has_wildcard),
            // A constant or a member that is imported begins with a capital.
            None => *has_wildcard |= name.ident.to_string().starts_with(char::is_lowercase),
        },
        syn::Pat::Or(either) => {
            either.cases.iter().for_each(|case| read(case, named, has_wildcard))
        }
        syn::Pat::Paren(inner) => read(&inner.pat, named, has_wildcard),
        syn::Pat::Reference(inner) => read(&inner.pat, named, has_wildcard),
        syn::Pat::Path(path) => named.extend(enum_of(&path.path)),
        syn::Pat::TupleStruct(of) => {
            named.extend(enum_of(&of.path));
            // `Some(member)`
            if of.path.segments.len() == 1 {
                of.elems.iter().for_each(|inner| read(inner, named, has_wildcard));
            }
        }
        _ => {}
    }
}

#[test]
fn a_closed_list_is_matched_member_by_member() {
    let lists: BTreeSet<&String> =
        sources().iter().flat_map(|file| &file.code.closed_lists).collect();
    assert!(lists.iter().any(|list| *list == "TurnStatus"));
    let of_one = |file: &'static super::Source| {
        let open = file.code.beside_wildcards.iter().filter(|name| lists.contains(name));
        open.map(|name| format!("{} does not name every {name}", file.path))
    };
    assert_eq!(sources().iter().flat_map(of_one).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_wildcard_is_found_in_a_match_in_a_tuple_and_in_matches() {
    let found = |code: &str| {
        let code = format!("impl L {{ fn f() {{ {code} }} }}");
        super::reading::Code::of(&code).unwrap().beside_wildcards.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(found("match a { A::B => 1, _ => 2 }"), ["A"]);
    assert_eq!(found("match a { A::B => 1, other => 2 }"), ["A"]);
    assert_eq!(found("match a { A::B | A::C => 1 }"), [""; 0]);
    assert_eq!(found("match (a, b) { (A::B, _) => 1, (A::C, D::E) => 2 }"), ["D"]);
    assert_eq!(found("match (a, b) { (A::B, D::E) => 1, _ => 2 }"), ["A", "D"]);
    assert_eq!(found("match a { Some(A::B) => 1, Some(_) => 2, None => 3 }"), ["A"]);
    assert_eq!(found("g(matches!(a, A::B | A::C if d))"), ["A"]);
    assert_eq!(found("match self { Self::B => 1, _ => 2 }"), ["L"]);
    assert_eq!(found("match a { 1 => A::B, _ => A::C }"), [""; 0]);
}
