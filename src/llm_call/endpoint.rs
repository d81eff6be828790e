//! The address of a model service, and its key.

/// A model service to call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base URL, without `/responses`.
    pub base_url: String,
    /// Bearer key, for services that ask for one.
    pub api_key: Option<String>,
    /// The longest silence before the call is given up, in milliseconds.
    pub idle_timeout_ms: u64,
    /// The longest time that text may wait to be joined with what follows, in milliseconds.
    pub delta_interval_ms: u64,
}

impl Endpoint {
    pub(super) fn url(&self) -> String {
        format!("{}/responses", self.base_url.trim_end_matches('/'))
    }

    pub(super) fn authorization(&self) -> Vec<(String, String)> {
        let key = self.api_key.iter();
        key.map(|key| ("Authorization".to_owned(), format!("Bearer {key}"))).collect()
    }
}
