//! The deployment's variables (interface §6): the name, default and meaning of each. `crate::entry` reads
//! the variables and secrets that concern callers.

use crate::contract::{Fault, Result};

/// Declares the settings from one table: member, type, variable, least and default, meaning. An origin
/// may be left out. A number that is too large for its type is the largest that fits.
macro_rules! deployment {
    (
        texts { $($text:ident = $text_name:literal, $text_default:literal, $text_means:literal;)+ }
        origins { $($origin:ident = $origin_name:literal, $origin_means:literal;)+ }
        numbers { $($number:ident: $kind:ty = $name:literal, $least:literal.., $default:literal, $means:literal;)+ }
    ) => {
        /// Settings that hold for every tenant and session of this deployment.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Deployment {
            $(#[doc = concat!("`", $text_name, "`: ", $text_means)] pub $text: String,)+
            $(#[doc = concat!("`", $origin_name, "`: ", $origin_means)] pub $origin: Option<String>,)+
            $(#[doc = concat!("`", $name, "`: ", $means)] pub $number: $kind,)+
        }

        impl Default for Deployment {
            fn default() -> Self {
                Self {
                    $($text: $text_default.to_owned(),)+
                    $($origin: None,)+
                    $($number: $default,)+
                }
            }
        }

        impl Deployment {
            /// Every variable, with its default as the table spells it.
            pub const VARIABLES: &'static [(&'static str, &'static str)] = &[
                $(($text_name, $text_default),)+
                $(($origin_name, ""),)+
                $(($name, stringify!($default)),)+
            ];

            /// Reads the variables through `variable`; one that is not set has its default.
            ///
            /// # Errors
            /// `internal` when a number or an origin is misspelt, which must not silently become a
            /// default.
            pub fn from_variables(
                variable: &dyn Fn(&str) -> Option<String>,
            ) -> Result<Self> {
                let mut read = Self::default();
                $(if let Some(text) = variable($text_name).filter(|text| !text.is_empty()) {
                    read.$text = text;
                })+
                $(if let Some(text) = variable($origin_name).filter(|text| !text.is_empty()) {
                    read.$origin = Some(origin($origin_name, &text)?);
                })+
                $(if let Some(text) = variable($name) {
                    read.$number =
                        <$kind>::try_from(number($name, $least, &text)?).unwrap_or(<$kind>::MAX);
                })+
                Ok(read)
            }
        }
    };
}

deployment! {
    texts {
        base_url = "OPENAI_BASE_URL", "https://api.openai.com/v1",
            "where calls go when the agent context names no other place.";
        model = "OPENAI_MODEL", "gpt-5.1",
            "used when neither context names a model.";
        trace_session_id = "TRACE_SESSION_ID", "hash",
            "how sessions and workspaces stand in traces: `hash`, `id` or `none`.";
    }
    origins {
        public_url = "PUBLIC_URL",
            "where links to files begin; else the origin of the request that began the turn.";
    }
    numbers {
        max_body_bytes: usize = "MAX_BODY_BYTES", 1.., 8_388_608,
            "the longest request body that is read.";
        body_timeout_ms: u64 = "BODY_TIMEOUT_MS", 1.., 30_000,
            "the longest time from a request's head to the end of its body.";
        max_iterations: u32 = "MAX_ITERATIONS", 1.., 8,
            "model calls that one submission may make.";
        max_continuations: u32 = "MAX_CONTINUATIONS", 1.., 1_000,
            "tool continuations that one turn may have.";
        max_steers: u32 = "MAX_STEERS", 1.., 100,
            "steers that one turn takes.";
        max_turns: u64 = "MAX_TURNS", 1.., 10_000,
            "turns that one session may have.";
        max_fork_bytes_per_hour: u64 = "MAX_FORK_BYTES_PER_HOUR", 1.., 100_000_000,
            "bytes that forks of one user may copy in an hour, where a ticket or a token asks for them.";
        upstream_idle_timeout_ms: u64 = "UPSTREAM_IDLE_TIMEOUT_MS", 1.., 120_000,
            "the longest silence of the model service.";
        fallback_rest_ms: u64 = "FALLBACK_REST_MS", 0.., 30_000,
            "how long a model service that failed rests in an isolate, where an agent context has a fall-back.";
        response_id_wait_ms: u64 = "RESPONSE_ID_WAIT_MS", 1.., 2_000,
            "the longest time for which a cancelled model call goes on until the id of its response is known, \
             where the response is to be deleted with its session.";
        turn_timeout_ms: u64 = "TURN_TIMEOUT_MS", 1.., 900_000,
            "the longest time that one submission may run.";
        keep_alive_ms: u64 = "KEEP_ALIVE_MS", 1.., 10_000,
            "the longest silence on a stream before a comment line.";
        delta_interval_ms: u64 = "DELTA_INTERVAL_MS", 0.., 16,
            "the longest wait of a delta for the next ones, to be joined with them; 0 sends each delta by itself.";
        turn_alarm_ms: u64 = "TURN_ALARM_MS", 1.., 30_000,
            "how often the alarm checks a running turn, and the longest wait between attempts at embedding \
             a workspace. The runtime evicts an object 70 to 140 s after its last client left, even while \
             it waits for a response; an alarm keeps it.";
        file_ttl_s: u64 = "FILE_TTL_S", 1.., 604_800,
            "how long a link to a file is good for, in seconds.";
        jwks_stale_s: u64 = "JWKS_STALE_S", 0.., 3_600,
            "how long the keys of an identity provider serve after they cease to be fresh, where it fails, in seconds.";
    }
}

/// An http or https origin; a slash at its end does not count.
fn origin(name: &str, text: &str) -> Result<String> {
    let origin = text.trim();
    let origin = origin.strip_suffix('/').unwrap_or(origin);
    let authority =
        ["https://", "http://"].into_iter().find_map(|start| origin.strip_prefix(start));
    let is_of_host = |b: u8| b.is_ascii_alphanumeric() || b"-._~[]:".contains(&b);
    let is_authority = |authority: &str| {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        !host.is_empty()
            && host.bytes().all(is_of_host)
            && (host.starts_with('[') || !host.contains(':'))
            && port.is_none_or(|port| port.parse::<u16>().is_ok())
    };
    authority.filter(|authority| is_authority(authority)).map(|_| origin.to_owned()).ok_or_else(|| {
        Fault::internal(format!(
            "The deployment's variable {name} must be an origin such as https://agent.example.com, \
             without a path."
        ))
    })
}

/// A whole number, `least` or more.
fn number(name: &str, least: u64, text: &str) -> Result<u64> {
    text.trim().parse().ok().filter(|number| *number >= least).ok_or_else(|| {
        let bound = if least == 0 { ", 0 or more" } else { " above 0" };
        Fault::internal(format!("The deployment's variable {name} must be a whole number{bound}."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ErrorCode;

    fn read(variables: &[(&str, &str)]) -> Result<Deployment> {
        Deployment::from_variables(&|name| {
            let held = variables.iter().find(|(known, _)| *known == name);
            held.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_unset_variable_has_the_interface_s_default() {
        let defaults = Deployment {
            base_url: "https://api.openai.com/v1".to_owned(),
            model: "gpt-5.1".to_owned(),
            trace_session_id: "hash".to_owned(),
            public_url: None,
            max_body_bytes: 8_388_608,
            body_timeout_ms: 30_000,
            max_iterations: 8,
            max_continuations: 1_000,
            max_steers: 100,
            max_turns: 10_000,
            max_fork_bytes_per_hour: 100_000_000,
            upstream_idle_timeout_ms: 120_000,
            fallback_rest_ms: 30_000,
            response_id_wait_ms: 2_000,
            turn_timeout_ms: 900_000,
            keep_alive_ms: 10_000,
            delta_interval_ms: 16,
            turn_alarm_ms: 30_000,
            file_ttl_s: 604_800,
            jwks_stale_s: 3_600,
        };
        assert_eq!(read(&[]), Ok(defaults.clone()));
        let empty = ["OPENAI_BASE_URL", "OPENAI_MODEL", "PUBLIC_URL"].map(|name| (name, ""));
        assert_eq!(read(&empty), Ok(defaults));
    }

    #[test]
    fn every_variable_sets_its_own_member() {
        assert_eq!(
            read(&[
                ("OPENAI_BASE_URL", "http://localhost:1/v1"),
                ("OPENAI_MODEL", "m"),
                ("TRACE_SESSION_ID", "none"),
                ("PUBLIC_URL", " https://agent.example.com/"),
                ("MAX_BODY_BYTES", "1"),
                ("BODY_TIMEOUT_MS", "6"),
                ("MAX_ITERATIONS", " 2 "),
                ("UPSTREAM_IDLE_TIMEOUT_MS", "3"),
                ("RESPONSE_ID_WAIT_MS", "12"),
                ("FALLBACK_REST_MS", "0"),
                ("TURN_TIMEOUT_MS", "4"),
                ("KEEP_ALIVE_MS", "5"),
                ("DELTA_INTERVAL_MS", "0"),
                ("TURN_ALARM_MS", "8"),
                ("FILE_TTL_S", "11"),
                ("JWKS_STALE_S", "0"),
                ("MAX_CONTINUATIONS", "9"),
                ("MAX_STEERS", "13"),
                ("MAX_TURNS", "10"),
                ("MAX_FORK_BYTES_PER_HOUR", "14"),
            ]),
            Ok(Deployment {
                base_url: "http://localhost:1/v1".to_owned(),
                model: "m".to_owned(),
                trace_session_id: "none".to_owned(),
                public_url: Some("https://agent.example.com".to_owned()),
                max_body_bytes: 1,
                body_timeout_ms: 6,
                max_iterations: 2,
                max_continuations: 9,
                max_steers: 13,
                max_turns: 10,
                max_fork_bytes_per_hour: 14,
                upstream_idle_timeout_ms: 3,
                response_id_wait_ms: 12,
                fallback_rest_ms: 0,
                turn_timeout_ms: 4,
                keep_alive_ms: 5,
                delta_interval_ms: 0,
                turn_alarm_ms: 8,
                file_ttl_s: 11,
                jwks_stale_s: 0,
            })
        );
    }

    #[test]
    fn an_origin_that_is_none_is_refused_by_its_name_and_not_repeated() {
        for right in ["http://localhost:8787", "https://[::1]", "https://[::1]:1", "http://a-b.c"] {
            assert_eq!(read(&[("PUBLIC_URL", right)]).unwrap().public_url.as_deref(), Some(right));
        }
        for wrong in [
            " ",
            "agent.example.com",
            "ftp://agent.example.com",
            "https://",
            "https://:80",
            "https://a/path",
            "https://a//",
            "https://a?x",
            "https://a#x",
            "https://u@a",
            "https://a:",
            "https://a:port",
            "https://a:70000",
            "https://a b",
            "https://a:1:2",
        ] {
            let message = "The deployment's variable PUBLIC_URL must be an origin such as \
                           https://agent.example.com, without a path.";
            assert_eq!(read(&[("PUBLIC_URL", wrong)]), Err(Fault::internal(message)), "{wrong}");
        }
    }

    #[test]
    fn a_number_that_is_none_is_refused_by_its_name_and_not_repeated() {
        for name in [
            "MAX_BODY_BYTES",
            "BODY_TIMEOUT_MS",
            "MAX_ITERATIONS",
            "UPSTREAM_IDLE_TIMEOUT_MS",
            "RESPONSE_ID_WAIT_MS",
            "TURN_TIMEOUT_MS",
            "KEEP_ALIVE_MS",
            "TURN_ALARM_MS",
            "FILE_TTL_S",
            "MAX_CONTINUATIONS",
            "MAX_STEERS",
            "MAX_TURNS",
            "MAX_FORK_BYTES_PER_HOUR",
        ] {
            for value in ["", "0", "-1", "1.5", "10s", "1_000", "18446744073709551616"] {
                assert_eq!(
                    read(&[(name, value)]),
                    Err(Fault::new(
                        ErrorCode::Internal,
                        format!("The deployment's variable {name} must be a whole number above 0.")
                    )),
                    "{value}"
                );
            }
        }
    }

    #[test]
    fn an_interval_of_0_joins_nothing_and_one_below_is_refused() {
        let refused =
            "The deployment's variable DELTA_INTERVAL_MS must be a whole number, 0 or more.";
        assert_eq!(read(&[("DELTA_INTERVAL_MS", "-1")]), Err(Fault::internal(refused)));
    }

    #[test]
    fn a_number_that_is_too_large_for_its_member_is_the_largest_that_fits() {
        let largest = u64::MAX.to_string();
        let deployment =
            read(&[("MAX_ITERATIONS", &largest), ("MAX_BODY_BYTES", &largest)]).unwrap();
        assert_eq!((deployment.max_iterations, deployment.max_body_bytes), (u32::MAX, usize::MAX));
    }
}
