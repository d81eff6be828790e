//! Reading `ModelParameters`: members that an operator adds to the requests to the model service
//! (interface §6).
//!
//! It owns the list of members that the product writes itself. Any other name is accepted, because gateways
//! have members of their own, and any value: the service knows which values it takes.

use serde_json::Value;
use serde_json::value::RawValue;

use super::findings::Findings;
use super::values::{each_once, readable};
use crate::json::Node;

/// In bytes, as the document writes them. Every call sends them.
const PARAMETERS_BYTES: usize = 64 * 1024;

/// The service knows some thirty.
const MOST_PARAMETERS: usize = 64;

/// The members that the product writes itself, and what decides them.
const REFUSED: [(&str, &str); 13] = [
    ("model", "name the model in \"Model\""),
    ("input", "it is the conversation"),
    ("instructions", "write them into a mode's \"Instructions\""),
    ("tools", "list them in \"Tools\" or \"HostedTools\" of a conversation context"),
    ("tool_choice", "a request chooses by ToolChoiceName"),
    ("previous_response_id", "\"Continuation\" decides it"),
    ("conversation", "\"Continuation\" says who remembers the conversation"),
    ("prompt", "write it into \"BootPrompt\" and \"Instructions\""),
    ("store", "\"Continuation\" decides it"),
    ("stream", "every call is a stream"),
    ("background", "set \"Background\""),
    ("context_management", "set \"Compaction\""),
    ("prompt_cache_key", "set \"PromptCacheKey\""),
];

/// The formats of `text` that are JSON.
const JSON_FORMATS: [&str; 2] = ["json_schema", "json_object"];

/// Members that an operator adds to the requests to the model service, none of them a member that the
/// product writes itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelParameters {
    /// All but `include`, in the document's order.
    pub members: Vec<ModelParameter>,
    /// `include`, where it is given.
    pub include: Option<Vec<String>>,
    /// Whether `text`, where it is given, has a format of JSON: `json_schema` or `json_object`.
    pub text_is_json: Option<bool>,
}

/// One member of a request to the model service.
#[derive(Debug, Clone)]
pub struct ModelParameter {
    /// As the service spells it.
    pub name: String,
    /// As the document writes it: the order of a schema's properties is that of the model's text.
    pub json: Box<RawValue>,
}

impl PartialEq for ModelParameter {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.json.get()) == (&other.name, other.json.get())
    }
}

pub(super) fn model_parameters(node: Node<'_, '_>, findings: &mut Findings) -> ModelParameters {
    let mut parameters = ModelParameters::default();
    if node.json.len() > PARAMETERS_BYTES {
        let length = node.json.len();
        findings.fault(node, format!("is {length} bytes long; the most is {PARAMETERS_BYTES}"));
        return parameters;
    }
    let count = node.entries(findings, |name, node, findings| {
        if let Some((_, remedy)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            findings.fault(node, format!("is written by the product itself; {remedy}"));
        } else if name == "include" {
            parameters.include = Some(include(node, findings));
        } else if let Some(value) = readable::<Value>(node, findings) {
            if name == "text" {
                let format = value.pointer("/format/type").and_then(Value::as_str);
                parameters.text_is_json =
                    Some(format.is_some_and(|format| JSON_FORMATS.contains(&format)));
            }
            // A part of a JSON document is JSON.
            if let Ok(json) = RawValue::from_string(node.json.to_owned()) {
                parameters.members.push(ModelParameter { name: name.to_owned(), json });
            }
        }
    });
    if let Some(count) = count.filter(|count| *count > MOST_PARAMETERS) {
        findings.fault(node, format!("holds {count} parameters; the most is {MOST_PARAMETERS}"));
    }
    parameters
}

/// A list of texts, each of them once.
fn include(node: Node<'_, '_>, findings: &mut Findings) -> Vec<String> {
    each_once(node, "name", findings, |node, findings| node.text(findings).map(Into::into)).0
}
