//! The token counts of a response, as services report them.

use serde::Deserialize;

use crate::encoding::Usage;
use crate::json::{Object, from_object};

#[derive(Deserialize)]
struct UsageView {
    input_tokens: Option<u64>,
    input_tokens_details: Option<Object<InputDetails>>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<Object<OutputDetails>>,
    total_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

/// Reads the token counts of a response. A count that the service left out is 0, except the total, which is then the
/// sum of input and output, also where a service leaves it at 0. Counts that cannot be read count as not reported: they
/// must not cost the reader a good output.
pub(super) fn token_counts(json: &str) -> Option<Usage> {
    let view: UsageView = from_object(json).ok()?;
    let prompt_tokens = view.input_tokens.unwrap_or(0);
    let completion_tokens = view.output_tokens.unwrap_or(0);
    let cached = view.input_tokens_details.and_then(|Object(details)| details.cached_tokens);
    let reasoning = view.output_tokens_details.and_then(|Object(details)| details.reasoning_tokens);
    let total = view.total_tokens.filter(|total| *total > 0);
    Some(Usage {
        prompt_tokens,
        cached_tokens: cached.unwrap_or(0),
        completion_tokens,
        reasoning_tokens: reasoning.unwrap_or(0),
        total_tokens: total.unwrap_or(prompt_tokens.saturating_add(completion_tokens)),
        estimated: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_that_is_left_out_or_zero_is_the_sum_of_its_parts_and_unreadable_counts_are_none() {
        for (total, expected) in
            [("", 12), (r#","total_tokens":0"#, 12), (r#","total_tokens":9"#, 9)]
        {
            let usage = format!(r#"{{"input_tokens":10,"output_tokens":2{total}}}"#);
            assert_eq!(token_counts(&usage).unwrap().total_tokens, expected, "{total}");
        }
        for unreadable in ["null", r#"{"input_tokens":-1}"#] {
            assert_eq!(token_counts(unreadable), None, "{unreadable}");
        }
    }
}
