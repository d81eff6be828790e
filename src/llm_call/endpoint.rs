//! The address of a model service, its key and its headers.

use crate::catalog::AgentContext;
use crate::contract::{Fault, Result};
use crate::outbound::{SecretHeaders, address, hold_key};
use crate::ports::{Deployment, Platform};

/// A model service to call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL, without `/responses`.
    pub base_url: String,
    /// The longest silence before the call is given up, in milliseconds.
    pub idle_timeout_ms: u64,
    /// The longest time until the first event of a response, in milliseconds, where another service can take the call
    /// over.
    pub first_event_ms: Option<u64>,
    /// The longest time that text may wait to be joined with what follows, in milliseconds.
    pub delta_interval_ms: u64,
    /// Headers of every call, the service's key among them.
    pub headers: Vec<(String, String)>,
    /// The secrets that these headers hold.
    pub secrets: Vec<String>,
    /// Names and values of every call's query, not encoded.
    pub query: Vec<(String, String)>,
}

impl Endpoint {
    /// The model service of an agent context: the catalog's, or else the deployment's.
    ///
    /// # Errors
    /// `internal` when a header names a secret that cannot be used, or when a secret would be sent unencrypted.
    pub fn of<P: Platform>(
        platform: &P,
        deployment: &Deployment,
        agent: &AgentContext,
    ) -> Result<Self> {
        let unusable = |problem| {
            Fault::internal(format!("A header of the model service cannot be sent: {problem}."))
        };
        let base_url = agent.base_url.clone().unwrap_or_else(|| deployment.base_url.clone());
        // The catalog's own URL has been checked when it was read; this is about the deployment's.
        let user = platform.user().map(|user| user.as_str());
        let key = agent.api_key_secret.as_deref();
        let filled = SecretHeaders::of(platform, user, &base_url, &agent.headers, key);
        let SecretHeaders { headers, secrets } = filled.map_err(unusable)?;
        Ok(Self {
            base_url,
            idle_timeout_ms: deployment.upstream_idle_timeout_ms,
            first_event_ms: None,
            delta_interval_ms: deployment.delta_interval_ms,
            headers,
            secrets,
            query: agent.query.clone(),
        })
    }

    /// Whether calls carry a key, whichever header holds it.
    pub fn has_key(&self) -> bool {
        hold_key(&self.headers)
    }

    /// Where requests for responses go.
    pub(super) fn url(&self) -> String {
        address(&self.base_url, &["responses"], &self.query)
    }

    /// Where a stored response is; `None` for an id that no path can name: it would name something else.
    pub(super) fn url_of_response(&self, id: &str) -> Option<String> {
        is_name(id).then(|| address(&self.base_url, &["responses", id], &self.query))
    }

    /// Where the events of a response are read again: those behind the number `after`, or all.
    pub(super) fn url_of_events(&self, id: &str, after: Option<u64>) -> Option<String> {
        let mut query = self.query.clone();
        query.push(("stream".to_owned(), "true".to_owned()));
        query.extend(after.map(|number| ("starting_after".to_owned(), number.to_string())));
        is_name(id).then(|| address(&self.base_url, &["responses", id], &query))
    }

    /// Where the service is asked to cancel a response.
    pub(super) fn url_of_cancellation(&self, id: &str) -> Option<String> {
        is_name(id).then(|| address(&self.base_url, &["responses", id, "cancel"], &self.query))
    }
}

/// Whether a path can name a response by this id.
fn is_name(id: &str) -> bool {
    // Encoded dots are dots to URL parsers.
    !matches!(id, "" | "." | "..")
}
