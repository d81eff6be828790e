//! A service that is called, as spans name it: its host, its port, and the provider that it belongs to.

use super::{names, number_if};
use crate::ports::TraceSpan;

/// Hosts of providers that the conventions name, and what they call these.
const PROVIDERS: [(&str, &str); 9] = [
    ("api.openai.com", "openai"),
    (".openai.azure.com", "azure.ai.openai"),
    (".services.ai.azure.com", "azure.ai.inference"),
    ("api.x.ai", "x_ai"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    (".amazonaws.com", "aws.bedrock"),
    ("api.perplexity.ai", "perplexity"),
];

/// The host of a URL, and its port where it is not its scheme's.
fn address_of(url: &str) -> (&str, Option<f64>) {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse::<u16>().ok().map(f64::from))
        }
        _ => (authority, None),
    }
}

/// The provider of a model service, by its base URL: the conventions' name, else the host.
pub(super) fn provider_of(url: &str) -> &str {
    let (host, _) = address_of(url);
    let is_of = |known: &str| match known.starts_with('.') {
        true => host.ends_with(known),
        false => host == known,
    };
    PROVIDERS.iter().find(|(known, _)| is_of(known)).map_or(host, |(_, name)| name)
}

/// Names a service by its URL. What may hold a secret, path and query, is left out.
pub(super) fn name_server(span: &impl TraceSpan, url: &str) {
    let (host, port) = address_of(url);
    span.text(names::SERVER, host);
    number_if(span, names::PORT, port);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_known_by_its_host_and_else_is_the_host() {
        for (url, provider) in [
            ("https://api.openai.com/v1", "openai"),
            ("https://mine.openai.azure.com/openai/v1", "azure.ai.openai"),
            ("https://bedrock-runtime.us-east-1.amazonaws.com", "aws.bedrock"),
            ("https://key@model.example:8443/v1?key=x", "model.example"),
            ("http://[::1]:8080/v1", "[::1]"),
        ] {
            assert_eq!(provider_of(url), provider, "{url}");
        }
        assert_eq!(address_of("http://[::1]:8080/v1"), ("[::1]", Some(8080.0)));
        assert_eq!(address_of("https://a.example"), ("a.example", None));
    }
}
