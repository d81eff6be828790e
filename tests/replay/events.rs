//! The events of a model service that plays a record, and what they say of the cost.

use aptix_edge::contract::Usage;
use bed::Piece;
use serde_json::{Value, json};

pub(super) fn event(event: &Value) -> Piece {
    Piece::text(&format!("data: {event}\n\n"))
}

pub(super) fn usage(counted: Usage) -> Value {
    json!({
        "input_tokens": counted.prompt_tokens,
        "input_tokens_details": { "cached_tokens": counted.cached_tokens },
        "output_tokens": counted.completion_tokens,
        "output_tokens_details": { "reasoning_tokens": counted.reasoning_tokens },
        "total_tokens": counted.total_tokens,
    })
}
