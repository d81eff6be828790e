//! The documents that a removal names, `?Path=…`, up to 100 times (interface §7).
//!
//! A client may spell a path in several ways, and an index of an earlier version holds a document by the path as it was
//! sent. So a path has several spellings, each for the case that those before it name no document.

use super::request::decoded;
use crate::contract::{ErrorCode, Fault, limits, normal_path, quoted_path, relative_path_problem};

/// A document, or a folder with a `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPath {
    /// The path as it was sent, its normal form, and both with blanks in place of plus signs, as HTML forms encode them.
    spellings: Vec<String>,
    /// Where it stands in the request, a JSON Pointer.
    pointer: String,
    /// Why no document of this version can have the path.
    problem: Option<&'static str>,
}

impl RemovedPath {
    /// Reads the query: 1 to 100 paths, in its order.
    ///
    /// # Errors
    /// `missing_field`, `unknown_field`, and `invalid_field` for too many paths and for a path that no version has
    /// taken: at `/Path`, of several at `/Path/3`.
    pub(super) fn all_of(query: &str) -> Result<Vec<Self>, Fault> {
        let mut values = Vec::new();
        for member in query.split('&').filter(|member| !member.is_empty()) {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            if name != "Path" {
                let message = "This endpoint takes Path in its query, nothing else.";
                return Err(Fault::new(ErrorCode::UnknownField, message));
            }
            values.push(value);
        }
        let (count, most) = (values.len(), limits::DOCUMENTS);
        if count == 0 {
            let message = "Path is required; add ?Path=….";
            return Err(Fault::new(ErrorCode::MissingField, message).at("/Path"));
        }
        if count > most {
            let message = format!("Path stands {count} times; a request takes {most} at most.");
            return Err(Fault::new(ErrorCode::InvalidField, message).at("/Path"));
        }
        let of = |(at, value): (usize, &str)| match count {
            1 => Self::of(value, "/Path"),
            _ => Self::of(value, &format!("/Path/{at}")),
        };
        values.into_iter().enumerate().map(of).collect()
    }

    fn of(value: &str, pointer: &str) -> Result<Self, Fault> {
        let path = decoded(value).map_err(|fault| fault.at(pointer))?;
        let normal = normal_path(&path);
        let never = match &normal {
            Ok(normal) if normal.is_empty() => {
                Some("must name a document, or a folder with a / at its end")
            }
            _ => relative_path_problem(&path),
        };
        if let Some(problem) = never {
            return Err(refusal(&path, problem, pointer));
        }
        let problem = normal.as_ref().err().copied();
        let mut spellings = vec![path.into_owned()];
        spellings.extend(normal.ok());
        if value.contains('+') {
            let as_form = decoded(&value.replace('+', " "))?.into_owned();
            let normal = normal_path(&as_form);
            spellings.push(as_form);
            spellings.extend(normal.ok());
        }
        spellings.dedup();
        Ok(Self { spellings, pointer: pointer.to_owned(), problem })
    }

    /// The path as it was sent.
    pub fn sent(&self) -> &str {
        self.spellings.first().map_or("", String::as_str)
    }

    /// The spellings, in the order in which they are tried.
    pub fn spellings(&self) -> impl Iterator<Item = &str> {
        self.spellings.iter().map(String::as_str)
    }

    /// The refusal of a path that names no document, where no document of this version can have the path.
    pub fn refusal(&self) -> Option<Fault> {
        self.problem.map(|problem| refusal(self.sent(), problem, &self.pointer))
    }
}

fn refusal(path: &str, problem: &str, pointer: &str) -> Fault {
    let message = format!("Path {} {problem}.", quoted_path(path));
    Fault::new(ErrorCode::InvalidField, message).at(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(query: &str) -> RemovedPath {
        RemovedPath::all_of(query).unwrap().remove(0)
    }

    fn spellings(query: &str) -> Vec<String> {
        only(query).spellings().map(str::to_owned).collect()
    }

    #[test]
    fn a_removal_takes_the_path_as_it_was_sent_before_its_normal_form() {
        assert_eq!(spellings("Path=a"), ["a"]);
        assert_eq!(spellings("Path=./a//b/"), ["./a//b/", "a/b/"]);
        assert_eq!(spellings("Path=./a+b"), ["./a+b", "a+b", "./a b", "a b"]);
        assert_eq!(spellings("Path=a%5Cb"), ["a\\b"]);
    }

    #[test]
    fn a_path_that_no_document_can_have_is_refused_by_its_name() {
        let removed = only("Path=a%5Cb");
        let fault = removed.refusal().unwrap();
        assert!(fault.message.starts_with(r#"Path "a\b" must separate folders"#), "{fault}");
        assert!(only("Path=a%E2%80%8Bb").refusal().is_some());
        assert_eq!(only("Path=./a").refusal(), None);
        for query in ["Path=", "Path=/", "Path=./", "Path=/etc", "Path=.."] {
            let fault = RemovedPath::all_of(query).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidField, "{query}");
        }
    }
    #[test]
    fn a_removal_names_up_to_a_hundred_paths_and_its_refusal_says_which() {
        let sent = |query: &str| -> Vec<String> {
            let paths = RemovedPath::all_of(query).unwrap();
            paths.iter().map(|path| path.sent().to_owned()).collect()
        };
        assert_eq!(sent("Path=a&Path=./b/&&Path=a"), ["a", "./b/", "a"]);
        let at = |query: &str| RemovedPath::all_of(query).unwrap_err().path;
        assert_eq!(at("Path=a&Path=b&Path=..").as_deref(), Some("/Path/2"));
        assert_eq!(at("Path=..").as_deref(), Some("/Path"));
        let many = |count: usize| vec!["Path=a"; count].join("&");
        assert_eq!(sent(&many(100)).len(), 100);
        assert_eq!(at(&many(101)).as_deref(), Some("/Path"));
    }
}
