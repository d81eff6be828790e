//! Why a provider's token lets nobody in (interface §13).

/// Why a token lets nobody in. A client learns nothing of a refusal's reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The token does not hold. The reason is for the log: it names a step of the check and nothing of the token.
    Invalid(&'static str),
    /// The token holds, and its time has passed.
    Expired,
    /// The provider's keys are not known, for this many milliseconds at least.
    Unavailable { retry_after_ms: u64 },
}
