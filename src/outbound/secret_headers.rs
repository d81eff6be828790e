//! Headers in which secrets take the places of their names (interface §6).

use std::cell::RefCell;

use crate::catalog::HeaderTemplate;
use crate::ports::Platform;

/// The headers of a call.
#[derive(Default)]
pub struct SecretHeaders {
    /// Names and values, in the catalog's order.
    pub headers: Vec<(String, String)>,
    /// The secrets that the values hold.
    pub secrets: Vec<String>,
}

impl SecretHeaders {
    /// Looks the secrets up.
    ///
    /// # Errors
    /// What is wrong with the first secret that cannot be used: its name, never its value.
    pub fn expand<P: Platform>(platform: &P, templates: &[HeaderTemplate]) -> Result<Self, String> {
        let secrets = RefCell::new(Vec::new());
        let secret = |name: &str| {
            let held = platform.secret(name)?;
            secrets.borrow_mut().push(held.clone());
            Some(held)
        };
        let header =
            |header: &HeaderTemplate| Ok((header.name.clone(), header.value.expand(secret)?));
        let headers = templates.iter().map(header).collect::<Result<_, String>>()?;
        Ok(Self { headers, secrets: secrets.into_inner() })
    }
}
