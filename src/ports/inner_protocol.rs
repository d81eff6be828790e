//! The number of the protocol in which the Worker in front and the objects speak among themselves.
//!
//! After a deploy an object keeps its code until it rests, for minutes, so two versions of the product meet. Whoever sends a
//! request to an object names the number; an object of another number refuses before it has done anything.

/// The number of this version. It is raised where an object of the version before would not do what is asked of it, or
/// would do something else: not where it would only leave out what is new.
pub const INNER_PROTOCOL: u32 = 3;

/// When to come again where two versions meet, in milliseconds: an object that rests has the new code at once.
pub const OTHER_VERSION_MS: u64 = 5_000;

/// What the header [`super::CALLER`] holds: the number, and who asks.
pub(super) fn with_protocol(protocol: u32, caller: &str) -> String {
    format!("{protocol} {caller}")
}

/// Who asks, of what the header holds; `None` where the sender speaks another protocol, or none that has a number.
pub fn caller_in_protocol(sent: &str) -> Option<&str> {
    // The runtime takes the space off the end of a header where nobody follows.
    let (protocol, caller) = sent.split_once(' ').unwrap_or((sent, ""));
    (protocol.parse() == Ok(INNER_PROTOCOL)).then_some(caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_read_under_the_own_number_alone() {
        assert_eq!(caller_in_protocol(&with_protocol(INNER_PROTOCOL, "{}")), Some("{}"));
        assert_eq!(caller_in_protocol(&with_protocol(INNER_PROTOCOL, "")), Some(""));
        let (raised, lowered) = (INNER_PROTOCOL + 1, INNER_PROTOCOL - 1);
        for other in [with_protocol(raised, "{}"), with_protocol(lowered, "{}")] {
            assert_eq!(caller_in_protocol(&other), None, "{other}");
        }
        assert_eq!(caller_in_protocol(&INNER_PROTOCOL.to_string()), Some(""));
        for other in ["", "{}", "x {}"] {
            assert_eq!(caller_in_protocol(other), None, "{other}");
        }
    }
}
