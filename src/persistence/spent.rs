//! What a submission has taken so far (interface §16), as the turn's progress keeps it: a run that goes on after its
//! instance was lost counts on.

use serde::{Deserialize, Serialize};

/// What the latest submission has taken, of all its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spent {
    /// Model calls, those that failed or were cut included.
    #[serde(skip_serializing_if = "is_zero")]
    pub model_calls: u64,
    /// Calls of tools that this service ran.
    #[serde(skip_serializing_if = "is_zero")]
    pub tool_calls: u64,
    /// The time of the model calls, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub model_ms: u64,
    /// The time of those tools, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub tools_ms: u64,
    /// When a submission that had failed was sent again, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "is_zero")]
    pub again_at: u64,
}

impl Spent {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a number need not be written.
pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
