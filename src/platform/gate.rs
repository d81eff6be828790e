//! Who comes in, and how often: keys, rates and origins, as the runtime's bindings hold them.

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::json;
use worker::Env;
use worker::web_sys::Headers;

use super::runtime::{variable, write_line};
use crate::contract::{ErrorCode, Fault};
use crate::entry::{AllowedOrigins, AuthenticationMode, Caller, Keyring};

/// The binding that counts requests; without it there is no rate limit.
const RATE_LIMITER: &str = "RATE_LIMITER";

thread_local! {
    /// Variables and secrets never change within an isolate.
    static GATE: OnceCell<Rc<Gate>> = const { OnceCell::new() };
}

/// What the deployment's variables say about callers.
pub(super) struct Gate {
    authentication: AuthenticationMode,
    keyring: Keyring,
    pub(super) origins: AllowedOrigins,
}

impl Gate {
    /// The gate of this deployment.
    pub(super) fn of(env: &Env) -> Rc<Self> {
        GATE.with(|gate| Rc::clone(gate.get_or_init(|| Rc::new(Self::read(env)))))
    }

    fn read(env: &Env) -> Self {
        let authentication = AuthenticationMode::from_variable(variable(env, "AUTH").as_deref());
        if authentication == AuthenticationMode::None {
            warn("AUTH=none: everyone who reaches this service may use it. For local work only.");
        }
        let keyring = variable(env, "API_KEYS").map(|text| Keyring::parse(&text));
        let keyring = keyring.unwrap_or_else(|| Ok(Keyring::default())).unwrap_or_else(|fault| {
            let message = format!("{fault}. No key opens the door until it is mended.");
            write_line(&json!({ "event": "keys_invalid", "level": "error", "message": message }));
            Keyring::default()
        });
        let origins = AllowedOrigins::from_variable(variable(env, "ALLOWED_ORIGINS").as_deref());
        Self { authentication, keyring, origins }
    }

    /// Makes the caller known.
    pub(super) fn admit(&self, headers: &Headers) -> Result<Caller, Fault> {
        match self.authentication {
            AuthenticationMode::None => Ok(Caller::local()),
            AuthenticationMode::Keys => {
                let authorization = headers.get("Authorization").ok().flatten();
                self.keyring.admit(authorization.as_deref())
            }
        }
    }

    /// The page that calls, when it may.
    pub(super) fn permitted_origin(&self, headers: &Headers) -> Option<String> {
        if self.origins.is_empty() {
            return None;
        }
        let origin = headers.get("Origin").ok().flatten()?;
        self.origins.permits(&origin).then_some(origin)
    }
}

/// Counts the request against its key's rate.
pub(super) async fn keep_to_rate(env: &Env, caller: &Caller) -> Result<(), Fault> {
    let Ok(limiter) = env.rate_limiter(RATE_LIMITER) else { return Ok(()) };
    match limiter.limit(caller.rate_key()).await {
        Ok(counted) if !counted.success => Err(Fault::new(
            ErrorCode::RateLimited,
            "This key has used up its rate. Wait as Retry-After says, and send the request again.",
        )),
        Ok(_) => Ok(()),
        Err(_) => {
            // A limiter that fails must not close the service.
            warn("The rate limiter failed; the request was let in.");
            Ok(())
        }
    }
}

fn warn(message: &str) {
    write_line(&json!({ "event": "gate", "level": "warn", "message": message }));
}
