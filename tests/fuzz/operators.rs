//! The documents of an operator: the catalog and the list of keys.

use aptix_edge::catalog::{Catalog, needed_secrets};
use aptix_edge::entry::Keyring;

use super::campaign::Verdict;
use super::json_text::Json;
use super::mutation::CONTENT;

pub(crate) const MET: [&str; 2] = ["accepted", "refused"];

/// Every text that may be secret contains [`CONTENT`]: URLs, headers, names of secrets, prompts.
const CATALOGS: [&str; 2] = [
    r##"{"AgentContexts":{"default":{"BaseUrl":"https://zqContent.example/v1","ApiKeySecret":"zqContent_KEY","Model":"zqContent","Continuation":"replay","Retrieval":{"Http":{"Url":"https://x/zqContent","Headers":{"X-Key":"zqContent ${FIND_KEY}"},"TimeoutMs":5000,"Limit":3}}},"plain":{"Retrieval":"None"}},"ConversationContexts":{"default":{"AgentContextId":"default","BootPrompt":"zqContent","Mode":"ddr","Tools":[{"type":"function","name":"ddr_document","description":"zqContent","strict":true,"parameters":{"type":"object","additionalProperties":false,"required":["title"],"properties":{"title":{"type":["array","null"],"items":{"type":"string"}}}}}]}},"Modes":[{"Key":"general","DisplayName":"zqContent"},{"Key":"ddr","DisplayName":"D","WhenToUse":"zqContent","WelcomeMessage":"zqContent","Instructions":"zqContent","Tools":["lookup","agent_list_modes"],"IsDefault":true}],"ServerTools":[{"Name":"lookup","Description":"zqContent","Parameters":{"properties":{"q":{"type":"string"}},"required":["q"]},"OnError":"ReportToModel","Http":{"Url":"https://t/zqContent","Headers":{"Authorization":"Bearer ${LOOKUP_KEY}zqContent"}}}]}"##,
    r##"{"AgentContexts":{"a":{}},"ConversationContexts":{"c":{"AgentContextId":"a","BootPrompt":"zqContent"}},"Modes":[{"Key":"m","DisplayName":"M"}]}"##,
];

const KEYS: &str = r#"[{"Id":"zqContent","Tenant":"acme","Sha256":"c2d17c3fb0ec4fbc6fc5f2cbc1cb8ee6cd1d1eeeea3a8b8ff2ff4c7ec1ef6d8b"},{"Id":"k2","Tenant":"other-1","Sha256":"0000000000000000000000000000000000000000000000000000000000000000"}]"#;

/// Messages that repeat a name, because the name is a reference.
const NAMING: [&str; 3] = ["the catalog has no ", "is already taken above", "\"required\" names "];

pub(crate) fn catalogs() -> Vec<Json> {
    CATALOGS.iter().map(|text| Json::read(text).unwrap()).collect()
}

pub(crate) fn keys() -> Json {
    Json::read(KEYS).unwrap()
}

/// Accepts a catalog whose references all hold, or faults with places in the document and without
/// content.
pub(crate) fn judge_catalog(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let needed = needed_secrets(&text);
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !needed.iter().all(|secret| is_name(&secret.name) && secret.path.starts_with('/')) {
        return Err("a secret with a name that is none".to_owned());
    }
    match Catalog::parse(&text) {
        Ok(catalog) => {
            let contexts_hold = catalog.conversation_contexts().all(|(_, context)| {
                catalog.agent_context(&context.agent_context_id).is_some()
                    && context.mode.as_ref().is_none_or(|mode| catalog.mode(mode).is_some())
                    && !context.boot_prompt.trim().is_empty()
            });
            let modes_hold = catalog
                .modes
                .iter()
                .flat_map(|mode| &mode.tools)
                .all(|tool| catalog.server_tool(tool).is_some() || tool.starts_with("agent_"));
            // A byte order mark may stand in front.
            let again = Json::read(text.trim_start_matches('\u{feff}')).map(|json| {
                let spaced = json.written_with(&mut |text| text.push_str("\r\n\t"));
                Catalog::parse(&spaced)
            });
            let holds = contexts_hold && modes_hold && again == Some(Ok(catalog));
            if holds { Ok("accepted".to_owned()) } else { Err("a reference is lost".to_owned()) }
        }
        Err(faults) if faults.is_empty() => Err("refused without a fault".to_owned()),
        Err(faults) => {
            let document = Json::read(&text);
            for fault in &faults {
                if let Some(document) = &document
                    && !leads_somewhere(document, &fault.path)
                {
                    return Err(format!("{:?} leads nowhere", fault.path));
                }
                let is_name = NAMING.iter().any(|naming| fault.message.contains(naming))
                    || names_hold_content(document.as_ref());
                if !is_name && fault.message.contains(CONTENT) {
                    return Err(format!("content in {:?}", fault.message));
                }
            }
            Ok("refused".to_owned())
        }
    }
}

/// Accepts keys that admit nobody else, or a refusal that shows none of them.
pub(crate) fn judge_keys(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let shows = |said: &str| said.contains(CONTENT) || said.contains("c2d17c3f");
    match Keyring::read(&|name| (name == "API_KEYS").then(|| text.to_string())) {
        Ok(ring) => {
            if ["", "zq", text.as_ref()].iter().any(|key| ring.find(key).is_some()) {
                return Err("an unknown key is admitted".to_owned());
            }
            Ok("accepted".to_owned())
        }
        Err(said) if said.is_empty() || shows(&said) => Err(format!("said {said:?}")),
        Err(_) => Ok("refused".to_owned()),
    }
}

/// Whether the document has the pointer's parent. Of repeated names, any counts.
fn leads_somewhere(json: &Json, path: &str) -> bool {
    let Some((step, rest)) = path.strip_prefix('/').map(|steps| match steps.split_once('/') {
        Some((step, _)) => (step, &steps[step.len()..]),
        None => (steps, ""),
    }) else {
        return path.is_empty();
    };
    let step = step.replace("~1", "/").replace("~0", "~");
    match json {
        Json::Scalar(_) => false,
        Json::Array(items) => step
            .parse::<usize>()
            .ok()
            .and_then(|index| items.get(index))
            .is_some_and(|item| leads_somewhere(item, rest)),
        Json::Object(members) => {
            rest.is_empty()
                || members.iter().any(|(name, value)| {
                    super::json_text::decoded(name) == step && leads_somewhere(value, rest)
                })
        }
    }
}

/// Whether a name contains the marker: messages repeat names.
fn names_hold_content(document: Option<&Json>) -> bool {
    let mut found = false;
    if let Some(document) = document {
        document.for_each_name(&mut |name| found |= name.contains(CONTENT));
    }
    found
}
