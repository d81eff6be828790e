//! The tools built into the product: `agent_change_mode` (AGN-011 §5, TUL-007) and
//! `agent_list_modes`. Composition describes them to the model.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::catalog::Catalog;
use crate::contract::ToolOutcome;
use crate::json::from_object;

/// The longest reason that the history keeps, in bytes.
const MAX_REASON_BYTES: usize = 4096;

/// A mode change that the model asked for and that is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedMode {
    /// Mode key.
    pub key: String,
    pub reason: String,
    /// The model calls it a branch of the conversation.
    pub branch: bool,
}

/// The arguments of `agent_change_mode`, and its result with `success` before them.
#[derive(Serialize, Deserialize)]
struct ModeChange {
    #[serde(skip_deserializing)]
    success: bool,
    mode: String,
    #[serde(default)]
    branch: bool,
    #[serde(default)]
    reason: String,
}

/// Checks a requested mode. For an unknown one the result lists the valid keys, and the mode stays.
pub(super) fn change_mode(
    catalog: &Catalog,
    arguments: &str,
) -> (ToolOutcome, Option<RequestedMode>) {
    let refused = |why: String| {
        let valid: Vec<&str> = catalog.modes.iter().map(|mode| mode.key.as_str()).collect();
        let result = json!({ "success": false, "error": why, "validModes": valid });
        (ToolOutcome::Result(result.to_string()), None)
    };
    let Ok(mut change) = from_object::<ModeChange>(arguments) else {
        return refused("The arguments must be an object with mode, branch and reason.".to_owned());
    };
    if catalog.mode(&change.mode).is_none() {
        return refused(format!("There is no mode {}.", change.mode));
    }
    change.success = true;
    // Serializing plain members cannot fail.
    let result = serde_json::to_string(&change).unwrap_or_default();
    // The conversation keeps the whole reason.
    change.reason.truncate(change.reason.floor_char_boundary(MAX_REASON_BYTES));
    let requested =
        RequestedMode { key: change.mode, reason: change.reason, branch: change.branch };
    (ToolOutcome::Result(result), Some(requested))
}

/// Key, display name and use of every mode.
pub(super) fn list_modes(catalog: &Catalog) -> ToolOutcome {
    let modes: Vec<_> = catalog
        .modes
        .iter()
        .map(|mode| {
            json!({ "mode": mode.key, "displayName": mode.display_name, "whenToUse": mode.when_to_use })
        })
        .collect();
    ToolOutcome::Result(json!({ "modes": modes }).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn catalog() -> Catalog {
        Catalog::parse(
            &json!({
                "AgentContexts": { "a": {} },
                "ConversationContexts": { "c": { "AgentContextId": "a", "BootPrompt": "Hi." } },
                "Modes": [
                    { "Key": "general", "DisplayName": "General", "WhenToUse": "Else." },
                    { "Key": "ddr", "DisplayName": "DDR \u{270d}", "WhenToUse": "Records." }
                ]
            })
            .to_string(),
        )
        .unwrap()
    }

    fn changed(arguments: &str) -> (String, Option<RequestedMode>) {
        match change_mode(&catalog(), arguments) {
            (ToolOutcome::Result(text), mode) => (text, mode),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_known_mode_is_confirmed_and_requested() {
        for (arguments, result, reason, branch) in [
            (
                r#"{"mode":"ddr","branch":true,"reason":"Say \"why\"."}"#,
                r#"{"success":true,"mode":"ddr","branch":true,"reason":"Say \"why\"."}"#,
                "Say \"why\".",
                true,
            ),
            (
                r#" {"mode":"ddr","more":1} "#,
                r#"{"success":true,"mode":"ddr","branch":false,"reason":""}"#,
                "",
                false,
            ),
        ] {
            let mode = RequestedMode { key: "ddr".to_owned(), reason: reason.to_owned(), branch };
            assert_eq!(changed(arguments), (result.to_owned(), Some(mode)));
        }
    }

    #[test]
    fn arguments_that_name_no_mode_get_the_valid_keys_and_request_no_change() {
        let shape = "The arguments must be an object with mode, branch and reason.";
        for (arguments, why) in [
            (r#"{"mode":"DDR","branch":false,"reason":""}"#, "There is no mode DDR."),
            (r#"{"mode":"","branch":false,"reason":""}"#, "There is no mode ."),
            ("", shape),
            ("{}", shape),
            ("{\"mode\":", shape),
            (r#"{"mode":null}"#, shape),
            (r#"{"mode":["ddr"]}"#, shape),
        ] {
            let (result, mode) = changed(arguments);
            assert_eq!(mode, None, "{arguments}");
            assert_eq!(
                serde_json::from_str::<Value>(&result).unwrap(),
                json!({ "success": false, "error": why, "validModes": ["general", "ddr"] })
            );
        }
    }

    #[test]
    fn the_list_of_modes_says_when_to_use_each() {
        let ToolOutcome::Result(list) = list_modes(&catalog()) else { panic!("no list") };
        assert_eq!(
            serde_json::from_str::<Value>(&list).unwrap(),
            json!({ "modes": [
                { "mode": "general", "displayName": "General", "whenToUse": "Else." },
                { "mode": "ddr", "displayName": "DDR \u{270d}", "whenToUse": "Records." }
            ] })
        );
    }
}
