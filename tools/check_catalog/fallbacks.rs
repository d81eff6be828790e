//! Fall-backs (interface §4): whether each takes a conversation over that the first service began, in the middle of a turn
//! and with a tool's output in it. The first service is asked for the beginning; then its quota counts as spent.

use std::io::{self, Write};

use bed::{results, turn, with};
use serde_json::{Value, json};

use crate::model_services::LEFT_OUT;
use crate::network::Online;
use crate::probe::{Answer, Outcome, Session, boot_prompt, note_tool};
use crate::report::Findings;

pub(crate) const COLUMNS: [&str; 3] = ["agent context", "falls back to", "takes over"];

/// How often the other service may call the tool again.
const MOST_CALLS: usize = 3;

/// Tries each fall-back of each agent context.
pub(crate) fn asked(online: &Online) -> Findings {
    let mut findings = Findings::default();
    for (id, agent) in online.catalog.agent_contexts() {
        for fallback in &agent.fallbacks {
            let places = [id, fallback].map(|id| format!("/AgentContexts/{id}/"));
            let missing = places.iter().find_map(|place| online.missing_secret(place));
            let outcome = match missing {
                Some(missing) => Outcome::Failed(missing),
                None => taken_over(online, id, fallback),
            };
            let (cell, advice) = match &outcome {
                Outcome::Yes => ("yes", None),
                Outcome::No(why) => (*why, Some((*why).to_owned())),
                Outcome::Failed(why) => ("failed", Some(online.shown(why))),
            };
            findings.rows.push([id, fallback, cell].map(str::to_owned).to_vec());
            findings.advice.extend(advice.map(|why| {
                format!("{id}, fall-back {fallback}: it does not take over what {id} began: {why}")
            }));
        }
    }
    findings
}

/// Holds a session that begins at the one service and ends at the other.
fn taken_over(online: &Online, id: &str, fallback: &str) -> Outcome {
    let line = format!("check-catalog: asking {id} and then {fallback} …\n");
    // Nobody has to read it.
    let _ = io::stderr().write_all(line.as_bytes());
    let document: Value = serde_json::from_str(&online.text).unwrap_or_default();
    let written = |id: &str| {
        let agent = document.pointer("/AgentContexts").and_then(|agents| agents.get(id));
        let mut agent = agent.and_then(Value::as_object).cloned().unwrap_or_default();
        agent.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
        agent.insert("DeleteStored".to_owned(), true.into());
        agent
    };
    let mut own = written(id);
    own.insert("Fallbacks".to_owned(), json!([fallback]));
    let catalog = json!({
        "AgentContexts": { id: own, fallback: written(fallback) },
        "ConversationContexts": { "default": { "AgentContextId": id, "BootPrompt": boot_prompt() } },
        "Modes": [{ "Key": "general", "DisplayName": "General" }],
    });
    let (bed, network) = online.deployed(catalog.to_string());
    let session = Session { bed: &bed, network };
    let outcome = held(&session);
    let _ = bed.try_erase();
    outcome
}

fn held(session: &Session<'_>) -> Outcome {
    let number = 100 + session.random(800);
    let id = session.next_id();
    let instruction = format!(
        "Call the tool note with the word pelican. When it has written the word down, respond with the number \
         {number} and nothing else."
    );
    let tools = json!({ "ToolsJson": note_tool().to_string() });
    let begun = session.turn(&with(turn(&id, &instruction), tools));
    let mut answer = match begun {
        Ok(Answer::Calls(calls)) => go_on(session, &id, &calls),
        // It called no tool; the next turn goes to the other service.
        Ok(Answer::Text(_)) => {
            session.network.spend();
            let again = format!("Respond with the number {number} and nothing else.");
            session.turn(&turn(&session.next_id(), &again))
        }
        Err(why) => return Outcome::Failed(why),
    };
    for _ in 0..=MOST_CALLS {
        match answer {
            Ok(Answer::Text(text)) if text.contains(&number.to_string()) => return Outcome::Yes,
            Ok(Answer::Text(_)) => return Outcome::No("forgets"),
            Ok(Answer::Calls(calls)) => {
                answer = session.turn(&results(&id, &given(&calls)));
            }
            Err(why) => return Outcome::Failed(why),
        }
    }
    Outcome::No("again and again")
}

/// Gives the tool's output to the other service.
fn go_on(session: &Session<'_>, id: &str, calls: &[String]) -> Result<Answer, String> {
    session.network.spend();
    session.turn(&results(id, &given(calls)))
}

fn given(calls: &[String]) -> Vec<(&str, Value)> {
    calls.iter().map(|call| (call.as_str(), json!("It is written down."))).collect()
}
