//! Reading the services that the product calls: URL, query, headers and time limit (interface §6, §7).
//!
//! `fetch` accepts every URL and header that passes. Messages never repeat a URL or a header's value:
//! either may hold a secret by mistake.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

use super::definitions::HeaderTemplate;
use super::findings::{Findings, Recipient};
use super::names::{is_header_name, is_header_value_character, quoted};
use super::secret_template::SecretTemplate;
use super::values::{checked_text, integer, matching_text};
use crate::encoding::is_sent_openly;
use crate::json::{Node, declared_object};

/// The most is the longest turn.
pub(super) const TIMEOUT_MS: RangeInclusive<u32> = 1..=900_000;
pub(super) const DEFAULT_TIMEOUT_MS: u64 = 30_000;
const URL_BYTES: usize = 2048;
const HEADER_VALUE_BYTES: usize = 8192;
/// Headers of the connection; `fetch` sets or refuses them.
const CONNECTION_HEADERS: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers that say how a model call's body is written and read.
const OWN_HEADERS: [&str; 4] = ["accept", "accept-encoding", "content-encoding", "content-type"];
/// Headers that a webhook's message has of its own (Standard Webhooks 1.0).
const MESSAGE_HEADERS: [&str; 2] = ["content-type", "user-agent"];
/// How the names of the others begin, and of those that a later version of the standard has.
const MESSAGE_PREFIX: &str = "webhook-";
const QUERY_NAME_BYTES: usize = 128;
const QUERY_VALUE_BYTES: usize = 1024;
const NO_PLACEHOLDER: &str = "must hold no placeholder: secrets are filled into Headers only";

declared_object! {
    /// POST {ToolCallId, Name, Arguments, SessionId, TurnId}; in a session of a user also User, since two users may have
    /// sessions of one id, and Actor, where there is one. The JSON answer is the tool's result.
    #[derive(Eq)]
    pub struct HttpService by Findings {
        "Url" required => url: String = url(),
        "Headers" => headers: Vec<HeaderTemplate> = headers(Recipient::OtherService),
        "TimeoutMs" => timeout_ms: u64 = integer(TIMEOUT_MS) or DEFAULT_TIMEOUT_MS,
    }
}

impl HttpService {
    /// Checks the members together, once they have been read from `node`.
    pub(super) fn check(&self, node: Node<'_, '_>, findings: &mut Findings) {
        refuse_open_secret(node, "Url", hold_secret(&self.headers), findings);
    }
}

/// Whether the value of a header holds a secret.
pub(super) fn hold_secret(headers: &[HeaderTemplate]) -> bool {
    headers.iter().any(|header| header.value.secrets().next().is_some())
}

/// Refuses a service that is called by http on another machine, where it gets a secret. `member` of `node` has its
/// address.
pub(super) fn refuse_open_secret(
    node: Node<'_, '_>,
    member: &str,
    gets_secret: bool,
    findings: &mut Findings,
) {
    if gets_secret
        && let Some(url) = node.find(member)
        && url.as_text().is_some_and(|url| is_sent_openly(&url))
    {
        let problem = "must begin with https://, unless the service is on this machine: a secret is sent there";
        findings.fault(url, problem);
    }
}

/// A URL at which nothing is sent openly. `whose` names the service in the message.
pub(super) fn closed_url(node: Node<'_, '_>, whose: &str, findings: &mut Findings) -> String {
    let url = url(node, findings);
    if is_sent_openly(&url) {
        let problem = format!("must begin with https://, unless the {whose} is on this machine");
        findings.fault(node, problem);
    }
    url
}

/// A URL that `path` is appended to.
pub(super) fn base_url(node: Node<'_, '_>, path: &str, findings: &mut Findings) -> String {
    let url = url(node, findings);
    if url.contains('?') {
        findings.fault(node, format!("must have no query: /{path} is appended to it"));
    }
    url
}

/// An absolute URL.
pub(super) fn url(node: Node<'_, '_>, findings: &mut Findings) -> String {
    checked_text(node, findings, |url| url_problem(url).map(str::to_owned))
}

/// The first rule for absolute http and https URLs that a text breaks.
pub fn url_problem(url: &str) -> Option<&'static str> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let (host, after_host) = match authority.find(']') {
        Some(end) => authority.split_at_checked(end + 1).unwrap_or_default(),
        None => authority
            .split_at_checked(authority.find(':').unwrap_or(authority.len()))
            .unwrap_or_default(),
    };
    let rules = [
        (url.len() <= URL_BYTES, "must be at most 2048 bytes long"),
        (!url.contains("${"), NO_PLACEHOLDER),
        (
            url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'),
            "must be visible ASCII without spaces and backslashes; percent-encode the rest",
        ),
        (url.contains("://"), "must be an absolute URL: https://… or http://…"),
        (
            ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)),
            "must begin with https:// or http://",
        ),
        (!url.contains('#'), "must have no fragment (#…)"),
        (
            !authority.contains('@'),
            "must hold no credentials before the host; send them in Headers",
        ),
        (is_host(host), "must have a host name or address after ://"),
        (
            after_host.is_empty() || after_host.strip_prefix(':').is_some_and(is_port),
            "must have a port from 1 to 65535, or none",
        ),
    ];
    rules.into_iter().find_map(|(holds, problem)| (!holds).then_some(problem))
}

/// Whether a text is the host of a URL: a name, an IPv4 address, or an IPv6 address in brackets.
pub(super) fn is_host(host: &str) -> bool {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => is_host_name(host),
    }
}

