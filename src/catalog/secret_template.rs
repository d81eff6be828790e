//! Header values that name secrets: `Bearer ${SECRET_NAME}` (interface §6, `Http.Headers`).
//!
//! Owns the placeholder's grammar and its expansion. The catalog holds names only; values come from
//! the deployment at the moment of the call, through a function. No message here repeats a secret's
//! value, nor what stands inside a malformed placeholder, which may be a pasted key.

use thiserror::Error;

use super::names::{is_header_value_character, is_secret_name};

/// A header value, read once and expanded on every call.
///
/// `${` always opens a placeholder, whose name is `[A-Za-z_][A-Za-z0-9_]*`, at most 128 bytes.
/// A `$` without a brace stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Secret(String),
}

/// Why a text is not a template. `at` is the byte offset of the `$` that opens the placeholder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MalformedTemplate {
    /// The text ends before the closing brace.
    #[error("the placeholder at byte {at} is not closed; write it as ${{SECRET_NAME}}")]
    Unclosed {
        /// Byte offset of the `$`.
        at: usize,
    },
    /// What stands between the braces is not a secret's name.
    #[error(
        "the placeholder at byte {at} does not hold a secret's name \
         (letters, digits and _, not starting with a digit); write it as ${{SECRET_NAME}}"
    )]
    NotAName {
        /// Byte offset of the `$`.
        at: usize,
    },
}

/// Why a template could not be expanded. It names the secret and never shows its value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SecretFault {
    /// The deployment has no secret of that name.
    #[error("the secret {name} is not set in this deployment")]
    Missing {
        /// The secret's name.
        name: String,
    },
    /// The secret is set to nothing.
    #[error("the secret {name} is empty")]
    Empty {
        /// The secret's name.
        name: String,
    },
    /// The secret holds what no header can carry, most often a line break at its end.
    #[error(
        "the secret {name} holds a line break or another character that a header cannot carry; \
         store it again without"
    )]
    NotAHeaderValue {
        /// The secret's name.
        name: String,
    },
}

impl SecretTemplate {
    /// Reads a header value.
    ///
    /// # Errors
    /// The first malformed placeholder.
    pub fn parse(text: &str) -> Result<Self, MalformedTemplate> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, opened)) = rest.split_once("${") {
            let at = text.len() - opened.len() - "${".len();
            let (name, after) = opened.split_once('}').ok_or(MalformedTemplate::Unclosed { at })?;
            if !is_secret_name(name) {
                return Err(MalformedTemplate::NotAName { at });
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            parts.push(Part::Secret(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// The names of the secrets it needs, in order, repeats included.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// The header value with every placeholder replaced by what `secret` gives for its name.
    /// What a secret holds is not expanded again.
    ///
    /// # Errors
    /// The first secret that is missing, empty or not fit for a header, by name.
    pub fn expand(&self, secret: impl Fn(&str) -> Option<String>) -> Result<String, SecretFault> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => value.push_str(literal),
                Part::Secret(name) => {
                    let held =
                        secret(name).ok_or_else(|| SecretFault::Missing { name: name.clone() })?;
                    if held.is_empty() {
                        return Err(SecretFault::Empty { name: name.clone() });
                    }
                    if !held.chars().all(is_header_value_character) {
                        return Err(SecretFault::NotAHeaderValue { name: name.clone() });
                    }
                    value.push_str(&held);
                }
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("t0p-${USER}".to_owned()),
            "USER" => Some("ada".to_owned()),
            "EMPTY" => Some(String::new()),
            "BROKEN" => Some("t0p-secret\n".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn every_placeholder_is_replaced_once_and_the_rest_stays() {
        let template = SecretTemplate::parse("${USER}:é $5 {x} ${TOKEN}${USER}").unwrap();
        assert_eq!(template.secrets().collect::<Vec<_>>(), ["USER", "TOKEN", "USER"]);
        assert_eq!(template.expand(secret).unwrap(), "ada:é $5 {x} t0p-${USER}ada");
    }

    #[test]
    fn a_value_without_placeholders_needs_no_secret() {
        for value in ["", "application/json", "$", "$$", "a}b"] {
            let template = SecretTemplate::parse(value).unwrap();
            assert_eq!(template.expand(|_| None).as_deref(), Ok(value));
        }
    }

    #[test]
    fn a_malformed_placeholder_is_named_by_its_place_and_never_repeated() {
        assert_eq!(
            SecretTemplate::parse("Bearer ${TOKEN"),
            Err(MalformedTemplate::Unclosed { at: 7 })
        );
        for (text, at) in [("é${}", 2), ("${A}${sk-live-1}", 4), ("${ A}", 0), ("${1A}", 0)] {
            assert_eq!(SecretTemplate::parse(text), Err(MalformedTemplate::NotAName { at }));
        }
        let message = SecretTemplate::parse("${sk-live-1}").unwrap_err().to_string();
        assert!(!message.contains("sk-live"), "{message}");
        assert!(message.ends_with("write it as ${SECRET_NAME}"), "{message}");
    }

    #[test]
    fn a_secret_that_cannot_be_used_is_named_and_its_value_is_not() {
        let fault = |text: &str| SecretTemplate::parse(text).unwrap().expand(secret).unwrap_err();
        assert_eq!(fault("${USER}${ABSENT}"), SecretFault::Missing { name: "ABSENT".into() });
        assert_eq!(fault("${EMPTY}"), SecretFault::Empty { name: "EMPTY".into() });
        let broken = fault("Bearer ${BROKEN}");
        assert_eq!(broken, SecretFault::NotAHeaderValue { name: "BROKEN".into() });
        assert!(!format!("{broken} {broken:?}").contains("t0p"));
    }
}
