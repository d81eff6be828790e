//! The model services of a catalog: which settings each needs. Every agent context is tried with each of its
//! models, in both continuations ([`probe`](crate::probe)).

use std::io::{self, Write};

use aptix_edge::catalog::{AgentContext, Continuation};
use aptix_edge::ports::Deployment;
use serde_json::{Map, Value, json};

use crate::background;
use crate::network::Online;
use crate::probe::{Found, Outcome, boot_prompt, found};
use crate::report::Findings;

pub(crate) const COLUMNS: [&str; 9] = [
    "agent context",
    "model",
    "Continuation",
    "streams",
    "boot prompt",
    "remembers",
    "same again",
    "calls tools",
    "Background",
];

/// The continuations, as the catalog spells them.
const STORED: &str = "stored";
const REPLAY: &str = "replay";

/// Members of an agent context that say nothing of its service, or would end the check.
pub(crate) const LEFT_OUT: [&str; 6] =
    ["Retrieval", "RetentionDays", "Budget", "MaxIterations", "FileHosts", "Fallbacks"];

/// An agent context with one of the models that it is used with.
struct Service<'c> {
    id: &'c str,
    agent: &'c AgentContext,
    model: String,
    /// The context as the document writes it.
    written: Map<String, Value>,
    /// `ModelParameters` of the conversation context that uses it so.
    parameters: Value,
}

/// Asks every service.
pub(crate) fn asked(online: &Online) -> Findings {
    let mut findings = Findings::default();
    for service in services(online) {
        let named = |line: &str| format!("{}, {}: {line}", service.id, service.model);
        let advice = service.settled(online, &mut findings);
        findings.advice.extend(advice.iter().map(|line| named(line)));
    }
    findings
}

/// Every agent context with every model that its conversation contexts name.
fn services(online: &Online) -> Vec<Service<'_>> {
    let document: Value = serde_json::from_str(&online.text).unwrap_or_default();
    let variable = |name: &str| online.secrets.value(name).map(str::to_owned);
    let deployed = Deployment::from_variables(&variable).unwrap_or_default();
    let mut services: Vec<Service<'_>> = Vec::new();
    for (id, agent) in online.catalog.agent_contexts() {
        let uses = online.catalog.conversation_contexts();
        let uses = uses.filter(|(_, context)| context.agent_context_id == id);
        let mut uses: Vec<(Option<&String>, Value)> = uses
            .map(|(name, context)| {
                let written = &document["ConversationContexts"][name]["ModelParameters"];
                (context.model.as_ref(), written.clone())
            })
            .collect();
        if uses.is_empty() {
            uses.push((None, Value::Null));
        }
        let written = document["AgentContexts"][id].as_object().cloned().unwrap_or_default();
        for (model, parameters) in uses {
            let model = model.or(agent.model.as_ref()).unwrap_or(&deployed.model).clone();
            if !services.iter().any(|known| (known.id, &known.model) == (id, &model)) {
                services.push(Service { id, agent, model, written: written.clone(), parameters });
            }
        }
    }
    services
}

