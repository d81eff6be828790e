//! An item that the service streamed and never repeated whole, as its deltas make it.

use serde::Serialize;
use serde_json::value::RawValue;

use super::output_item::Phase;

/// The item, as the service would have written it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum DraftItem<'a> {
    Message {
        role: &'static str,
        content: Vec<DraftPart<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
    },
    FunctionCall {
        call_id: Option<&'a str>,
        name: Option<&'a str>,
        arguments: &'a str,
        status: &'static str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum DraftPart<'a> {
    OutputText { text: &'a str, annotations: &'a [Box<RawValue>] },
    Refusal { refusal: &'a str },
}