/// Labels of letters, digits, `-` and `_`; a dot may end the name. URL parsers take a name whose last label is
/// a number, in digits or hexadecimal behind `0x`, for an IPv4 address, so it must be one.
fn is_host_name(host: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = match last.strip_prefix("0x").or_else(|| last.strip_prefix("0X")) {
        Some(number) => number.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    host.len() <= 253
        && name.split('.').all(label)
        && (!is_number || name.parse::<Ipv4Addr>().is_ok())
}

/// The port after a colon, which may be left out.
fn is_port(port: &str) -> bool {
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    port.is_empty() || (is_number && port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Names and values of a URL's query. Secrets are no part of URLs, which end up in logs.
pub(super) fn query(node: Node<'_, '_>, findings: &mut Findings) -> Vec<(String, String)> {
    let mut query = Vec::new();
    node.entries(findings, |name, node, findings| {
        if !(1..=QUERY_NAME_BYTES).contains(&name.len()) {
            findings.fault(node, "the name must be 1 to 128 bytes long");
        }
        let value = checked_text(node, findings, |text| match text.len() > QUERY_VALUE_BYTES {
            true => Some(format!("must be at most {QUERY_VALUE_BYTES} bytes long")),
            false => text.contains("${").then(|| NO_PLACEHOLDER.to_owned()),
        });
        query.push((name.to_owned(), value));
    });
    query
}

/// The headers of a service. A model service's may hold its key.
pub(super) fn headers(
    node: Node<'_, '_>,
    recipient: Recipient,
    findings: &mut Findings,
) -> Vec<HeaderTemplate> {
    let mut seen: Vec<String> = Vec::new();
    let mut headers = Vec::new();
    node.entries(findings, |name, node, findings| {
        let folded = name.to_ascii_lowercase();
        let is_own = match recipient {
            Recipient::ModelService => OWN_HEADERS.contains(&folded.as_str()),
            Recipient::Webhook => {
                MESSAGE_HEADERS.contains(&folded.as_str()) || folded.starts_with(MESSAGE_PREFIX)
            }
            Recipient::OtherService | Recipient::Signature => false,
        };
        if !is_header_name(name) {
            findings.fault(node, format!("{} is not a header's name", quoted(name)));
        } else if CONNECTION_HEADERS.contains(&folded.as_str()) {
            findings.fault(node, format!("{} is set by the connection; remove it", quoted(name)));
        } else if is_own {
            findings
                .fault(node, format!("{} is set by the product itself; remove it", quoted(name)));
        } else if seen.contains(&folded) {
            findings
                .fault(node, format!("the header {} is repeated in another case", quoted(name)));
        }
        seen.push(folded);
        let value = header_value(node, recipient, findings);
        headers.push(HeaderTemplate { name: name.to_owned(), value });
    });
    headers
}

fn header_value(
    node: Node<'_, '_>,
    recipient: Recipient,
    findings: &mut Findings,
) -> SecretTemplate {
    let fits = |text: &str| {
        text.len() <= HEADER_VALUE_BYTES && text.chars().all(is_header_value_character)
    };
    let remedy = "must be at most 8192 visible ASCII characters, spaces and tabs";
    let text = matching_text(node, fits, remedy, findings);
    let template = SecretTemplate::parse(&text).unwrap_or_else(|problem| {
        findings.fault(node, problem);
        SecretTemplate::default()
    });
    template.secrets().for_each(|name| findings.secret(node, name, recipient));
    if template.names_user() && recipient == Recipient::ModelService {
        let problem = "names ${USER}, which a model service gets by \"SafetyIdentifier\" alone";
        findings.fault(node, problem);
    }
    template
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_http_and_https_urls_pass() {
        for url in [
            "https://api.example.com/v1",
            "HTTPS://api.example.com",
            "http://localhost:8787/tool?kind=a&b=%20",
            "http://127.0.0.1",
            "http://[::1]:9000/x",
            "https://[2001:db8::1]",
            "https://host_1.internal./a@b",
            "https://example.com?x=1",
            "https://example.com:/",
            "https://0x7f.example",
            "https://example.0xg",
        ] {
            assert_eq!(url_problem(url), None, "{url}");
        }
    }

    #[test]
    fn any_other_text_is_refused_with_its_remedy() {
        let absolute = "must be an absolute URL: https://… or http://…";
        let host = "must have a host name or address after ://";
        let port = "must have a port from 1 to 65535, or none";
        let visible =
            "must be visible ASCII without spaces and backslashes; percent-encode the rest";
        for (url, fault) in [
            ("", absolute),
            ("example.com/x", absolute),
            ("//example.com", absolute),
            ("ftp://example.com", "must begin with https:// or http://"),
            ("javascript://example.com", "must begin with https:// or http://"),
            ("https://", host),
            ("https:///x", host),
            ("https://:443", host),
            ("https://a..b", host),
            ("https://[::1", host),
            ("https://[nope]", host),
            ("https://10.0.0.256", host),
            ("https://example.443", host),
            // Other readers take these for 127.0.0.1, or for no address at all.
            ("https://0x7f000001", host),
            ("https://127.0.0.0X1", host),
            ("https://example.0x", host),
            ("https://{host}/", host),
            ("https://a:0", port),
            ("https://a:65536", port),
            ("https://a:+80", port),
            ("https://[::1]80", port),
            (
                "https://user:key@example.com",
                "must hold no credentials before the host; send them in Headers",
            ),
            ("https://example.com/#a", "must have no fragment (#…)"),
            ("https://exa mple.com", visible),
            ("https://example.com\n", visible),
            ("https://example.com\\a", visible),
            ("https://bücher.example", visible),
            (
                "https://example.com/${KEY}",
                "must hold no placeholder: secrets are filled into Headers only",
            ),
        ] {
            assert_eq!(url_problem(url), Some(fault), "{url}");
        }
        let long = format!("https://example.com/{}", "a".repeat(URL_BYTES));
        assert_eq!(url_problem(&long), Some("must be at most 2048 bytes long"));
    }
}
