//! Reading `Webhooks` (interface §15): where the operator wants to hear that a turn has ended or waits for its client,
//! and the names of the webhooks in a conversation context.

use super::agent_context::secret_name;
use super::findings::{Findings, Recipient, Seen};
use super::http_endpoint::{HttpService, TIMEOUT_MS, closed_url, headers};
use super::names::is_mode_key;
use super::values::{each_once, flag, integer, named, undeclared_problem};
use super::webhook_event::WebhookEvent;
use crate::json::{Node, declared_object};

/// The present secret, and the one before it while receivers change over.
const MOST_SECRETS: usize = 2;

/// What is wrong with a webhook's name.
pub(super) fn name_problem(name: &str) -> Option<&'static str> {
    (!is_mode_key(name)).then_some("the name must be 1 to 64 of A-Z a-z 0-9 _ . -")
}

/// The names of webhooks in a conversation context, each once.
pub(super) fn webhook_names(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let declared = findings.declared();
    let (mut names, mut seen) = (Vec::new(), Seen::new());
    node.elements(findings, |node, findings| {
        let Some(name) = node.text(findings) else { return };
        match undeclared_problem("webhook", &name, &declared.webhooks) {
            Some(problem) => findings.fault(node, problem),
            None => findings.unique(node, "webhook", &mut seen),
        }
        names.push(name.into_owned());
    });
    names
}

declared_object! {
    /// A receiver of signed messages about turns that end or wait.
    #[derive(Eq)]
    pub struct Webhook by Findings {
        /// Where messages are posted: https, or http to this machine.
        "Url" required => http.url = closed_url("receiver"),
        /// The name of the secret that signs messages, and while receivers change over that of the one before. Each is
        /// whsec_ and the base64 of 24 to 64 bytes, and is used for nothing else.
        "SigningSecrets" required => signing_secrets: Vec<String> = signing_secrets(),
        "Headers" => http.headers = headers(Recipient::Webhook),
        /// The events that are told. Absent: all.
        "Events" => events: Vec<WebhookEvent> = events() or WebhookEvent::ALL.to_vec(),
        /// Whether a message holds the turn's outcome, where that is at most 256 KiB.
        "Content" => content: bool = flag(),
        "TimeoutMs" => http.timeout_ms = integer(TIMEOUT_MS) or 15_000,
    } with {
        /// Its time limit holds for one attempt.
        pub http: HttpService,
    }
}

fn signing_secrets(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    let (secrets, count) = each_once(node, "secret", findings, |node, findings| {
        Some(secret_name(node, Recipient::Signature, findings))
    });
    if count.is_some_and(|count| !(1..=MOST_SECRETS).contains(&count)) {
        findings.fault(node, "must name one secret, or two while receivers change over");
    }
    secrets
}

fn events(node: Node<'_, '_>, findings: &mut Findings) -> Vec<WebhookEvent> {
    let (events, count) = each_once(node, "event", findings, named);
    if count == Some(0) {
        findings.fault(node, "would tell nothing; name an event, or leave \"Events\" out for all");
    }
    events
}