impl Service<'_> {
    /// Adds the rows of both continuations, and returns what the catalog has to set otherwise.
    fn settled(&self, online: &Online, findings: &mut Findings) -> Vec<String> {
        if let Some(missing) = online.missing_secret(&format!("/AgentContexts/{}/", self.id)) {
            self.row(findings, "–", None, None);
            return vec![format!("does not respond: {missing}")];
        }
        let mut advice = Vec::new();
        let mut with_key = self.agent.prompt_cache_key;
        let mut tried = self.tried(online, STORED, with_key);
        if with_key && tried.is_err() {
            // Some services refuse the member, and the Worker sends it as long as the catalog lets it.
            let without = self.tried(online, STORED, false);
            if without.is_ok() {
                advice.push("set \"PromptCacheKey\": \"None\"".to_owned());
                (tried, with_key) = (without, false);
            }
        }
        let stored = tried;
        let replay = self.tried(online, REPLAY, with_key);
        if let (Err(why), Err(_)) = (&stored, &replay) {
            self.row(findings, "–", None, None);
            return vec![format!("does not respond: {}", online.shown(why))];
        }
        let background = stored.is_ok().then(|| background::tried(online, self.agent, &self.model));
        if let Some(Outcome::No(_) | Outcome::Failed(_)) = &background
            && self.agent.background
        {
            let problem = "makes no background responses that can be read again; set \"Background\": \"Never\"";
            advice.push(problem.to_owned());
        }
        for (name, tried) in [(STORED, &stored), (REPLAY, &replay)] {
            let background = background.as_ref().filter(|_| name == STORED);
            self.row(findings, name, tried.as_ref().ok(), background);
            let notes = notes(tried).into_iter();
            findings.notes.extend(notes.map(|note| {
                format!("{}, {}, {name}: {}", self.id, self.model, online.shown(&note))
            }));
        }
        let (set, other, [ours, theirs]) = match self.agent.continuation {
            Continuation::Stored => (STORED, REPLAY, [faults(&stored), faults(&replay)]),
            Continuation::Replay => (REPLAY, STORED, [faults(&replay), faults(&stored)]),
        };
        let (name, left) = if theirs < ours {
            advice.push(format!("set \"Continuation\": \"{other}\""));
            (other, theirs.said)
        } else {
            (set, ours.said)
        };
        advice.extend(left.into_iter().map(|fault| format!("in \"{name}\" {fault}")));
        advice
    }

    /// Holds a session in this continuation.
    fn tried(&self, online: &Online, continuation: &str, with_key: bool) -> Result<Found, String> {
        let line =
            format!("check-catalog: asking {} for {}, {continuation} …\n", self.id, self.model);
        // Nobody has to read it.
        let _ = io::stderr().write_all(line.as_bytes());
        let mut agent = self.written.clone();
        agent.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
        agent.insert("Continuation".to_owned(), continuation.into());
        agent.insert("DeleteStored".to_owned(), true.into());
        agent.remove("Background");
        if !with_key {
            agent.insert("PromptCacheKey".to_owned(), "None".into());
        }
        let mut conversation = json!({
            "AgentContextId": self.id, "BootPrompt": boot_prompt(), "Model": self.model,
        });
        if !self.parameters.is_null() {
            conversation["ModelParameters"] = self.parameters.clone();
        }
        let catalog = json!({
            "AgentContexts": { self.id: agent },
            "ConversationContexts": { "default": conversation },
            "Modes": [{ "Key": "general", "DisplayName": "General" }],
        });
        let (bed, network) = online.deployed(catalog.to_string());
        found(&bed, network)
    }

    fn row(
        &self,
        findings: &mut Findings,
        continuation: &str,
        found: Option<&Found>,
        background: Option<&Outcome>,
    ) {
        let cells = found.map_or(["–"; 5], |found| {
            let streams = if found.streams { "yes" } else { "no" };
            let [boot, remembers, repeats, tools] =
                [&found.boot_prompt, &found.remembers, &found.repeats, &found.tools].map(cell);
            [streams, boot, remembers, repeats, tools]
        });
        let names = [self.id, &self.model, continuation];
        let background = background.map_or("–", cell);
        let row = names.into_iter().chain(cells).chain([background]);
        findings.rows.push(row.map(str::to_owned).collect());
    }
}

fn cell(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Yes => "yes",
        Outcome::No(word) => word,
        Outcome::Failed(_) => "failed",
    }
}

/// The services' own words on what failed, and on what the Worker had to say in another way.
fn notes(tried: &Result<Found, String>) -> Vec<String> {
    let found = match tried {
        Ok(found) => found,
        Err(why) => return vec![why.clone()],
    };
    let probes = [&found.boot_prompt, &found.remembers, &found.repeats, &found.tools];
    let failed = probes.into_iter().filter_map(|outcome| match outcome {
        Outcome::Failed(why) => Some(why.clone()),
        _ => None,
    });
    let mut notes: Vec<String> = failed.collect();
    for refused in &found.refused {
        if !notes.contains(refused) {
            notes.push(format!("refused, and asked in another way: {refused}"));
        }
    }
    notes.dedup();
    notes
}

/// What a session in one continuation would suffer from. The less, the better.
#[derive(PartialEq, PartialOrd)]
struct Faults {
    /// How much is wrong.
    count: usize,
    /// Calls that are refused at first cost a second one each, and are no fault where nothing spares them.
    refused: usize,
    /// Each as the end of a sentence.
    said: Vec<&'static str>,
}

fn faults(tried: &Result<Found, String>) -> Faults {
    let (said, refused) = match tried {
        Ok(found) => (said(found), found.refused.len()),
        Err(_) => (vec!["it does not respond"; 8], 0),
    };
    Faults { count: said.len(), refused, said }
}

fn said(found: &Found) -> Vec<&'static str> {
    let mut faults = Vec::new();
    match &found.boot_prompt {
        Outcome::Yes => {}
        Outcome::No("at first") => faults.push("it loses the boot prompt after the first call"),
        Outcome::No(_) => faults.push("the boot prompt does not reach the model"),
        Outcome::Failed(_) => faults.push("a later turn fails"),
    }
    match &found.remembers {
        Outcome::Yes => {}
        Outcome::No(_) => faults.push("it forgets what was said"),
        Outcome::Failed(_) => faults.push("the second turn fails"),
    }
    match &found.repeats {
        Outcome::Yes | Outcome::No("–") => {}
        Outcome::No(_) => faults.push("it loses an instruction that equals the one before it"),
        Outcome::Failed(_) => {
            faults.push("it refuses an instruction that equals the one before it")
        }
    }
    match &found.tools {
        Outcome::Yes => {}
        Outcome::No("again and again") => {
            faults.push("it calls a tool again and again, as if the tool had given no output");
        }
        Outcome::No(_) => {
            faults.push("it was asked to call a tool and did not; take another model where tools are needed");
        }
        Outcome::Failed(_) => faults.push("it refuses tools, or what they give"),
    }
    faults
}
