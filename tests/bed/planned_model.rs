//! A model that follows the plan in the user's latest message, one step for each model output.
//!
//! It decides from the conversation alone, so a turn that is interrupted or repeated goes on at the
//! right step.

use serde_json::json;

use super::conversation::{Conversation, Said};
use super::reply::{Item, Reply, call, say, says};

/// Follows `[plan: step, step]` in the latest user message. Each step is one model output; the last
/// output is the text `Answer to <the message's first word>.` Steps: `server`, `client`,
/// `two-servers`, `mixed` (server, client, server, client), `mode:<key>`, `modes` (three changes),
/// `unoffered`, `fragile`, `mcp` (`docs__search`), `gated` (`fragile` for Ann, server, client, `fragile` for Bob).
pub fn planned(conversation: &Conversation) -> Reply {
    let said = conversation.said();
    let latest = said.iter().rposition(|said| matches!(said, Said::User(_))).expect("a user spoke");
    let Said::User(text) = &said[latest] else { panic!("that place is a user message") };
    if is_record(text) {
        // It tells of every instruction, so that nothing that was said is lost.
        let told =
            text.split("[INSTRUCTION]\n").skip(1).filter_map(|said| said.split_whitespace().next());
        let told: Vec<String> = told.map(|word| format!("[INSTRUCTION]\n{word}")).collect();
        return say(&format!("Summary of {} bytes.\n{}", text.len(), told.join("\n"))).into();
    }
    let plan = text.split_once("[plan:").and_then(|(_, rest)| rest.split_once(']'));
    let steps: Vec<&str> =
        plan.map(|(plan, _)| plan.split(',').map(str::trim).collect()).unwrap_or_default();
    // The outputs of one step's calls follow each other without a gap, so each run of outputs is
    // one step.
    let taken = said[latest..]
        .windows(2)
        .filter(
            |two| matches!(two, [before, Said::Output(..)] if !matches!(before, Said::Output(..))),
        )
        .count();
    let Some(step) = steps.get(taken) else {
        let instruction = text.split_once("[INSTRUCTION]\n").map_or("", |(_, rest)| rest);
        return say(&format!(
            "Answer to {}.",
            instruction.split_whitespace().next().unwrap_or("nothing")
        ))
        .into();
    };
    let server = || call("lookup", json!({ "of": "x" }));
    let client = || call("ask", json!({ "what": "y" }));
    let fragile = |to: &str| call("fragile", json!({ "to": to }));
    let mode = |key: &str| {
        call("agent_change_mode", json!({ "mode": key, "branch": false, "reason": "r" }))
    };
    let items: Vec<Item> = match *step {
        "server" => vec![server()],
        "client" => vec![client()],
        "two-servers" => vec![server(), server()],
        "mixed" => vec![server(), client(), server(), client()],
        "modes" => vec![mode("plain"), mode("poetry"), mode("ddr")],
        "unoffered" => vec![call("nowhere", json!({}))],
        "gated" => vec![fragile("ann"), server(), client(), fragile("bob")],
        "fragile" => vec![call("fragile", json!({}))],
        "mcp" => vec![call("docs__search", json!({ "q": "x" }))],
        other => match other.strip_prefix("mode:") {
            Some(key) => vec![mode(key)],
            None => panic!("there is no step {other}"),
        },
    };
    says(items).into()
}

/// Whether a message is the record of which a summary is asked.
pub fn is_record(text: &str) -> bool {
    text.starts_with("[RECORD]\n") || text.starts_with("[SUMMARY SO FAR]\n")
}
