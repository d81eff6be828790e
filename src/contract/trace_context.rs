//! Where a request stands in the trace of its client (W3C Trace Context; interface §16): the headers
//! `traceparent` and `tracestate`.

use serde::{Deserialize, Serialize};

/// The longest of either header that is passed on, in bytes: of `tracestate` the standard says so (W3C Trace Context,
/// §3.3.1.5), and a `traceparent` of a later version would fail a tool that takes no header of its length.
const LONGEST: usize = 512;

/// A place in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceContext {
    /// `{version}-{32 hex digits}-{16 hex digits}-{2 hex digits}`, as it came.
    pub parent: String,
    /// As it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl TraceContext {
    /// The place that the two headers name; `None` where the first one is malformed. Of an unknown version the first
    /// four parts are read.
    pub fn read(parent: Option<&str>, state: Option<&str>) -> Option<Self> {
        let is_graphic = |parent: &&str| parent.bytes().all(|byte| byte.is_ascii_graphic());
        let parent = parent?.trim();
        let parent = Some(parent).filter(is_graphic).filter(|parent| parent.len() <= LONGEST)?;
        let mut parts = parent.split('-');
        let mut part = |length| parts.next().filter(|part| is_hex(part, length));
        let (version, trace, span) = (part(2)?, part(32)?, part(16)?);
        part(2)?;
        let goes_on = parts.next().is_some();
        let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
        if version == "ff" || version == "00" && goes_on || is_zero(trace) || is_zero(span) {
            return None;
        }
        let is_sendable = |state: &&str| {
            (1..=LONGEST).contains(&state.len())
                && state.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        };
        let state = state.map(str::trim).filter(is_sendable).map(str::to_owned);
        Some(Self { parent: parent.to_owned(), state })
    }

    /// The id of the trace, 32 hex digits.
    pub fn trace_id(&self) -> &str {
        self.parent.split('-').nth(1).unwrap_or_default()
    }

    /// The id of the span, 16 hex digits.
    pub fn span_id(&self) -> &str {
        self.parent.split('-').nth(2).unwrap_or_default()
    }
}

/// The standard writes lower case alone.
fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b173-01";

    #[test]
    fn a_place_in_a_trace_is_read_as_it_came_and_a_malformed_one_is_none() {
        let read = TraceContext::read(Some(PARENT), Some("vendor=1")).unwrap();
        assert_eq!((read.parent.as_str(), read.state.as_deref()), (PARENT, Some("vendor=1")));
        assert_eq!(read.trace_id(), "5b8efff798038103d269b633813fc60c");
        assert_eq!(read.span_id(), "eee19b7ec3c1b173");
        let later = PARENT.replacen("00", "cc", 1) + "-more-parts";
        assert_eq!(TraceContext::read(Some(&later), None).unwrap().parent, later);
        for wrong in [
            "",
            "00",
            "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b173",
            "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b173-01-more",
            "00-00000000000000000000000000000000-eee19b7ec3c1b173-01",
            "00-5b8efff798038103d269b633813fc60c-0000000000000000-01",
            "00-5B8EFFF798038103D269B633813FC60C-eee19b7ec3c1b173-01",
            "ff-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b173-01",
            "00-5b8efff798038103d269b633813fc6-eee19b7ec3c1b173-01",
            &format!("{later}\u{7f}"),
            &format!("{later} more"),
            &format!("{later}\u{e4}"),
            &format!("{later}{}", "x".repeat(513 - later.len())),
        ] {
            assert_eq!(TraceContext::read(Some(wrong), Some("a=1")), None, "{wrong}");
        }
        assert_eq!(TraceContext::read(None, Some("a=1")), None);
    }

    #[test]
    fn a_state_that_no_header_can_hold_is_left_out() {
        for wrong in ["", "a\u{e4}", "a\nb", &"x".repeat(513)] {
            assert_eq!(
                TraceContext::read(Some(PARENT), Some(wrong)).unwrap().state,
                None,
                "{wrong}"
            );
        }
    }
}
