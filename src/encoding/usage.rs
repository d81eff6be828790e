//! The tokens that model calls cost: what a service counts of a call, and what a turn or a session spends.

use serde::{Deserialize, Serialize};

/// Tokens used by a model call, or by a turn, summed over its model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens sent that came from the service's cache.
    pub cached_tokens: u64,
    /// Tokens received, reasoning included.
    pub completion_tokens: u64,
    /// Tokens received that the model spent on reasoning.
    pub reasoning_tokens: u64,
    /// Tokens sent and received, as the service counted them.
    pub total_tokens: u64,
    /// A part of it is estimated: the caller's side has ended a call before the service named its cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Usage {
    /// What has come since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self { estimated: self.estimated, ..self.each(earlier, u64::saturating_sub) }
    }

    /// The sum; each count stops at the largest number.
    pub fn saturating_add(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn each(self, other: Self, count: fn(u64, u64) -> u64) -> Self {
        Self {
            prompt_tokens: count(self.prompt_tokens, other.prompt_tokens),
            cached_tokens: count(self.cached_tokens, other.cached_tokens),
            completion_tokens: count(self.completion_tokens, other.completion_tokens),
            reasoning_tokens: count(self.reasoning_tokens, other.reasoning_tokens),
            total_tokens: count(self.total_tokens, other.total_tokens),
            estimated: self.estimated || other.estimated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_adds_up_and_saturates() {
        let one = Usage {
            prompt_tokens: 10,
            cached_tokens: 2,
            completion_tokens: 3,
            reasoning_tokens: 1,
            total_tokens: u64::MAX,
            estimated: false,
        };
        let other = Usage { estimated: true, ..one };
        assert_eq!(
            one.saturating_add(other),
            Usage {
                prompt_tokens: 20,
                cached_tokens: 4,
                completion_tokens: 6,
                reasoning_tokens: 2,
                total_tokens: u64::MAX,
                estimated: true,
            }
        );
    }
}
