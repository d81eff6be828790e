//! The tools built into the product: `agent_change_mode` (AGN-011 §5, TUL-007) and
//! `agent_list_modes`.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::RequestedMode;
use crate::catalog::{AGENT_CHANGE_MODE, AGENT_LIST_MODES, Catalog};
use crate::contract::ToolOutcome;
use crate::responses_api::FunctionTool;

#[derive(Deserialize)]
struct ChangeMode {
    mode: String,
    #[serde(default)]
    branch: bool,
    #[serde(default)]
    reason: String,
}

#[derive(Serialize)]
struct Changed<'a> {
    success: bool,
    mode: &'a str,
    branch: bool,
    reason: &'a str,
}

/// Checks a requested mode. An unknown one is answered with the valid ones and changes nothing.
pub(super) fn change_mode(catalog: &Catalog, arguments: &str) -> (ToolOutcome, Option<RequestedMode>) {
    let refused = |why: String| {
        let valid: Vec<&str> = catalog.modes().iter().map(|mode| mode.key.as_str()).collect();
        let answer = json!({ "success": false, "error": why, "validModes": valid });
        (ToolOutcome::Result(answer.to_string()), None)
    };
    let Ok(wanted) = serde_json::from_str::<ChangeMode>(arguments) else {
        return refused("The arguments must be an object with mode, branch and reason.".to_owned());
    };
    let Some(mode) = catalog.mode(&wanted.mode) else {
        return refused(format!("There is no mode {}.", wanted.mode));
    };
    let answer = Changed {
        success: true,
        mode: &mode.key,
        branch: wanted.branch,
        reason: &wanted.reason,
    };
    match serde_json::to_string(&answer) {
        Ok(text) => (
            ToolOutcome::Result(text),
            Some(RequestedMode { key: mode.key.clone(), reason: wanted.reason }),
        ),
        Err(_) => refused("The answer could not be written.".to_owned()),
    }
}

/// Key, display name and use of every mode.
pub(super) fn list_modes(catalog: &Catalog) -> ToolOutcome {
    let modes: Vec<_> = catalog
        .modes()
        .iter()
        .map(|mode| {
            json!({ "mode": mode.key, "displayName": mode.display_name, "whenToUse": mode.when_to_use })
        })
        .collect();
    ToolOutcome::Result(json!({ "modes": modes }).to_string())
}

pub(super) fn change_mode_definition(catalog: &Catalog) -> serde_json::Result<Box<RawValue>> {
    let keys: Vec<&str> = catalog.modes().iter().map(|mode| mode.key.as_str()).collect();
    let parameters = to_raw_value(&json!({
        "type": "object",
        "properties": {
            "mode": { "type": "string", "enum": keys, "description": "Key of the mode to change to." },
            "branch": {
                "type": "boolean",
                "description": "True when the user wants to go on in a new session; normally false."
            },
            "reason": { "type": "string", "description": "Why, in one sentence." }
        },
        "required": ["mode", "branch", "reason"],
        "additionalProperties": false
    }))?;
    let uses: Vec<String> = catalog
        .modes()
        .iter()
        .map(|mode| format!("{} ({}): {}", mode.key, mode.display_name, mode.when_to_use))
        .collect();
    let description = format!(
        "Changes the mode of this session when the user asks for it or the task clearly needs it. Modes: {}",
        uses.join(" ")
    );
    to_raw_value(&FunctionTool {
        name: AGENT_CHANGE_MODE,
        description: Some(&description),
        parameters: &parameters,
        strict: false,
    })
}

pub(super) fn list_modes_definition() -> serde_json::Result<Box<RawValue>> {
    let parameters = to_raw_value(&json!({
        "type": "object", "properties": {}, "additionalProperties": false
    }))?;
    to_raw_value(&FunctionTool {
        name: AGENT_LIST_MODES,
        description: Some("Lists the modes of this service: key, display name, and when to use each."),
        parameters: &parameters,
        strict: false,
    })
}
