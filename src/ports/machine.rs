//! What an object and the Worker in front both need of the machine that they run on.

use std::pin::pin;

use futures_util::future::{Either, select};
use serde_json::{Value, json};

use super::object::ObjectQuestion;
use crate::contract::Fault;

/// A machine: clock, settings, log, and the way to other objects.
pub trait Machine {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// The value of a secret or variable of the deployment.
    fn secret(&self, name: &str) -> Option<String>;

    /// Completes after `ms` milliseconds.
    async fn sleep(&self, ms: u64);

    /// Posts a question to another object, by its name within its class and in the place of its tenant, and returns the
    /// response body.
    async fn ask_object(
        &self,
        name: &str,
        question: ObjectQuestion,
        body: String,
    ) -> Result<String, HttpFault>;

    /// Writes one structured line to the operator's log. Never content, never a secret.
    fn log(&self, line: Value);
}

/// The line of the log for work that has failed beside any request, and is done again later.
pub fn failure_line(event: &str, level: &str, fault: &Fault) -> Value {
    json!({
        "event": event, "level": level, "code": fault.code.as_str(), "message": fault.message,
    })
}

/// What the work gives, or `None` where that takes longer than so many milliseconds.
pub async fn with_timeout<T>(
    machine: &impl Machine,
    ms: u64,
    work: impl Future<Output = T>,
) -> Option<T> {
    match select(pin!(work), pin!(machine.sleep(ms))).await {
        Either::Left((given, _)) => Some(given),
        Either::Right(_) => None,
    }
}

/// A request that got no response, or whose response broke off. The cause is for the operator's log:
/// it can hold addresses and is never shown to a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpFault {
    /// Any other cause.
    #[error("{0}")]
    Lost(String),
    /// The object that was asked was moved or began again, as each deploy has it do: it answers when it is asked again.
    #[error("it passes: {0}")]
    Passing(String),
    /// The object that was asked is of another version of the product, and has done nothing.
    #[error("an object of another version refuses")]
    OtherVersion,
}

/// The status under which an object of another version refuses a question.
pub const OTHER_VERSION_STATUS: u16 = 503;

impl HttpFault {
    /// Takes the status of an object's response to a question. An object that could not do what was asked responds with
    /// a fault, whose body may read as a reply that has nothing to say.
    ///
    /// # Errors
    /// The response is no reply.
    pub fn unless_reply(status: u16) -> Result<(), Self> {
        match status {
            200 => Ok(()),
            OTHER_VERSION_STATUS => Err(Self::OtherVersion),
            _ => Err(Self::Lost("an object could not reply".to_owned())),
        }
    }
}
