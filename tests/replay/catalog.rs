//! The catalog under which a session runs again: what the export tells of it, and what its calls sent.

use std::collections::BTreeMap;
use std::fmt;

use aptix_edge::catalog::BuiltInTool;
use aptix_edge::responses_api::ENCRYPTED_REASONING;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bundle::{Bundle, BundledCatalog, ModelCall};

/// The members of a body that the catalog's parameters are not.
const OWN: [&str; 9] = [
    "model",
    "instructions",
    "input",
    "include",
    "store",
    "stream",
    "background",
    "prompt_cache_key",
    "context_management",
];

/// The members of a template, in their order and as they are written.
struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    fn of(bundle: &Bundle, call: &ModelCall) -> Option<Self> {
        serde_json::from_str(bundle.texts.get(call.template.as_ref()?)?).ok()
    }

    fn value(&self, name: &str) -> Value {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.and_then(|(_, json)| serde_json::from_str(json.get()).ok()).unwrap_or_default()
    }

    /// The parameters as a catalog has them, a JSON object.
    fn parameters(&self) -> String {
        let own = |name: &str| OWN.contains(&name);
        let added = self.0.iter().filter(|(name, _)| !own(name));
        let mut members: Vec<String> =
            added.map(|(name, json)| format!("{}:{}", json!(name), json.get())).collect();
        // What the product asks for by itself.
        let include: Vec<Value> = self.value("include").as_array().cloned().unwrap_or_default();
        let include: Vec<Value> =
            include.into_iter().filter(|name| *name != ENCRYPTED_REASONING).collect();
        if !include.is_empty() {
            members.push(format!("\"include\":{}", json!(include)));
        }
        format!("{{{}}}", members.join(","))
    }
}

/// The catalog for the calls that are still to be made, next first.
pub fn document<'a>(
    bundle: &Bundle,
    catalog: &BundledCatalog,
    resends_tools: bool,
    coming: impl Iterator<Item = &'a ModelCall>,
) -> String {
    let (mut by_mode, mut prompt, mut managed) = (BTreeMap::new(), None, None);
    let mut next: BTreeMap<Option<&str>, [Value; 4]> = BTreeMap::new();
    for call in coming {
        let Some(members) = Members::of(bundle, call) else { continue };
        if call.summary {
            prompt.get_or_insert(members.value("instructions"));
            continue;
        }
        next.entry(call.service.as_deref()).or_insert_with(|| {
            ["model", "store", "prompt_cache_key", "background"].map(|name| members.value(name))
        });
        managed.get_or_insert_with(|| members.value("context_management"));
        by_mode.entry(call.mode.as_str()).or_insert(members);
    }
    let mut agent = json!({
        "ResendTools": resends_tools, "MaxIterations": catalog.max_iterations,
        "Budget": catalog.budget, "Compaction": compaction(&catalog.compaction, managed),
        "OfferHostedTools": catalog.offer_hosted_tools.unwrap_or(true),
    });
    let own = next.get(&None).or_else(|| next.get(&Some(bundle.agent_context_id.as_str())));
    set_service(&mut agent, own);
    let mut agents = json!({});
    for (place, told) in catalog.fallbacks.iter().enumerate() {
        let id = told["AgentContextId"].as_str().unwrap_or_default();
        let mut fallback = json!({
            "BaseUrl": format!("https://{}/v1", fallback_host(place)), "Model": "unknown",
            "ResendTools": told["ResendTools"], "OfferHostedTools": told["OfferHostedTools"],
        });
        set_service(&mut fallback, next.get(&Some(id)));
        agents[id] = fallback;
    }
    if !catalog.fallbacks.is_empty() {
        let ids = catalog.fallbacks.iter().map(|told| told["AgentContextId"].clone());
        agent["Fallbacks"] = ids.collect();
    }
    if let Some(prompt) = prompt {
        agent["Compaction"]["Prompt"] = prompt;
    }
    agents[&bundle.agent_context_id] = agent;
    let conversation = json!({ "AgentContextId": bundle.agent_context_id, "BootPrompt": "." });
    let first = bundle.mode_history.first().and_then(|change| change["PreviousMode"].as_str());
    let first = first.unwrap_or(&bundle.mode);
    let modes = catalog.modes.iter().map(|told| {
        let mut mode = told.clone();
        let members = by_mode.get(told["Key"].as_str().unwrap_or_default());
        mode["IsDefault"] = (told["Key"] == first).into();
        mode["Instructions"] = members
            .map(|members| members.value("instructions"))
            .filter(Value::is_string)
            .unwrap_or_else(|| "".into());
        let parameters = members.map_or("{}".to_owned(), Members::parameters);
        let text = mode.to_string();
        format!("{},\"ModelParameters\":{parameters}}}", text.strip_suffix('}').unwrap_or(&text))
    });
    let modes: Vec<String> = modes.collect();
    format!(
        "{{\"AgentContexts\":{},\"ConversationContexts\":{},\"Modes\":[{}],\"ServerTools\":{}}}",
        agents,
        json!({ &bundle.conversation_context_id: conversation }),
        modes.join(","),
        server_tools(bundle)
    )
}

/// Who compacts the conversation: the service where the next call says so. `managed` is what it says.
fn compaction(exported: &Value, managed: Option<Value>) -> Value {
    match managed.map(|managed| managed[0]["compact_threshold"].clone()) {
        Some(threshold) if threshold.is_number() => {
            json!({ "By": "Service", "Threshold": threshold })
        }
        Some(_) if exported["By"] == "Service" => json!({ "By": "Own" }),
        _ => exported.clone(),
    }
}

/// The host of a fall-back's model service, by its place among the fall-backs.
pub fn fallback_host(place: usize) -> String {
    format!("fallback-{place}.example")
}

/// What the next call of a service sent decides its settings.
fn set_service(agent: &mut Value, next: Option<&[Value; 4]>) {
    let Some([model, store, key, background]) = next else { return };
    agent["Model"] = model.clone();
    agent["Continuation"] = if *store == true { "stored" } else { "replay" }.into();
    agent["Background"] = if *background == true { "Always" } else { "Never" }.into();
    agent["PromptCacheKey"] = if key.is_null() { "None" } else { "Session" }.into();
}

/// The server tools that turns offered. What the model was told of each stands with the turns.
fn server_tools(bundle: &Bundle) -> Value {
    let mut tools = BTreeMap::new();
    for turn in &bundle.turns {
        for tool in turn.tools.iter().filter(|tool| tool.on_server) {
            if BuiltInTool::parse(&tool.name).is_none() {
                tools.entry(tool.name.as_str()).or_insert(false);
            }
        }
        for call in &turn.tool_calls {
            // A failure that the model was told, unless the turn was given up.
            let failed = call.answer.as_ref().and_then(|answer| answer["ErrorMessage"].as_str());
            if let Some(reported) = tools.get_mut(call.name.as_str()) {
                *reported |= failed.is_some_and(|words| words.starts_with("it"));
            }
        }
    }
    let tool = |(name, reported)| {
        json!({ "Name": name, "Description": ".", "Parameters": {},
            "OnError": if reported { "ReportToModel" } else { "FailTurn" },
            "Http": { "Url": "https://tools.example/" } })
    };
    tools.into_iter().map(tool).collect()
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}
