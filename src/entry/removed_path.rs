//! The documents that a removal names, `?Path=…`, up to 100 times (interface §7).

use super::page_query::{members, unknown};
use super::request::decoded;
use crate::contract::{ErrorCode, Fault, Result, limits, normal_path, quoted_path};

/// A document, or a folder with a `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPath {
    /// The path as it was sent.
    pub sent: String,
    /// Its form in the index, and the same with blanks in place of plus signs, as HTML forms encode them.
    readings: Vec<String>,
}

impl RemovedPath {
    /// Reads the query: 1 to 100 paths, in its order.
    ///
    /// # Errors
    /// `missing_field`, `unknown_field`, and `invalid_field` for too many paths and for a path that no document
    /// can have: at `/Path`, of several at `/Path/3`.
    pub(super) fn all_of(query: &str) -> Result<Vec<Self>> {
        let mut values = Vec::new();
        for (name, value) in members(query) {
            if name != "Path" {
                return Err(unknown("Path"));
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

    fn of(value: &str, pointer: &str) -> Result<Self> {
        let sent = decoded(value).map_err(|fault| fault.at(pointer))?.into_owned();
        let mut readings = match normal_path(&sent) {
            Ok(normal) if normal.is_empty() => {
                let problem = "must name a document, or a folder with a / at its end";
                return Err(refusal(&sent, problem, pointer));
            }
            Ok(normal) => vec![normal],
            Err(problem) => return Err(refusal(&sent, problem, pointer)),
        };
        if value.contains('+') {
            let with_blanks = value.replace('+', " ");
            readings.extend(normal_path(&decoded(&with_blanks)?).ok());
        }
        Ok(Self { sent, readings })
    }

    /// What the path may mean, in the order in which it is tried.
    pub fn readings(&self) -> impl Iterator<Item = &str> {
        self.readings.iter().map(String::as_str)
    }
}

fn refusal(path: &str, problem: &str, pointer: &str) -> Fault {
    let message = format!("Path {} {problem}.", quoted_path(path));
    Fault::new(ErrorCode::InvalidField, message).at(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(query: &str) -> Vec<String> {
        let path = RemovedPath::all_of(query).unwrap().remove(0);
        path.readings().map(str::to_owned).collect()
    }

    #[test]
    fn a_removal_takes_the_form_of_a_path_and_then_its_plus_signs_as_blanks() {
        assert_eq!(readings("Path=a"), ["a"]);
        assert_eq!(readings("Path=./a//b/"), ["a/b/"]);
        assert_eq!(readings("Path=./a+b"), ["a+b", "a b"]);
    }

    #[test]
    fn a_path_that_no_document_can_have_is_refused_by_its_name() {
        let fault = RemovedPath::all_of("Path=a%5Cb").unwrap_err();
        assert!(fault.message.starts_with(r#"Path "a\b" must separate folders"#), "{fault}");
        for query in ["Path=", "Path=/", "Path=./", "Path=/etc", "Path=..", "Path=a%E2%80%8Bb"] {
            let fault = RemovedPath::all_of(query).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidField, "{query}");
        }
    }

    #[test]
    fn a_removal_names_up_to_a_hundred_paths_and_its_refusal_says_which() {
        let sent = |query: &str| -> Vec<String> {
            let paths = RemovedPath::all_of(query).unwrap();
            paths.iter().map(|path| path.sent.clone()).collect()
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
