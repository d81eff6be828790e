//! Where a turn stands in traces.

use serde::{Deserialize, Serialize};

use crate::contract::TraceContext;

/// Where a turn stands in traces. A new member needs a default, so that older rows stay readable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnTrace {
    /// The place in its client's trace of the newest request about the turn that named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<TraceContext>,
    /// The trace of its latest run, where the runtime told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl TurnTrace {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
