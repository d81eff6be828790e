//! The services of embeddings of a catalog: each embeds a word, as the Worker embeds a workspace.

use aptix_edge::ports::HttpMethod;
use serde_json::{Value, json};

use crate::network::Online;
use crate::report::Findings;

pub(crate) const COLUMNS: [&str; 5] =
    ["embeddings of", "model", "Dimensions", "numbers", "takes dimensions"];

/// Asks the service of every agent context that has one.
pub(crate) fn asked(online: &Online) -> Findings {
    let mut findings = Findings::default();
    let document: Value = serde_json::from_str(&online.text).unwrap_or_default();
    for (id, agent) in online.catalog.agent_contexts() {
        let Some(embeddings) = &agent.retrieval.embeddings else { continue };
        let (model, dimensions) = (&embeddings.model, embeddings.dimensions.to_string());
        let mut row = |numbers: &str, takes: &str| {
            findings
                .rows
                .push([id, model, &dimensions, numbers, takes].map(str::to_owned).to_vec());
        };
        let advice = match embedded(online, id, &document["AgentContexts"][id]) {
            Ok(takes) => {
                row(&dimensions, if takes { "yes" } else { "no" });
                continue;
            }
            Err(Failure::OtherLength(numbers, takes)) => {
                row(&numbers, if takes { "yes" } else { "no" });
                format!("gives {numbers} numbers; set \"Dimensions\": {numbers}")
            }
            Err(Failure::None(why)) => {
                row("–", "–");
                format!("gives no embedding: {}", online.shown(&why))
            }
        };
        findings.advice.push(format!("{id}, {model}: {advice}"));
    }
    findings
}

enum Failure {
    /// A vector of so many numbers; and whether the service took the member `dimensions`.
    OtherLength(String, bool),
    /// No vector, and why.
    None(String),
}

/// Whether the service takes the member `dimensions`.
fn embedded(online: &Online, id: &str, agent: &Value) -> Result<bool, Failure> {
    if let Some(missing) = online.missing_secret(&format!("/AgentContexts/{id}/")) {
        return Err(Failure::None(missing));
    }
    // Embeddings do not fall back, and the other services are not in this catalog.
    let mut agent = agent.as_object().cloned().unwrap_or_default();
    agent.remove("Fallbacks");
    let catalog = json!({
        "AgentContexts": { id: agent },
        "ConversationContexts": { "default": { "AgentContextId": id, "BootPrompt": "No turn is made." } },
        "Modes": [{ "Key": "general", "DisplayName": "General" }],
    });
    let (bed, network) = online.deployed(catalog.to_string());
    let document = json!({ "Documents": [{ "Path": "word.txt", "Contents": "A word." }] });
    let kept = bed.asked("PUT", "/workspaces/check/documents", &document.to_string());
    if kept.status != 200 {
        return Err(Failure::None(kept.text));
    }
    bed.ring("check");
    let exchanges = network.exchanges();
    let mut posted = exchanges.iter().filter(|exchange| exchange.method == HttpMethod::Post);
    let takes = posted.next_back().is_some_and(|last| last.asked.get("dimensions").is_some());
    let log = bed.world.log.borrow();
    let failure = log.iter().find(|line| line["event"] == "embedding_failed");
    let Some(failure) = failure.and_then(|line| line["failure"].as_str()) else { return Ok(takes) };
    // The line begins with the model's name.
    let failure = failure.split_once(": ").map_or(failure, |(_, failure)| failure);
    let numbers = failure.strip_prefix("its vectors have ").and_then(|rest| rest.split_once(' '));
    Err(match (numbers, network.latest_fault()) {
        (Some((numbers, _)), _) => Failure::OtherLength(numbers.to_owned(), takes),
        (None, Some(cause)) => Failure::None(cause),
        (None, None) => Failure::None(failure.to_owned()),
    })
}
