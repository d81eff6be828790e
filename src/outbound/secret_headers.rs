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
    /// The headers of requests to a URL. Looks the secrets up; `${USER}` is the user for whom it is asked, percent-encoded,
    /// empty for the tenant's own. A service's `key` goes as a bearer token, unless a header holds a key, or there is no such
    /// secret or it is empty. White space around the key, such as the end of a file's line, is no part of it.
    ///
    /// # Errors
    /// The problem of the first secret that cannot be used: its name, never its value. Or a secret would cross a network
    /// unencrypted.
    pub fn of<P: Platform>(
        platform: &P,
        user: Option<&str>,
        url: &str,
        templates: &[HeaderTemplate],
        key: Option<&str>,
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
        let mut headers = templates.iter().map(header).collect::<Result<Vec<_>, String>>()?;
        let mut secrets = secrets.into_inner();
        let key = key.filter(|_| !hold_key(&headers));
        if let Some((name, held)) = key.and_then(|name| Some((name, platform.secret(name)?))) {
            let key = held.trim_ascii();
            check_secret(name, key)?;
            if !key.is_empty() {
                headers.insert(0, ("Authorization".to_owned(), format!("Bearer {key}")));
                secrets.push(key.to_owned());
            }
        }
        if !secrets.is_empty() && is_sent_openly(url) {
            return Err("it holds a secret, and the URL does not begin with https://".to_owned());
        }
        Ok(Self { headers, secrets })
    }
}
