//! Header values that name secrets: `Bearer ${SECRET_NAME}` (interface §6, `Http.Headers`), and the user: `${USER}`
//! (interface §13).
//!
//! It owns the placeholder's grammar and its expansion. The catalog holds names only; the caller looks
//! the values up when it makes a call. No message repeats a secret's value, nor the inside of a
//! malformed placeholder, which may be a pasted key.

use super::names::{is_header_value_character, is_secret_name};

/// A header value, read once and expanded on every call.
///
/// `${` always opens a placeholder, whose name is `[A-Za-z_][A-Za-z0-9_]*`, at most 128 bytes.
/// A `$` without a brace stands for itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretTemplate {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Literal(String),
    Secret(String),
    /// The user whose session makes the call.
    User,
}

/// The name that stands for the user, and for no secret.
pub(super) const USER: &str = "USER";

impl SecretTemplate {
    /// Reads a header value.
    ///
    /// # Errors
    /// What is wrong with the first malformed placeholder, and the byte at which its `$` stands.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, opened)) = rest.split_once("${") {
            let at = text.len() - opened.len() - "${".len();
            let malformed = |problem: &str| {
                format!("the placeholder at byte {at} {problem}; write it as ${{SECRET_NAME}}")
            };
            let (name, after) = opened.split_once('}').ok_or_else(|| malformed("is not closed"))?;
            if !is_secret_name(name) {
                return Err(malformed(
                    "does not hold a secret's name (letters, digits and _, not starting with a digit)",
                ));
            }
            parts.push(TemplatePart::Literal(literal.to_owned()));
            parts.push(if name == USER {
                TemplatePart::User
            } else {
                TemplatePart::Secret(name.to_owned())
            });
            rest = after;
        }
        parts.push(TemplatePart::Literal(rest.to_owned()));
        Ok(Self { parts })
    }

    /// The names of the secrets that it needs, in order, with repetitions.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Secret(name) => Some(name.as_str()),
            TemplatePart::Literal(_) | TemplatePart::User => None,
        })
    }

    /// Whether it names the user.
    pub fn names_user(&self) -> bool {
        self.parts.contains(&TemplatePart::User)
    }

    /// The header value, with every placeholder replaced by the secret of its name, and `${USER}` by `user`, which is
    /// fit for a header. A placeholder inside a secret stays as it is.
    ///
    /// # Errors
    /// What is wrong with the first secret that is missing, empty or not fit for a header. The text
    /// holds the secret's name and never its value.
    pub fn expand(
        &self,
        user: &str,
        secret: impl Fn(&str) -> Option<String>,
    ) -> Result<String, String> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Literal(literal) => value.push_str(literal),
                TemplatePart::User => value.push_str(user),
                TemplatePart::Secret(name) => {
                    let held = secret(name).ok_or_else(|| {
                        format!("the secret {name} is not set in this deployment")
                    })?;
                    if held.is_empty() {
                        return Err(format!("the secret {name} is empty"));
                    }
                    check_secret(name, &held)?;
                    value.push_str(&held);
                }
            }
        }
        Ok(value)
    }
}

/// Refuses a secret that no header can carry.
///
/// # Errors
/// What is wrong with it. The text holds the secret's name and never its value.
pub fn check_secret(name: &str, held: &str) -> Result<(), String> {
    match held.chars().all(is_header_value_character) {
        true => Ok(()),
        false => Err(format!(
            "the secret {name} holds a line break or another character that a header cannot carry; \
             store it again without"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("t0p-${USER}".to_owned()),
            "NAME" => Some("ada".to_owned()),
            "EMPTY" => Some(String::new()),
            "BROKEN" => Some("t0p-secret\n".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn every_placeholder_is_replaced_once_and_the_rest_stays() {
        let template = SecretTemplate::parse("${NAME}:é $5 {x} ${TOKEN}${NAME}").unwrap();
        assert_eq!(template.secrets().collect::<Vec<_>>(), ["NAME", "TOKEN", "NAME"]);
        assert!(!template.names_user());
        assert_eq!(template.expand("bob", secret).unwrap(), "ada:é $5 {x} t0p-${USER}ada");
    }

    #[test]
    fn the_user_is_no_secret() {
        let template = SecretTemplate::parse("${USER}/${NAME}").unwrap();
        assert_eq!(template.secrets().collect::<Vec<_>>(), ["NAME"]);
        assert!(template.names_user());
        assert_eq!(template.expand("al%2Fice", secret).unwrap(), "al%2Fice/ada");
        assert_eq!(template.expand("", secret).unwrap(), "/ada");
    }

    #[test]
    fn a_value_without_placeholders_needs_no_secret() {
        for value in ["", "application/json", "$", "$$", "a}b"] {
            let template = SecretTemplate::parse(value).unwrap();
            assert_eq!(template.expand("", |_| None), Ok(value.to_owned()));
        }
    }

    #[test]
    fn a_malformed_placeholder_is_named_by_its_place_and_never_repeated() {
        let message = |at: usize, problem: &str| {
            format!("the placeholder at byte {at} {problem}; write it as ${{SECRET_NAME}}")
        };
        let not_closed = message(7, "is not closed");
        assert_eq!(SecretTemplate::parse("Bearer ${TOKEN"), Err(not_closed));
        let no_name =
            "does not hold a secret's name (letters, digits and _, not starting with a digit)";
        for (text, at) in [("é${}", 2), ("${A}${sk-live-1}", 4), ("${ A}", 0), ("${1A}", 0)] {
            assert_eq!(SecretTemplate::parse(text), Err(message(at, no_name)));
        }
        let message = SecretTemplate::parse("${sk-live-1}").unwrap_err();
        assert!(!message.contains("sk-live"), "{message}");
        assert!(message.ends_with("write it as ${SECRET_NAME}"), "{message}");
    }

    #[test]
    fn a_secret_that_cannot_be_used_is_named_and_its_value_is_not() {
        let fault =
            |text: &str| SecretTemplate::parse(text).unwrap().expand("", secret).unwrap_err();
        let absent = "the secret ABSENT is not set in this deployment";
        assert_eq!(fault("${NAME}${ABSENT}"), absent);
        assert_eq!(fault("${EMPTY}"), "the secret EMPTY is empty");
        let broken = fault("Bearer ${BROKEN}");
        assert_eq!(
            broken,
            "the secret BROKEN holds a line break or another character that a header cannot carry; \
             store it again without"
        );
        assert!(!broken.contains("t0p"));
    }
}
