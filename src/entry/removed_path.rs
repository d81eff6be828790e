//! The documents that a removal names, `?Path=…` (interface §7).
//!
//! A client may spell a path in several ways, and an index of an earlier version holds a document by the path as it was
//! sent. So a removal has several paths, each for the case that those before it name no document.

use super::request::decoded;
use crate::contract::{ErrorCode, Fault, normal_path, quoted_path, relative_path_problem};

/// A document, or a folder with a `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPath {
    /// The path as it was sent, its normal form, and both with blanks in place of plus signs, as HTML forms encode them.
    paths: Vec<String>,
    /// Why no document of this version can have the path.
    problem: Option<String>,
}

impl RemovedPath {
    /// Reads the query.
    ///
    /// # Errors
    /// `missing_field`, `unknown_field`, and `invalid_field` for a path that no version has taken.
    pub(super) fn of(query: &str) -> Result<Self, Fault> {
        let mut value = None;
        for member in query.split('&').filter(|member| !member.is_empty()) {
            let (name, text) = member.split_once('=').unwrap_or((member, ""));
            if name != "Path" || value.is_some() {
                let message = "This endpoint takes one Path in its query, nothing else.";
                return Err(Fault::new(ErrorCode::UnknownField, message));
            }
            value = Some(text);
        }
        let value = value.ok_or_else(|| {
            Fault::new(ErrorCode::MissingField, "Path is required; add ?Path=….").at("/Path")
        })?;
        let path = decoded(value).map_err(|fault| fault.at("/Path"))?;
        let normal = normal_path(&path);
        let never = match &normal {
            Ok(normal) if normal.is_empty() => {
                Some("must name a document, or a folder with a / at its end")
            }
            _ => relative_path_problem(&path),
        };
        if let Some(problem) = never {
            return Err(refusal(message(&path, problem)));
        }
        let problem = normal.as_ref().err().map(|problem| message(&path, problem));
        let mut paths = vec![path.into_owned()];
        paths.extend(normal.ok());
        if value.contains('+') {
            let as_form = decoded(&value.replace('+', " "))?.into_owned();
            let normal = normal_path(&as_form);
            paths.push(as_form);
            paths.extend(normal.ok());
        }
        paths.dedup();
        Ok(Self { paths, problem })
    }

    /// The paths, in the order in which they are tried.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// The refusal of a path that named no document and cannot name one.
    pub fn refusal(&self) -> Option<Fault> {
        self.problem.clone().map(refusal)
    }
}

fn message(path: &str, problem: &str) -> String {
    format!("Path {} {problem}.", quoted_path(path))
}

fn refusal(message: String) -> Fault {
    Fault::new(ErrorCode::InvalidField, message).at("/Path")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(query: &str) -> Vec<String> {
        RemovedPath::of(query).unwrap().paths().map(str::to_owned).collect()
    }

    #[test]
    fn a_removal_takes_the_path_as_it_was_sent_before_its_normal_form() {
        assert_eq!(paths("Path=a"), ["a"]);
        assert_eq!(paths("Path=./a//b/"), ["./a//b/", "a/b/"]);
        assert_eq!(paths("Path=./a+b"), ["./a+b", "a+b", "./a b", "a b"]);
        assert_eq!(paths("Path=a%5Cb"), ["a\\b"]);
    }

    #[test]
    fn a_path_that_no_document_can_have_is_refused_by_its_name() {
        let removed = RemovedPath::of("Path=a%5Cb").unwrap();
        let fault = removed.refusal().unwrap();
        assert!(fault.message.starts_with(r#"Path "a\b" must separate folders"#), "{fault}");
        assert!(RemovedPath::of("Path=a%E2%80%8Bb").unwrap().refusal().is_some());
        assert_eq!(RemovedPath::of("Path=./a").unwrap().refusal(), None);
        for query in ["Path=", "Path=/", "Path=./", "Path=/etc", "Path=.."] {
            let fault = RemovedPath::of(query).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidField, "{query}");
        }
    }
}
