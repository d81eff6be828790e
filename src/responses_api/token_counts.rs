//! The token counts of a response, as services report them.

use serde::Deserialize;

use crate::json::{Object, from_object};

/// Tokens of one model call. A count that the service left out is 0, except `total`, which
/// is then the sum of input and output, also where a service leaves it at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Tokens read from the service's cache.
    pub cached: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
    /// Tokens spent on reasoning.
    pub reasoning: u64,
    pub total: u64,
}

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

/// Reads the token counts of a response. Counts that cannot be read count as not reported: they must not cost the
/// reader a good output.
pub(super) fn token_counts(json: &str) -> Option<TokenCounts> {
    let view: UsageView = from_object(json).ok()?;
    let input = view.input_tokens.unwrap_or(0);
    let output = view.output_tokens.unwrap_or(0);
    let reasoning = view.output_tokens_details.and_then(|Object(details)| details.reasoning_tokens);
    Some(TokenCounts {
        input,
        cached: view
            .input_tokens_details
            .and_then(|Object(details)| details.cached_tokens)
            .unwrap_or(0),
        output,
        reasoning: reasoning.unwrap_or(0),
        total: view.total_tokens.filter(|total| *total > 0).unwrap_or(input.saturating_add(output)),
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
            assert_eq!(token_counts(&usage).unwrap().total, expected, "{total}");
        }
        for unreadable in ["null", r#"{"input_tokens":-1}"#] {
            assert_eq!(token_counts(unreadable), None, "{unreadable}");
        }
    }
}
