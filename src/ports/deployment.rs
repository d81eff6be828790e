//! The deployment's variables (the interface, section 6), read and checked in one place.

use crate::contract::{ErrorCode, Fault};

/// Settings that hold for every tenant and session of this deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// `OPENAI_BASE_URL`: where calls go when the agent context names no other place.
    pub base_url: String,
    /// `OPENAI_MODEL`: used when neither context names a model.
    pub model: String,
    /// `MAX_BODY_BYTES`: the longest request body that is read.
    pub max_body_bytes: usize,
    /// `MAX_ITERATIONS`: model calls that one submission may make.
    pub max_iterations: u32,
    /// `MAX_CONTINUATIONS`: tool continuations that one turn may have.
    pub max_continuations: u32,
    /// `MAX_TURNS`: turns that one session may have.
    pub max_turns: u64,
    /// `UPSTREAM_IDLE_TIMEOUT_MS`: the longest silence of the model service.
    pub upstream_idle_timeout_ms: u64,
    /// `TURN_TIMEOUT_MS`: the longest time that one submission may run.
    pub turn_timeout_ms: u64,
    /// `KEEP_ALIVE_MS`: the longest silence on a stream before a comment line.
    pub keep_alive_ms: u64,
    /// `TURN_ALARM_MS`: how often a running turn is looked after. The runtime evicts an object 70 to
    /// 140 s after its last client left, even while it waits for a response; an alarm keeps it.
    pub turn_alarm_ms: u64,
    /// `FILE_TTL_S`: how long a link to a file is good for, in seconds.
    pub file_ttl_s: u64,
}

impl Default for Deployment {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            model: "gpt-5.1".to_owned(),
            max_body_bytes: 20 * 1024 * 1024,
            max_iterations: 8,
            max_continuations: 1_000,
            max_turns: 10_000,
            upstream_idle_timeout_ms: 120_000,
            turn_timeout_ms: 900_000,
            keep_alive_ms: 10_000,
            turn_alarm_ms: 30_000,
            file_ttl_s: 604_800,
        }
    }
}

impl Deployment {
    /// Reads the variables through `variable`; what is not set keeps its default.
    ///
    /// # Errors
    /// `internal` when a number is not one: a typing error must not silently become a default.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Fault> {
        let defaults = Self::default();
        let number = |name: &str, default: u64| match variable(name) {
            None => Ok(default),
            Some(text) => {
                text.trim().parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(|| {
                    Fault::new(
                        ErrorCode::Internal,
                        format!("The deployment's variable {name} must be a whole number above 0."),
                    )
                })
            }
        };
        let text = |name: &str, default: String| {
            variable(name).filter(|value| !value.is_empty()).unwrap_or(default)
        };
        let count = |name: &str, default: u32| {
            number(name, default.into()).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        Ok(Self {
            base_url: text("OPENAI_BASE_URL", defaults.base_url),
            model: text("OPENAI_MODEL", defaults.model),
            max_body_bytes: usize::try_from(number(
                "MAX_BODY_BYTES",
                defaults.max_body_bytes as u64,
            )?)
            .unwrap_or(usize::MAX),
            max_iterations: count("MAX_ITERATIONS", defaults.max_iterations)?,
            max_continuations: count("MAX_CONTINUATIONS", defaults.max_continuations)?,
            max_turns: number("MAX_TURNS", defaults.max_turns)?,
            upstream_idle_timeout_ms: number(
                "UPSTREAM_IDLE_TIMEOUT_MS",
                defaults.upstream_idle_timeout_ms,
            )?,
            turn_timeout_ms: number("TURN_TIMEOUT_MS", defaults.turn_timeout_ms)?,
            keep_alive_ms: number("KEEP_ALIVE_MS", defaults.keep_alive_ms)?,
            turn_alarm_ms: number("TURN_ALARM_MS", defaults.turn_alarm_ms)?,
            file_ttl_s: number("FILE_TTL_S", defaults.file_ttl_s)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Deployment, Fault> {
        Deployment::from_variables(|name| {
            let held = variables.iter().find(|(known, _)| *known == name);
            held.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_is_not_set_has_the_interface_s_default() {
        let defaults = Deployment {
            base_url: "https://api.openai.com/v1".to_owned(),
            model: "gpt-5.1".to_owned(),
            max_body_bytes: 20_971_520,
            max_iterations: 8,
            max_continuations: 1_000,
            max_turns: 10_000,
            upstream_idle_timeout_ms: 120_000,
            turn_timeout_ms: 900_000,
            keep_alive_ms: 10_000,
            turn_alarm_ms: 30_000,
            file_ttl_s: 604_800,
        };
        assert_eq!(read(&[]), Ok(defaults.clone()));
        assert_eq!(read(&[("OPENAI_BASE_URL", ""), ("OPENAI_MODEL", "")]), Ok(defaults));
    }

    #[test]
    fn every_variable_sets_its_own_member() {
        assert_eq!(
            read(&[
                ("OPENAI_BASE_URL", "http://localhost:1/v1"),
                ("OPENAI_MODEL", "m"),
                ("MAX_BODY_BYTES", "1"),
                ("MAX_ITERATIONS", " 2 "),
                ("UPSTREAM_IDLE_TIMEOUT_MS", "3"),
                ("TURN_TIMEOUT_MS", "4"),
                ("KEEP_ALIVE_MS", "5"),
                ("TURN_ALARM_MS", "8"),
                ("FILE_TTL_S", "11"),
                ("MAX_CONTINUATIONS", "9"),
                ("MAX_TURNS", "10"),
            ]),
            Ok(Deployment {
                base_url: "http://localhost:1/v1".to_owned(),
                model: "m".to_owned(),
                max_body_bytes: 1,
                max_iterations: 2,
                max_continuations: 9,
                max_turns: 10,
                upstream_idle_timeout_ms: 3,
                turn_timeout_ms: 4,
                keep_alive_ms: 5,
                turn_alarm_ms: 8,
                file_ttl_s: 11,
            })
        );
    }

    #[test]
    fn a_number_that_is_none_is_refused_by_its_name_and_not_repeated() {
        for name in [
            "MAX_BODY_BYTES",
            "MAX_ITERATIONS",
            "UPSTREAM_IDLE_TIMEOUT_MS",
            "TURN_TIMEOUT_MS",
            "KEEP_ALIVE_MS",
            "TURN_ALARM_MS",
            "FILE_TTL_S",
            "MAX_CONTINUATIONS",
            "MAX_TURNS",
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
    fn a_number_that_is_too_large_for_its_member_is_the_largest_that_fits() {
        let largest = u64::MAX.to_string();
        let deployment =
            read(&[("MAX_ITERATIONS", &largest), ("MAX_BODY_BYTES", &largest)]).unwrap();
        assert_eq!((deployment.max_iterations, deployment.max_body_bytes), (u32::MAX, usize::MAX));
    }
}
