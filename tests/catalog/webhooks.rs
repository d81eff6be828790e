//! `Webhooks`: what is read, and what is refused with its place (interface §15).

use aptix_edge::catalog::{Webhook, WebhookEvent};
use aptix_edge::contract::ClosedList as _;
use serde_json::{Value, json};

use super::documents::least;
use super::wrong_documents::fault;
use super::{VALIDATOR, parse, parsed};

/// A document with a webhook, whose context names it.
fn document(webhook: Value) -> Value {
    let mut document = least();
    document["Webhooks"] = json!({ "done": webhook });
    document["ConversationContexts"]["c"]["Webhooks"] = json!(["done"]);
    document
}

fn webhook() -> Value {
    json!({ "Url": "https://app.example.com/hooks", "SigningSecrets": ["HOOK_SECRET"] })
}

fn changed(member: &str, value: Value) -> Value {
    let mut webhook = webhook();
    webhook[member] = value;
    document(webhook)
}

#[test]
fn a_webhook_is_read_with_its_defaults() {
    let short = document(webhook());
    assert!(VALIDATOR.is_valid(&short));
    let catalog = parsed(&short);
    let read = catalog.webhook("done").unwrap();
    assert_eq!((read.http.timeout_ms, read.content), (15_000, false));
    assert_eq!(read.events, WebhookEvent::ALL);
    assert_eq!(read.signing_secrets, ["HOOK_SECRET"]);
    let mut spelled = short.clone();
    let defaults = json!({
        "Events": WebhookEvent::NAMES, "Content": false, "TimeoutMs": 15_000,
    });
    for (name, value) in defaults.as_object().unwrap() {
        spelled["Webhooks"]["done"][name] = value.clone();
    }
    assert!(VALIDATOR.is_valid(&spelled));
    assert_eq!(parsed(&spelled), catalog);
    let told: Vec<(&str, &Webhook)> = catalog.webhooks_of("c", WebhookEvent::Failed).collect();
    assert_eq!(told, [("done", read)]);
    // One secret may sign for two webhooks.
    let mut two = short;
    two["Webhooks"]["again"] = webhook();
    assert!(parse(&two).is_ok());
    assert!(parse(&changed("Url", json!("http://127.0.0.1:9000/hooks"))).is_ok());
}

#[test]
fn a_wrong_webhook_is_refused_at_its_place() {
    let at = |member: &str| format!("/Webhooks/done/{member}");
    let one_or_two = "must name one secret, or two while receivers change over";
    let name = "must be the name of a secret (letters, digits and _, not starting with a digit), never the key itself";
    for (document, path, message, seen_by_schema) in [
        (
            changed("Url", json!("http://app.example.com/hooks")),
            at("Url"),
            "must begin with https://, unless the receiver is on this machine",
            false,
        ),
        (changed("SigningSecrets", json!([])), at("SigningSecrets"), one_or_two, true),
        (changed("SigningSecrets", json!(["A", "B", "C"])), at("SigningSecrets"), one_or_two, true),
        (
            changed("SigningSecrets", json!(["A", "A"])),
            at("SigningSecrets/1"),
            "the secret \"A\" is already taken above",
            true,
        ),
        (changed("SigningSecrets", json!(["whsec_bm8="])), at("SigningSecrets/0"), name, true),
        (
            changed("SigningSecrets", json!(["API_KEYS_2"])),
            at("SigningSecrets/0"),
            "the secret API_KEYS_2 is the product's own and goes to no service; name another one",
            true,
        ),
        (
            changed("Events", json!([])),
            at("Events"),
            "would tell nothing; name an event, or leave \"Events\" out for all",
            true,
        ),
        (
            changed("Events", json!(["turn.done"])),
            at("Events/0"),
            "must be \"turn.completed\" or \"turn.failed\" or \"turn.aborted\" or \"turn.awaiting_tools\"",
            true,
        ),
        (
            changed("Content", json!("yes")),
            at("Content"),
            "must be true or false, not a string",
            true,
        ),
        (
            changed("TimeoutMs", json!(0)),
            at("TimeoutMs"),
            "must be an integer from 1 to 900000",
            true,
        ),
        (
            changed("Headers", json!({ "Webhook-Id": "1" })),
            at("Headers/Webhook-Id"),
            "\"Webhook-Id\" is set by the product itself; remove it",
            false,
        ),
        (
            changed("Headers", json!({ "webhook-x": "1" })),
            at("Headers/webhook-x"),
            "\"webhook-x\" is set by the product itself; remove it",
            false,
        ),
    ] {
        assert_eq!(parse(&document).unwrap_err(), [fault(&path, message)]);
        assert_eq!(!VALIDATOR.is_valid(&document), seen_by_schema, "{path}: {message}");
    }
    let mut nameless = document(webhook());
    nameless["ConversationContexts"]["c"]["Webhooks"] = json!(["don", "done", "done"]);
    assert_eq!(
        parse(&nameless).unwrap_err(),
        [
            fault(
                "/ConversationContexts/c/Webhooks/0",
                "the catalog has no webhook \"don\"; did you mean \"done\"?"
            ),
            fault(
                "/ConversationContexts/c/Webhooks/2",
                "the webhook \"done\" is already taken above"
            ),
        ]
    );
}

#[test]
fn a_signing_secret_is_for_nothing_else_and_a_service_s_secret_goes_to_no_webhook() {
    let signs = "signs the messages of a webhook, and is for nothing else; give this one a secret of its own";
    let of_model = "goes to a model service (by ApiKeySecret or Headers) and to no other one; give this one a secret of its own";
    let of_tool =
        "goes to a tool or a search, and to no webhook; give this one a secret of its own";
    let tool = |secret: &str| {
        json!([{ "Name": "t", "Description": "T.", "Http": {
            "Url": "https://t.example", "Headers": { "A": format!("${{{secret}}}") } } }])
    };
    let mut key = document(webhook());
    key["AgentContexts"]["a"]["ApiKeySecret"] = json!("HOOK_SECRET");
    let mut of_a_tool = document(webhook());
    of_a_tool["ServerTools"] = tool("HOOK_SECRET");
    let own_header = changed("Headers", json!({ "A": "${HOOK_SECRET}" }));
    let mut model_key = changed("Headers", json!({ "A": "${KEY}" }));
    model_key["AgentContexts"]["a"]["ApiKeySecret"] = json!("KEY");
    let mut tool_key = changed("Headers", json!({ "A": "${KEY}" }));
    tool_key["ServerTools"] = tool("KEY");
    for (document, path, secret, problem) in [
        (key, "/AgentContexts/a/ApiKeySecret", "HOOK_SECRET", signs),
        (of_a_tool, "/ServerTools/0/Http/Headers/A", "HOOK_SECRET", signs),
        (own_header, "/Webhooks/done/Headers/A", "HOOK_SECRET", signs),
        (model_key, "/Webhooks/done/Headers/A", "KEY", of_model),
        (tool_key, "/Webhooks/done/Headers/A", "KEY", of_tool),
    ] {
        let message = format!("the secret {secret} {problem}");
        assert_eq!(parse(&document).unwrap_err(), [fault(path, &message)]);
    }
    // Other secrets may go to a webhook in a header.
    assert!(parse(&changed("Headers", json!({ "A": "${OWN}", "X-User": "${USER}" }))).is_ok());
}
