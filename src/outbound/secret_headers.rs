//! Headers in which secrets replace their names (interface §6).

use std::cell::RefCell;

use percent_encoding::utf8_percent_encode;

use super::address::UNRESERVED;
use crate::catalog::{HeaderTemplate, check_secret};
use crate::encoding::is_sent_openly;
use crate::ports::Platform;

/// The headers that name the caller to a service.
const KEY_HEADERS: [&str; 2] = ["authorization", "api-key"];

/// Whether headers hold a service's key.
pub fn hold_key(headers: &[(String, String)]) -> bool {
    let is_key = |name: &str| KEY_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known));
    headers.iter().any(|(name, _)| is_key(name))
}

/// The headers of a call.
#[derive(Default)]
pub struct SecretHeaders {
    /// Names and values, in the catalog's order.
    pub headers: Vec<(String, String)>,
    /// The secrets that the values hold.
    pub secrets: Vec<String>,
}

impl SecretHeaders {
    /// Looks the secrets up. `${USER}` is the user whose object calls, percent-encoded; empty for the tenant's own.
    ///
    /// # Errors
    /// The problem of the first secret that cannot be used: its name, never its value.
    pub fn expand<P: Platform>(platform: &P, templates: &[HeaderTemplate]) -> Result<Self, String> {
        Self::expand_for(platform, platform.user().map(|user| user.as_str()), templates)
    }

    /// The same where the object that calls does not say for whom.
    pub fn expand_for<P: Platform>(
        platform: &P,
        user: Option<&str>,
        templates: &[HeaderTemplate],
    ) -> Result<Self, String> {
        let secrets = RefCell::new(Vec::new());
        let secret = |name: &str| {
            let held = platform.secret(name)?;
            secrets.borrow_mut().push(held.clone());
            Some(held)
        };
        let user = utf8_percent_encode(user.unwrap_or_default(), UNRESERVED).to_string();
        let header = |header: &HeaderTemplate| {
            Ok((header.name.clone(), header.value.expand(&user, secret)?))
        };
        let headers = templates.iter().map(header).collect::<Result<_, String>>()?;
        Ok(Self { headers, secrets: secrets.into_inner() })
    }

    /// The same with a service's key as a bearer token, unless a header holds a key, or there is no such secret or it is
    /// empty. White space around the key, such as the end of a file's line, is no part of it.
    ///
    /// # Errors
    /// The problem of a key that no header can carry: the secret's name, never its value.
    pub fn with_key<P: Platform>(
        mut self,
        platform: &P,
        secret: Option<&str>,
    ) -> Result<Self, String> {
        let secret = secret.filter(|_| !hold_key(&self.headers));
        if let Some((name, held)) = secret.and_then(|name| Some((name, platform.secret(name)?))) {
            let key = held.trim_ascii();
            check_secret(name, key)?;
            if !key.is_empty() {
                self.headers.insert(0, ("Authorization".to_owned(), format!("Bearer {key}")));
                self.secrets.push(key.to_owned());
            }
        }
        Ok(self)
    }

    /// The same for requests to a URL: a secret crosses no network unencrypted.
    ///
    /// # Errors
    /// The problem, without the URL.
    pub fn sent_to(self, url: &str) -> Result<Self, String> {
        if !self.secrets.is_empty() && is_sent_openly(url) {
            return Err("it holds a secret, and the URL does not begin with https://".to_owned());
        }
        Ok(self)
    }
}
